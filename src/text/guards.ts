/** Any object that is not a list. The types of its fields are unknown. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `Array.isArray` without its `any`. */
export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Undefined for what is no URL. Not by `URL.canParse`: once Node 20 has optimized it, it refuses hosts such as é.com. */
export function urlOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** The fields that have a value, for a type whose optional fields must not be there with `undefined`. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: T[K] & ({} | null) } {
  const result: { [K in keyof T]?: T[K] & ({} | null) } = {};
  for (const key in fields) {
    const value = fields[key];
    if (value !== undefined) result[key] = value;
  }
  return result;
}

/** `__proto__` is a key like any other. V8 keeps objects with this prototype fast, unlike those without any. */
export function emptyObject(): Record<string, unknown> {
  return Object.create(nothing);
}

const nothing: object = Object.freeze(Object.create(null));

/** The header `retry-after`, in seconds or as a date: milliseconds from now. Undefined: it is neither. */
export function retryAfterMs(value: unknown, now: number): number | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const isSeconds = /^\d+$/.test(String(value));
  const left = isSeconds ? Number(value) * 1000 : Date.parse(String(value)) - now;
  return Number.isFinite(left) ? Math.max(0, left) : undefined;
}
