/** The header `retry-after`, in seconds or as a date: milliseconds from now. Undefined: it is neither. */
export function retryAfterMs(value: unknown, now: number): number | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const isSeconds = /^\d+$/.test(String(value));
  const left = isSeconds ? Number(value) * 1000 : Date.parse(String(value)) - now;
  return Number.isFinite(left) ? Math.max(0, left) : undefined;
}
