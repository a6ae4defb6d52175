/** A JSON value without secrets. Pure. */
import { isRecord } from "../document/guards.ts";

/** A value that is nested deeper is replaced by its text. */
const deepest = 200;

/** A copy of plain data with every text of it, names of fields included, redacted. */
export function redactedValue(value: unknown, redact: (text: string) => string): unknown {
  const copy = (one: unknown, depth: number): unknown => {
    if (typeof one === "string") return redact(one);
    if (typeof one !== "object" || one === null) return one;
    if (depth === deepest) return redact(JSON.stringify(one));
    if (Array.isArray(one)) return one.map((item) => copy(item, depth + 1));
    if (!isRecord(one)) return null;
    return Object.fromEntries(
      Object.entries(one).map(([name, field]) => [redact(name), copy(field, depth + 1)]),
    );
  };
  return copy(value, 0);
}
