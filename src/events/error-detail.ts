/** Whatever is thrown (cycles, getters that throw, proxies, megabytes), the JSON has at most about 64 KiB. */
import { truncateUnredacted, moreCharacters } from "../text/truncate.ts";

const MAX_DEPTH = 6;
const MAX_FIELDS = 40;
const MAX_TEXT = 8 * 1024;
/** Maximum length of all texts of an error together. Beyond it, only the structure is shown. */
const MAX_TOTAL = 48 * 1024;

interface Budget {
  left: number;
  readonly open: Set<object>;
}

/** Any thrown value, with its causes and own fields, as a JSON string. Never throws. */
export function errorToDetailedString(err: unknown): string {
  const budget: Budget = { left: MAX_TOTAL, open: new Set() };
  try {
    if (isError(err)) return JSON.stringify(describe(err, budget, 0));
    const isObject = typeof err === "object" && err !== null;
    const said = isObject ? field(err, "message") : describe(err, budget, 0);
    const message =
      isObject && typeof said !== "string" ? "An object was thrown" : clip(String(said), budget);
    return JSON.stringify({ name: "NonError", message, value: describe(err, budget, 0) });
  } catch {
    return '{"name":"NonError","message":"An error that cannot be inspected"}';
  }
}

function isError(value: unknown): boolean {
  return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
}

function describe(value: unknown, budget: Budget, depth: number): unknown {
  switch (typeof value) {
    case "object":
      return value === null ? null : describeObject(value, budget, depth);
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return clip(`${value}n`, budget);
    case "string":
    case "symbol":
      return clip(String(value), budget);
    case "undefined":
    case "function":
      return `[${typeof value}]`;
  }
}

function describeObject(value: object, budget: Budget, depth: number): unknown {
  if (budget.open.has(value)) return "[circular]";
  if (depth >= MAX_DEPTH) return "[too deep]";
  if (budget.left <= 0) return "[omitted: too long]";
  budget.open.add(value);
  // A shape costs too, else many small objects would get past the bound.
  budget.left -= 16;
  try {
    return contentsOf(value, budget, depth);
  } catch {
    return "[cannot be inspected]";
  } finally {
    budget.open.delete(value);
  }
}

function contentsOf(value: object, budget: Budget, depth: number): unknown {
  if (value instanceof Date) return String(value);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Map || value instanceof Set) return contentsOf([...value], budget, depth);
  if (Array.isArray(value))
    return value.slice(0, MAX_FIELDS).map((item) => describe(item, budget, depth + 1));
  const ofErrors = ["name", "message", "stack", "cause", "errors"];
  const own = Object.keys(value).slice(0, MAX_FIELDS);
  const known = isError(value) ? ofErrors.filter((key) => field(value, key) !== undefined) : [];
  return Object.fromEntries(
    [...new Set([...known, ...own])].map((key): [string, unknown] => [
      clip(key, budget),
      describe(field(value, key), budget, depth + 1),
    ]),
  );
}

function field(value: object, key: string): unknown {
  try {
    return Reflect.get(value, key);
  } catch {
    return "[getter threw]";
  }
}

function clip(text: string, budget: Budget): string {
  const room = Math.max(0, Math.min(MAX_TEXT, budget.left));
  const shown = truncateUnredacted(text, room, moreCharacters);
  budget.left -= shown.length + 8;
  return shown;
}
