/**
 * The one redactor. It sits in the sink, in front of every reporter, and nothing that leaves the process
 * may go around it.
 *
 * - It masks known values in every form of `secretForms`, also when that form goes on in the next line, and
 *   whatever `credentialSpans` recognises.
 * - Both look at the same text and their finds are united before anything is replaced: a known secret
 *   inside a longer token does not hide the rest of the token from its pattern.
 * - The time is linear in the text; `text(text(s)) === text(s)`.
 * - A secret may be split over two deltas of a stream, where no pattern would see it. So the text of every
 *   `*.delta` activity is emptied: a reporter sees that something moves, and reads the whole text in the
 *   `*.ended` that follows. (Who streams deltas to a browser has to hold back text by itself.)
 * - The words of our own vocabulary (`type`, `kind`, `role`…) are never touched, or a secret such as
 *   `decision` would break every fold.
 */
import type { RunEvent } from "./event.ts";
import { secretForms } from "./secret-forms.ts";
import { credentialSpans, type Span } from "./secret-patterns.ts";

export interface Redactor {
  readonly text: (text: string) => string;
  /** A copy without secrets; the same object where there was nothing to hide. */
  readonly event: (event: RunEvent) => RunEvent;
  readonly addSecret: (secret: string) => void;
}

const MASK = "***";
const MAX_DEPTH = 100;

export function createRedactor(secrets: readonly string[]): Redactor {
  const forms = new Set<string>();
  const addSecret = (secret: string): void => {
    for (const form of secretForms(secret)) forms.add(form);
  };
  for (const secret of secrets) addSecret(secret);

  const text = (original: string): string => {
    // Once more after a change: a mask may complete another secret. Every round masks at least one
    // character that was no mask before, and in practice the second one changes nothing.
    for (let before = original; ;) {
      const after = mask(before, [
        ...knownSpans(before, forms),
        ...wrappedSpans(before, forms),
        ...credentialSpans(before),
      ]);
      if (after === before) return after;
      before = after;
    }
  };
  return { text, addSecret, event: (event) => redactEvent(event, text) };
}

function knownSpans(text: string, forms: Iterable<string>): Span[] {
  const spans: Span[] = [];
  for (const form of forms) {
    let from = text.indexOf(form);
    while (from !== -1) {
      const to = from + form.length;
      const last = spans.at(-1);
      // Overlapping finds of one form are one span, so that "aaaa…" stays linear in memory.
      if (last !== undefined && last.from <= from && from <= last.to) {
        spans[spans.length - 1] = { from: last.from, to: Math.max(to, last.to) };
      } else {
        spans.push({ from, to });
      }
      from = text.indexOf(form, from + 1);
    }
  }
  return spans;
}

/** Shorter forms could come about by chance where two lines are joined. */
const MIN_WRAPPED = 16;
const lineBreak = String.raw`(?:\r?\n|(?:\\{1,4}r)?\\{1,4}n)`;
const wrapped = new RegExp(String.raw`[\w+/=.~%-]{40}${lineBreak}[\w+/=.~%-]`);
const lineBreaks = new RegExp(lineBreak, "g");

/** What `base64` and its like print comes in lines: finds what goes on behind the end of a long one. */
function wrappedSpans(text: string, forms: ReadonlySet<string>): Span[] {
  if (!wrapped.test(text)) return [];
  let joined = "";
  let end = 0;
  /** Where a line begins in the joined text, and how much has been left out before it. */
  const lines: { readonly at: number; readonly left: number }[] = [];
  for (const { 0: found, index } of text.matchAll(lineBreaks)) {
    joined += text.slice(end, index);
    end = index + found.length;
    lines.push({ at: joined.length, left: end - joined.length });
  }
  joined += text.slice(end);
  const long = [...forms].filter((form) => form.length >= MIN_WRAPPED);
  const original = (at: number): number => at + (lines[linesBefore(lines, at) - 1]?.left ?? 0);
  return knownSpans(joined, long).map(({ from, to }) => ({
    from: original(from),
    to: original(to - 1) + 1,
  }));
}

/** How many lines begin at `at` or before it. */
function linesBefore(lines: readonly { readonly at: number }[], at: number): number {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((lines[middle]?.at ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
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
const fixedWords = new Set(["type", "kind", "role", "mission", "field", "outcome", "errorType"]);
/** Fields whose strings are JSON: a secret may be hidden there behind escapes. */
const jsonFields = new Set(["toolArguments", "detail"]);

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
    return key === "arguments" ? redactForeign(item, text, new Map(), 0) : redactFields(item, text);
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
