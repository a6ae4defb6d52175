/**
 * The one redactor. It sits in the sink, in front of every reporter, and nothing leaves the process without it.
 *
 * - Text that streams is redacted as a stream. The deltas of a text, joined, are its redaction.
 * - An event holds a megabyte of text at most, so that it never blocks the process for long.
 * - The words of our own vocabulary (`type`, `kind`, `role`…) are never touched, or a secret such as `decision` would
 *   break every fold.
 */
import { permissionPresets } from "../entry/model.ts";
import type { RunEvent } from "../events/event.ts";
import { type Delta, type SessionActivity, isDelta, textOf } from "../events/session-activity.ts";
import {
  SecretSearch,
  MIN_SECRET,
  type TextStream,
  createTextStream,
  redactedText,
  MASK,
} from "./secret-search.ts";

export interface Redactor {
  readonly text: (text: string) => string;
  /** Redacts a text that comes in pieces. The results, joined, are `text` of the pieces, joined. */
  readonly stream: () => TextStream;
  /** A copy without secrets, or the same object if there was nothing to hide. Deltas lose their text. */
  readonly event: (event: RunEvent) => RunEvent;
  /**
   * Returns the events that reporters receive instead. Text of a delta that may become a secret is held back: it comes
   * with a later delta, or with one more before the end of the text.
   */
  readonly events: (event: RunEvent) => readonly RunEvent[];
  /** Redacts the activities of a session outside of runs. */
  readonly activities: (sessionId: string, activity: SessionActivity) => readonly SessionActivity[];
  readonly addSecret: (secret: string) => void;
}

/** UTF-16 units of all texts of an event together. */
const MAX_EVENT = 1024 * 1024;
/** Texts up to this length are never cut, for example names of fields. */
const ALWAYS_KEPT = 200;
/** UTF-16 units of a short text, and how many of them are remembered. */
const SHORT = 64;
const REMEMBERED = 10_000;

export function createRedactor(secrets: readonly string[]): Redactor {
  const known = new Set(secrets);
  let search: SecretSearch | undefined;
  /** Short texts, most of which are ids that every event repeats. */
  const short = new Map<string, string>();

  const current = (): SecretSearch => (search ??= new SecretSearch(known));
  const stream = (): TextStream => createTextStream(current);
  const text = (original: string): string => {
    if (original.length > SHORT) return redactedText(original, current());
    const remembered = short.get(original);
    if (remembered !== undefined) return remembered;
    const redacted = redactedText(original, current());
    if (short.size === REMEMBERED) short.clear();
    short.set(original, redacted);
    return redacted;
  };
  const whole = <T>(value: T): T => redactFields(value, bounded(text, stream));
  const open = new OpenTexts(stream);
  const activities = (sessionId: string, activity: SessionActivity): readonly SessionActivity[] => {
    if (!isDelta(activity)) return [...open.endedBy(sessionId, activity), whole(activity)];
    return [open.push(sessionId, activity, whole<Delta>({ ...activity, text: "" }))];
  };
  return {
    text,
    stream,
    addSecret(secret) {
      known.add(secret);
      search = undefined;
      short.clear();
    },
    event: (event) =>
      event.type === "activity" && isDelta(event.activity)
        ? whole({ ...event, activity: { ...event.activity, text: "" } })
        : whole(event),
    events(event) {
      switch (event.type) {
        case "activity": {
          const { activity, sessionId } = event;
          if (!isDelta(activity)) {
            const shown = whole(event);
            const ended = open.endedBy(sessionId, activity);
            return [...ended.map((one) => ({ ...shown, activity: one })), shown];
          }
          const bare: Delta = { ...activity, text: "" };
          const shown = whole({ ...event, activity: bare });
          open.push(sessionId, activity, shown.activity);
          return [shown];
        }
        case "turn.ended": {
          const { purpose: _, outcome: _of, ...around } = event;
          const shown = whole(around);
          const before = open
            .end(event.sessionId)
            .map((activity) => ({ ...shown, type: "activity" as const, activity }));
          return [...before, whole(event)];
        }
        default:
          return [whole(event)];
      }
    },
    activities,
  };
}

/** The texts of an event, of which is cut what is too long. No secret is halved: what is held back is dropped. */
function bounded(text: Text, stream: () => TextStream): Text {
  let left = MAX_EVENT;
  return (original) => {
    const room = left;
    left = Math.max(0, left - original.length);
    if (original.length <= Math.max(room, ALWAYS_KEPT)) return text(original);
    // Room for the note, so that a second redaction cuts nothing.
    const kept = stream().push(original.slice(0, Math.max(0, room - ALWAYS_KEPT)));
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

/** Objects of agent-jobs: the names of fields are known, the values may come from anywhere. */
function redactFields<T>(value: T, text: Text): T {
  return mapObject(value, (key, item) => {
    if (typeof item === "string") return fixedWords.has(key) ? item : text(item);
    switch (key) {
      // The names in them are not ours.
      case "arguments":
      case "models":
      case "params":
      case "variables":
        return redactedValue(item, text);
      case "permissions":
        return isObject(item) ? redactedRecord(item, text, (one) => ruled(one, text)) : item;
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
    return words.has(key) ? item : text(item);
  });
}

/** Permissions are a preset, which is part of our vocabulary, or rules. */
function ruled(item: unknown, text: Text): unknown {
  if (typeof item !== "string") return redactFields(item, text);
  return permissionPresets.some((preset) => preset === item) ? item : text(item);
}

/** A copy if `change` changed anything. The copy has the fields of the original, hence its type. */
function mapObject<T>(value: T, change: (key: string, item: unknown) => unknown): T {
  if (typeof value !== "object" || value === null) return value;
  let copy: T | undefined;
  for (const key of Object.keys(value)) {
    const item: unknown = Reflect.get(value, key);
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

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

interface OpenText {
  readonly stream: TextStream;
  /** The latest piece, without its text. */
  readonly bare: Delta;
}

/**
 * The texts of sessions that are coming in: messages, reasoning, the output of tools. Each has a stream of its own,
 * until it ends or its turn does.
 */
class OpenTexts {
  readonly #sessions = new Map<string, Map<string, OpenText>>();
  readonly #stream: () => TextStream;

  constructor(stream: () => TextStream) {
    this.#stream = stream;
  }

  /** Gives `bare`, a copy of the delta, the text that can be passed on. */
  push(sessionId: string, delta: Delta, bare: Delta): Delta {
    const texts = this.#sessions.get(sessionId) ?? new Map<string, OpenText>();
    this.#sessions.set(sessionId, texts);
    const id = textOf(delta) ?? "";
    const stream = texts.get(id)?.stream ?? this.#stream();
    texts.set(id, { stream, bare });
    return Object.assign(bare, { text: stream.push(delta.text) });
  }

  /** The rest of the text that an activity ends, if it ends one. */
  endedBy(sessionId: string, activity: SessionActivity): readonly Delta[] {
    const texts = this.#sessions.get(sessionId);
    const id = textOf(activity) ?? "";
    const open = texts?.get(id);
    texts?.delete(id);
    if (texts?.size === 0) this.#sessions.delete(sessionId);
    return open === undefined ? [] : rest(open);
  }

  /** The rest of every text of a session: none of them continues. */
  end(sessionId: string): readonly Delta[] {
    const texts = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    return [...(texts?.values() ?? [])].flatMap(rest);
  }
}

function rest({ stream, bare }: OpenText): readonly Delta[] {
  const text = stream.end();
  return text === "" ? [] : [{ ...bare, text }];
}

const withoutSecrets = createRedactor([]);

/** Whether something in it looks like a credential, no matter whose it is. */
export function holdsCredential(text: string): boolean {
  return withoutSecrets.text(text) !== text;
}

/* Redacts data of a model, a tool or an entry: the names of fields, numbers and nested data may hold secrets, too. */

const MAX_DEPTH = 200;

/** A copy without secrets, or the same value if there are none. It is as JSON writes it. */
export function redactedValue(value: unknown, redact: (text: string) => string): unknown {
  /** The objects around the current one. */
  const open: object[] = [];
  const copyOf = (one: unknown): unknown => {
    if (typeof one === "string") return redact(one);
    // JSON has no bigint.
    if (typeof one === "bigint") return redact(String(one));
    if (typeof one === "number") {
      const written = String(one);
      return written.length < MIN_SECRET || redact(written) === written ? one : MASK;
    }
    if (typeof one !== "object" || one === null) return one;
    if (open.includes(one)) return "[circular]";
    if (open.length === MAX_DEPTH) return "[too deep]";
    open.push(one);
    const copy = Array.isArray(one)
      ? redactedList(one, copyOf)
      : redactedRecord(one, redact, copyOf);
    open.pop();
    return copy;
  };
  return copyOf(value);
}

function redactedList(
  list: readonly unknown[],
  redact: (item: unknown) => unknown,
): readonly unknown[] {
  const copy = list.map((item) => redact(item));
  return copy.every((item, index) => item === list[index]) ? list : copy;
}

/** An object with foreign names of fields. Where two become the same, the second one gets a number. */
function redactedRecord(
  record: object,
  redactName: (name: string) => string,
  redactItem: (item: unknown) => unknown,
): object {
  const copy = new Map<string, unknown>();
  let changed = false;
  for (const [key, item] of Object.entries(record)) {
    const masked = redactName(key);
    let name = masked;
    for (let n = 2; copy.has(name); n += 1) name = `${masked} ${n}`;
    const redacted = redactItem(item);
    changed ||= name !== key || redacted !== item;
    copy.set(name, redacted);
  }
  return changed ? Object.fromEntries(copy) : record;
}
