/** Numbers and times as people read them. Pure. */

const counts = new Intl.NumberFormat("en");

/** `1,234,567`. */
export function formatExact(count: number): string {
  return counts.format(count);
}

/** `1,234` below ten thousand, then `12.3k`, `1.2M`. */
export function formatCount(count: number): string {
  if (count < 10_000) return counts.format(count);
  const [divisor, unit] = count < 999_500 ? [1_000, "k"] : [1_000_000, "M"];
  const value = count / divisor;
  return `${value.toFixed(value < 99.95 ? 1 : 0).replace(/\.0$/, "")}${unit}`;
}

/** `830 ms`, `4.2 s`, `3 min 20 s`, `1 h 4 min`. */
export function formatDuration(ms: number): string {
  const whole = Math.max(0, ms);
  if (whole < 999.5) return `${Math.round(whole)} ms`;
  if (whole < 9_950) return `${(whole / 1_000).toFixed(1)} s`;
  const seconds = Math.round(whole / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return join(minutes, "min", seconds % 60, "s");
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return join(hours, "h", minutes % 60, "min");
  return join(Math.floor(hours / 24), "d", hours % 24, "h");
}

function join(first: number, firstUnit: string, second: number, secondUnit: string): string {
  return second === 0 ? `${first} ${firstUnit}` : `${first} ${firstUnit} ${second} ${secondUnit}`;
}

/** `just now`, `12 s ago`, `5 min ago`, `3 h ago`, `2 d ago`. */
export function formatAgo(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} d ago`;
}

/** AI credits: `0`, `0.33`, `2.5`, `140`. */
export function formatCost(cost: number): string {
  if (cost >= 100) return counts.format(Math.round(cost));
  return counts.format(Math.round(cost * 100) / 100);
}

/** `1 task`, `3 tasks`. */
export function plural(count: number, one: string): string {
  return `${formatCount(count)} ${one}${count === 1 ? "" : "s"}`;
}

const moment = {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
} as const;
const momentOfThisYear = new Intl.DateTimeFormat("en", moment);
const momentOfYear = new Intl.DateTimeFormat("en", { ...moment, year: "numeric" });

/** `Nov 21, 14:03`, with the year if it is not this one. `at` in milliseconds since 1970. */
export function formatMoment(at: number): string {
  if (!Number.isFinite(at) || Math.abs(at) > 8.64e15) return "unknown";
  const sameYear = new Date(at).getFullYear() === new Date().getFullYear();
  return (sameYear ? momentOfThisYear : momentOfYear).format(at);
}
