/** What a list of runs shows: filtered, sorted, grouped, summed up. Pure. */
import type { RunSummary } from "../../src/reports/run-summary.ts";

/** A run, and the names of the journals that contain it. */
export interface ListedRun extends RunSummary {
  readonly journals: readonly string[];
}

export interface RunFilter {
  /** Empty: any. */
  readonly text: string;
  /** Empty: any. */
  readonly status: string;
  /** Empty: any. */
  readonly job: string;
}

export const noFilter: RunFilter = { text: "", status: "", job: "" };

export const sortKeys = [
  "status",
  "jobName",
  "startTime",
  "durationMs",
  "tokens",
  "cost",
  "retries",
  "crashes",
] as const;
export type SortKey = (typeof sortKeys)[number];

export interface Sorting {
  readonly key: SortKey;
  readonly descending: boolean;
}

export type Grouping = "none" | "job" | "journal";

export interface Totals {
  readonly runs: number;
  readonly failed: number;
  readonly durationMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
  readonly retries: number;
  readonly crashes: number;
}

export type Row =
  | { readonly kind: "group"; readonly name: string; readonly totals: Totals }
  | { readonly kind: "run"; readonly run: ListedRun };

export function tokensOf({ inputTokens, outputTokens }: RunSummary): number {
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
  return runs.toSorted((a, b) => sign * compare(value(a), value(b)));
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function totalsOf(runs: readonly RunSummary[]): Totals {
  const sum = (value: (run: RunSummary) => number): number =>
    runs.reduce((total, run) => total + value(run), 0);
  return {
    runs: runs.length,
    failed: runs.filter(({ status }) => status === "failed").length,
    durationMs: sum(({ durationMs }) => durationMs),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    cost: sum(({ cost }) => cost),
    retries: sum(({ retries }) => retries),
    crashes: sum(({ crashes }) => crashes),
  };
}

/** The sorted runs, below the heading of their group. Groups come in the order of their first runs. */
export function rowsOf(runs: readonly ListedRun[], grouping: Grouping): readonly Row[] {
  const row = (run: ListedRun): Row => ({ kind: "run", run });
  if (grouping === "none") return runs.map(row);
  const groups = new Map<string, ListedRun[]>();
  for (const run of runs) {
    const name = grouping === "job" ? run.jobName : (run.journals[0] ?? "");
    const members = groups.get(name);
    if (members === undefined) groups.set(name, [run]);
    else members.push(run);
  }
  return [...groups].flatMap(([name, members]): Row[] => [
    { kind: "group", name, totals: totalsOf(members) },
    ...members.map(row),
  ]);
}

/** Different values, sorted, for a choice. */
export function choicesOf(values: readonly string[]): readonly string[] {
  return [...new Set(values)].toSorted();
}
