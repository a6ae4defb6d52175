/** Redacts data of a model, a tool or an entry: the names of fields, numbers and nested data may hold secrets, too. */
import { MIN_SECRET } from "./secret-search.ts";
import { MASK } from "./text-stream.ts";

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
export function redactedRecord(
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
