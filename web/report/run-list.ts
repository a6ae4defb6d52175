/** Filters, sorts and compares listed runs. Pure. */
import type { RunSummary } from "../../src/reports/run-summary.ts";
import { formatCost, formatCount, formatDuration } from "../parts/format.ts";

/** A run, and the names of the journals that contain it. */
export interface ListedRun extends RunSummary {
  readonly journals: readonly string[];
}

/** An empty field matches any run. */
export interface RunFilter {
  readonly text: string;
  readonly status: string;
  readonly job: string;
}

export const noFilter: RunFilter = { text: "", status: "", job: "" };

/** A number of a run that is summed up and compared. */
export interface Figure {
  readonly key: SortKey;
  readonly text: string;
  readonly of: (run: RunSummary) => number;
  readonly format: (value: number) => string;
}

export const figures: readonly Figure[] = [
  { key: "durationMs", text: "Duration", of: (run) => run.durationMs, format: formatDuration },
  { key: "tokens", text: "Tokens", of: tokensOf, format: formatCount },
  { key: "cost", text: "Credits", of: (run) => run.cost, format: formatCost },
  { key: "retries", text: "Retries", of: (run) => run.retries, format: formatCount },
  { key: "crashes", text: "Crashes", of: (run) => run.crashes, format: formatCount },
];

export type SortKey =
  "status" | "jobName" | "startTime" | "durationMs" | "tokens" | "cost" | "retries" | "crashes";

export interface Sorting {
  readonly key: SortKey;
  readonly descending: boolean;
}

function tokensOf({ inputTokens, outputTokens }: RunSummary): number {
  return inputTokens + outputTokens;
}

/** Every word has to be in the job, the id, the reason, or the name of a journal. */
export function filterRuns(runs: readonly ListedRun[], filter: RunFilter): readonly ListedRun[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return runs.filter((run) => {
    if (filter.status !== "" && run.status !== filter.status) return false;
    if (filter.job !== "" && run.jobName !== filter.job) return false;
    const text = [run.jobName, run.runId, run.reason ?? "", ...run.journals].join("\n");
    return words.every((word) => text.toLowerCase().includes(word));
  });
}

export function sortRuns(
  runs: readonly ListedRun[],
  { key, descending }: Sorting,
): readonly ListedRun[] {
  const value = (run: ListedRun): string | number =>
    key === "tokens" ? tokensOf(run) : (run[key] ?? "");
  const sign = descending ? -1 : 1;
  return runs.toSorted((a, b) => {
    const [one, other] = [value(a), value(b)];
    return one === other ? 0 : one < other ? -sign : sign;
  });
}

/** From the first run to the second, such as `−340 ms (−12 %)`; undefined where both look the same. */
export function differenceOf({ of, format }: Figure, a: RunSummary, b: RunSummary) {
  const [from, to] = [of(a), of(b)];
  if (from === to || format(from) === format(to)) return undefined;
  const sign = to > from ? "+" : "−";
  const by = `${sign}${format(Math.abs(to - from))}`;
  if (from === 0) return by;
  return `${by} (${sign}${formatCount(Math.round((Math.abs(to - from) / from) * 100))} %)`;
}
