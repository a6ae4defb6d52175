import { useEffect, useState } from "preact/hooks";
import { formatAgo, formatDuration } from "./format.ts";

const exact = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat("en", { timeStyle: "medium", hourCycle: "h23" });

/** Renders again every `intervalMs`, with the time; 0: never. */
export function useNow(intervalMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    setNow(Date.now());
    if (intervalMs === 0) return undefined;
    const timer = setInterval(() => setNow(Date.now()), intervalMs);
    return () => clearInterval(timer);
  }, [intervalMs]);
  return now;
}

function isoOf(at: number): string | undefined {
  return Number.isFinite(at) && Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : undefined;
}

/** `5 min ago`; the exact time on hover. `at` in milliseconds since 1970. */
export function RelativeTime({ at }: { at: number }) {
  const now = useNow(5_000);
  const iso = isoOf(at);
  if (iso === undefined) return <span>unknown</span>;
  return (
    <time dateTime={iso} title={exact.format(at)}>
      {formatAgo(Math.max(0, now - at))}
    </time>
  );
}

/** `14:03:12`; date and time on hover. */
export function ClockTime({ at }: { at: number }) {
  const iso = isoOf(at);
  if (iso === undefined) return <span>unknown</span>;
  return (
    <time class="number" dateTime={iso} title={exact.format(at)}>
      {clock.format(at)}
    </time>
  );
}

export function Duration({ ms }: { ms: number }) {
  return <span class="number">{formatDuration(ms)}</span>;
}

/** Counts the time since `from`, while that lasts. */
export function RunningDuration({ from }: { from: number }) {
  return <Duration ms={useNow(1_000) - from} />;
}
