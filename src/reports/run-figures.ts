/** The numbers of a run that are summed up and compared, in tables of runs. */
import type { RunSummary } from "./run-summary.ts";

type Format = (value: number) => string;

export interface Figure {
  readonly key: "durationMs" | "tokens" | "cost" | "retries" | "crashes";
  readonly text: string;
  readonly of: (run: RunSummary) => number;
  readonly format: Format;
}

export function figuresIn(
  formats: Readonly<Record<"duration" | "count" | "credits", Format>>,
): readonly Figure[] {
  const { duration, count, credits } = formats;
  return [
    { key: "durationMs", text: "Duration", of: (run) => run.durationMs, format: duration },
    { key: "tokens", text: "Tokens", of: tokensOf, format: count },
    { key: "cost", text: "Credits", of: (run) => run.cost, format: credits },
    { key: "retries", text: "Retries", of: (run) => run.retries, format: count },
    { key: "crashes", text: "Crashes", of: (run) => run.crashes, format: count },
  ];
}

export function tokensOf({ inputTokens, outputTokens }: RunSummary): number {
  return inputTokens + outputTokens;
}

/** From the first run to the second, such as `−340 ms (−12 %)`; undefined where both look the same. */
export function differenceOf({ of, format }: Figure, a: RunSummary, b: RunSummary) {
  const [from, to] = [of(a), of(b)];
  if (from === to || format(from) === format(to)) return undefined;
  const sign = to > from ? "+" : "−";
  const by = `${sign}${format(Math.abs(to - from))}`;
  if (from === 0) return by;
  const percent = Math.round((Math.abs(to - from) / from) * 100);
  return `${by} (${sign}${percent.toLocaleString("en-US")} %)`;
}
