/**
 * The one redactor. It sits in the sink, in front of every reporter, and nothing leaves the process
 * without it.
 *
 * - It masks known values in every encoding (`secret-search.ts`), and whatever `credentialSpans` recognizes.
 * - Both look at the same text and their finds are united before anything is replaced: a known secret
 *   inside a longer token does not hide the rest of the token from its pattern.
 * - It masks them also where something that nobody sees stands between their characters (`hidden-text.ts`).
 * - The time is linear in the text and does not depend on the number of secrets; `text(text(s)) === text(s)`.
 * - Text that streams is redacted as a stream: a suffix that may become a secret is held back until it can't
 *   (`text-stream.ts`). A whole text is a stream of one piece, so the deltas of a text, joined, are its redaction.
 * - An event holds a megabyte of text at most: what is more is cut, so that it never blocks the process.
 * - The words of our own vocabulary (`type`, `kind`, `role`…) are never touched, or a secret such as
 *   `decision` would break every fold.
 */
import { permissionPresets } from "../entry/model.ts";
import type { RunEvent } from "./event.ts";
import { MAX_KEY } from "./cut-finder.ts";
import { spansInSight } from "./hidden-text.ts";
import { isDelta, OpenTexts } from "./open-texts.ts";
import { credentialSpans, openKeys } from "./secret-patterns.ts";
import { createSecretSearch } from "./secret-search.ts";
import type { SessionActivity } from "./session-activity.ts";
import {
  createTextStream,
  MASK,
  redactedWhole,
  type Masking,
  type TextStream,
} from "./text-stream.ts";

export interface Redactor {
  readonly text: (text: string) => string;
  /** The same for a text that comes in pieces: what comes out, joined, is `text` of the pieces, joined. */
  readonly stream: () => TextStream;
  /** A copy without secrets, or the same object if there was nothing to hide. Deltas lose their text. */
  readonly event: (event: RunEvent) => RunEvent;
  /**
   * What reporters receive instead of an event. Text of a delta that may become a secret is held back: it comes
   * with a later delta, or with one more before the end of the text.
   */
  readonly events: (event: RunEvent) => readonly RunEvent[];
  /** The same for the activities of a session outside of runs. */
  readonly activities: (sessionId: string, activity: SessionActivity) => readonly SessionActivity[];
  readonly addSecret: (secret: string) => void;
}

const MAX_DEPTH = 100;
/** UTF-16 units of all texts of an event together. */
const MAX_EVENT = 1024 * 1024;
/** Texts up to this length are never cut, for example names of fields. */
const ALWAYS_KEPT = 200;
/** What is dropped at a cut: longer than a secret is, however encoded. */
const CUT_EDGE = 64 * 1024;
/** What of a secret that is not known is found for certain: a private key, a long token. */
const MIN_REACH = MAX_KEY;
/** Characters for each byte of a known secret, in the encodings that programs use. */
const ENCODED_TIMES = 8;

export function createRedactor(secrets: readonly string[]): Redactor {
  const known = new Set(secrets);
  let masking: Masking | undefined;

  const current = (): Masking => (masking ??= createMasking(known));
  const stream = (): TextStream => createTextStream(current);
  const text = (original: string): string => redactedWhole(original, current);
  const whole = <T>(value: T): T => redactFields(value, bounded(text));
  const runs = new OpenTexts<RunEvent>(stream);
  const alone = new OpenTexts<SessionActivity>(stream);
  return {
    text,
    stream,
    addSecret(secret) {
      known.add(secret);
      masking = undefined;
    },
    event: (event) =>
      event.type === "activity" && isDelta(event.activity)
        ? whole({ ...event, activity: { ...event.activity, text: "" } })
        : whole(event),
    events(event) {
      switch (event.type) {
        case "activity": {
          const { sessionId, activity } = event;
          if (!isDelta(activity)) {
            const before = runs.endedBy(sessionId, activity);
            return [...before.map((one) => ({ ...one, at: event.at })), whole(event)];
          }
          const bare = whole({ ...event, activity: { ...activity, text: "" } });
          const show = (shown: string): RunEvent => ({
            ...bare,
            activity: { ...bare.activity, text: shown },
          });
          return [runs.push(sessionId, activity, show)];
        }
        case "turn.ended":
        case "session.ended": {
          const before = runs.end(event.sessionId);
          return [...before.map((one) => ({ ...one, at: event.at })), whole(event)];
        }
        default:
          return [whole(event)];
      }
    },
    activities(sessionId, activity) {
      if (!isDelta(activity)) {
        return [...alone.endedBy(sessionId, activity), whole(activity)];
      }
      const bare = whole({ ...activity, text: "" });
      return [alone.push(sessionId, activity, (shown) => ({ ...bare, text: shown }))];
    },
  };
}

function createMasking(known: ReadonlySet<string>): Masking {
  const { spans, beginnings, goesOn, longest } = createSecretSearch(known);
  return {
    spans: (text) => spansInSight(text, (seen) => [...spans(seen), ...credentialSpans(seen)]),
    beginnings: (text) => spansInSight(text, (seen) => [...beginnings(seen), ...openKeys(seen)]),
    goesOn,
    reach: Math.min(MIN_REACH + ENCODED_TIMES * longest, CUT_EDGE),
  };
}

/**
 * Cuts what is too long before it is searched: that takes up to 100 ms for a megabyte, in which nothing else
 * happens in the process. A secret that the cut would halve is behind the end that is left.
 */
function bounded(text: Text): Text {
  let left = MAX_EVENT;
  return (original) => {
    const room = left;
    left = Math.max(0, left - original.length);
    if (original.length <= Math.max(room, ALWAYS_KEPT)) return text(original);
    const kept = text(original.slice(0, room)).slice(0, -CUT_EDGE);
    return `${kept}… (${original.length - kept.length} characters omitted)`;
  };
}

type Text = (text: string) => string;

/** Fields whose strings are words of our vocabulary. */
const fixedWords = new Set([
  "type",
  "kind",
  "role",
  "purpose",
  "field",
  "outcome",
  "cause",
  "atMostReached",
  "preset",
  "finish",
]);
/** Fields whose strings are JSON: a secret may be hidden there behind escapes. */
const jsonFields = new Set(["arguments", "detail"]);

/** Objects of agent-jobs: the names of fields are known, the values may come from anywhere. */
function redactFields<T>(value: T, text: Text): T {
  return mapObject(value, (key, item) => {
    if (typeof item === "string") {
      if (fixedWords.has(key)) return item;
      return jsonFields.has(key) ? redactJson(item, text) : text(item);
    }
    switch (key) {
      case "arguments":
      case "models":
        return redactForeign(item, text, new Map(), 0);
      // Their names are those of a workflow, not ours.
      case "params":
      case "variables":
        return isObject(item)
          ? redactRecord(item, text, (one) => redactForeign(one, text, new Map(), 0))
          : item;
      case "permissions":
        return isObject(item) ? redactRecord(item, text, (one) => ruled(one, text)) : item;
      case "action":
        return redactAction(item, text, actionWords);
      default:
        return redactFields(item, text);
    }
  });
}

const innerWords: ReadonlySet<string> = new Set(["kind", "status"]);
const actionWords: ReadonlySet<string> = new Set([...innerWords, "type", "execution"]);

/** An event of the action protocol. The `type` of a thought is the model's own word. */
function redactAction<T>(action: T, text: Text, words: ReadonlySet<string>): T {
  return mapObject(action, (key, item) => {
    if (typeof item !== "string") return redactAction(item, text, innerWords);
    if (words.has(key)) return item;
    return key === "params" || key === "output" ? redactJson(item, text) : text(item);
  });
}

/** What a task may do: a preset, which is part of our vocabulary, or rules. */
function ruled(item: unknown, text: Text): unknown {
  if (typeof item !== "string") return redactFields(item, text);
  return permissionPresets.some((preset) => preset === item) ? item : text(item);
}

/** A copy if `change` changed anything. The copy has the fields of the original, hence its type. */
function mapObject<T>(value: T, change: (key: string, item: unknown) => unknown): T {
  if (typeof value !== "object" || value === null) return value;
  let copy: T | undefined;
  for (const [key, item] of Object.entries(value)) {
    const changed = change(key, item);
    if (changed === item) continue;
    copy ??= copyOf(value);
    Reflect.set(Object(copy), key, changed);
  }
  return copy ?? value;
}

function copyOf<T extends object>(value: T): T {
  return Array.isArray(value) ? Object.assign([], value) : { ...value };
}

function redactJson(json: string, text: Text): string {
  // It is searched twice.
  if (json.length > MAX_EVENT / 2) return text(json);
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    return text(json);
  }
  const redacted = redactForeign(parsed, text, new Map(), 0);
  return text(redacted === parsed ? json : JSON.stringify(redacted));
}

/** Data of a model or a tool: keys, numbers and nested JSON may contain secrets too. */
function redactForeign(
  value: unknown,
  text: Text,
  seen: Map<object, unknown>,
  depth: number,
): unknown {
  if (typeof value === "string") return text(value);
  // JSON has no bigint, and reporters write JSON.
  if (typeof value === "bigint") return text(String(value));
  if (typeof value === "number") return text(String(value)) === String(value) ? value : MASK;
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  if (depth >= MAX_DEPTH) return "[too deep]";
  seen.set(value, "[circular]");
  const result = Array.isArray(value)
    ? redactList(value, text, seen, depth)
    : redactRecord(value, text, (item) => redactForeign(item, text, seen, depth + 1));
  seen.set(value, result);
  return result;
}

function redactList(
  list: readonly unknown[],
  text: Text,
  seen: Map<object, unknown>,
  depth: number,
): readonly unknown[] {
  const copy = list.map((item) => redactForeign(item, text, seen, depth + 1));
  return copy.every((item, index) => item === list[index]) ? list : copy;
}

/** The names of fields are unknown too. */
function redactRecord(record: object, text: Text, redact: (item: unknown) => unknown): object {
  const copy = new Map<string, unknown>();
  let changed = false;
  for (const [key, item] of Object.entries(record)) {
    let name = text(key);
    for (let n = 2; copy.has(name); n += 1) name = `${text(key)} ${n}`;
    const redacted = redact(item);
    changed ||= name !== key || redacted !== item;
    copy.set(name, redacted);
  }
  return changed ? Object.fromEntries(copy) : record;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
