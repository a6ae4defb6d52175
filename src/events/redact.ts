/**
 * The one redactor. It sits in the sink, in front of every reporter, and nothing that leaves the process
 * may go around it.
 *
 * - It masks known values in every encoding (`secret-search.ts`), and whatever `credentialSpans` recognises.
 * - Both look at the same text and their finds are united before anything is replaced: a known secret
 *   inside a longer token does not hide the rest of the token from its pattern.
 * - The time is linear in the text and does not depend on the number of secrets; `text(text(s)) === text(s)`.
 * - A secret may be split over two deltas of a stream, where no pattern would see it. So the text of every
 *   `*.delta` activity is emptied: a reporter sees that something moves, and reads the whole text in the
 *   `*.ended` that follows. (Who streams deltas to a browser has to hold back text by itself.)
 * - An event holds a megabyte of text at most: what is more is cut, so that the process never stands still.
 * - The words of our own vocabulary (`type`, `kind`, `role`…) are never touched, or a secret such as
 *   `decision` would break every fold.
 */
import type { RunEvent } from "./event.ts";
import { credentialSpans, type Span } from "./secret-patterns.ts";
import { createSecretSearch, type SecretSearch } from "./secret-search.ts";

export interface Redactor {
  readonly text: (text: string) => string;
  /** A copy without secrets; the same object where there was nothing to hide. */
  readonly event: (event: RunEvent) => RunEvent;
  readonly addSecret: (secret: string) => void;
}

export const MASK = "***";
const MAX_DEPTH = 100;
/** UTF-16 units of all texts of an event together. */
const MAX_EVENT = 1024 * 1024;
/** So short a text is never cut: names of fields, for one. */
const ALWAYS_KEPT = 200;
/** What is dropped at a cut: longer than a secret is, however encoded. */
const CUT_EDGE = 64 * 1024;

export function createRedactor(secrets: readonly string[]): Redactor {
  const known = new Set(secrets);
  let search: SecretSearch | undefined;

  const text = (original: string): string => {
    // Once more after a change: a mask may end what a pattern did not see the end of. Every round masks at
    // least one character that was no mask before, and in practice the second one changes nothing.
    for (let before = original; ;) {
      search ??= createSecretSearch(known);
      const after = mask(before, [...search.spans(before), ...credentialSpans(before)]);
      if (after === before) return after;
      before = after;
    }
  };
  return {
    text,
    addSecret(secret) {
      known.add(secret);
      search = undefined;
    },
    event: (event) => redactEvent(event, bounded(text)),
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
    return `${kept}… (${original.length - kept.length} characters left out)`;
  };
}

function mask(text: string, spans: Span[]): string {
  if (spans.length === 0) return text;
  spans.sort((a, b) => a.from - b.from);
  let result = "";
  let end = 0;
  let maskedTo = -1;
  for (const { from, to } of spans) {
    if (to <= maskedTo || to === from) continue;
    if (from > maskedTo) result += text.slice(end, from) + MASK;
    maskedTo = to;
    end = to;
  }
  return result + text.slice(end);
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
  "finish",
]);
/** Fields whose keys are not ours either: a model's arguments, names that an entry gives. */
const foreignFields = new Set(["arguments", "models", "permissions"]);
/** Fields whose strings are JSON: a secret may be hidden there behind escapes. */
const jsonFields = new Set(["arguments", "detail"]);

function redactEvent(event: RunEvent, text: Text): RunEvent {
  if (event.type === "activity") {
    const { activity } = event;
    switch (activity.kind) {
      case "message.delta":
      case "reasoning.delta":
      case "tool.delta":
        return redactFields({ ...event, activity: { ...activity, text: "" } }, text);
      default:
        break;
    }
  }
  return redactFields(event, text);
}

/** Our own objects: the names of fields are ours, the values may be anybody's. */
function redactFields<T>(value: T, text: Text): T {
  return mapObject(value, (key, item) => {
    if (typeof item === "string") {
      if (fixedWords.has(key)) return item;
      return jsonFields.has(key) ? redactJson(item, text) : text(item);
    }
    return foreignFields.has(key)
      ? redactForeign(item, text, new Map(), 0)
      : redactFields(item, text);
  });
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

/** What a model or a tool made: keys, numbers and nested JSON may hide a secret as well. */
function redactForeign(
  value: unknown,
  text: Text,
  seen: Map<object, unknown>,
  depth: number,
): unknown {
  if (typeof value === "string") return text(value);
  // JSON has no bigint, and whatever reports the event writes JSON.
  if (typeof value === "bigint") return text(String(value));
  if (typeof value === "number") return text(String(value)) === String(value) ? value : MASK;
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  if (depth >= MAX_DEPTH) return "[too deep]";
  seen.set(value, "[circular]");
  const result = Array.isArray(value)
    ? redactList(value, text, seen, depth)
    : redactRecord(value, text, seen, depth);
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

function redactRecord(
  record: object,
  text: Text,
  seen: Map<object, unknown>,
  depth: number,
): object {
  const copy = new Map<string, unknown>();
  let changed = false;
  for (const [key, item] of Object.entries(record)) {
    let name = text(key);
    for (let n = 2; copy.has(name); n += 1) name = `${text(key)} ${n}`;
    const redacted = redactForeign(item, text, seen, depth + 1);
    changed ||= name !== key || redacted !== item;
    copy.set(name, redacted);
  }
  return changed ? Object.fromEntries(copy) : record;
}
