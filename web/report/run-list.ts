/** Filters, sorts and compares listed runs. Pure. */
import {
  figuresIn,
  tokensOf,
  type Figure,
  type RunSummary,
} from "../../src/reports/run-summary.ts";
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

export const figures = figuresIn({
  duration: formatDuration,
  count: formatCount,
  credits: formatCost,
});

export type SortKey = "status" | "jobName" | "startTime" | Figure["key"];

export interface Sorting {
  readonly key: SortKey;
  readonly descending: boolean;
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
