/** Runs of the server, as the page shows them. Pure. */
import type { RunSummary } from "../../src/reports/run-summary.ts";
import type { JournalSummary, RunListItem, RunStatus } from "../data/api-types.ts";

const statuses = {
  Running: "running",
  Succeeded: "succeeded",
  Failed: "failed",
  Canceled: "canceled",
} as const satisfies Record<RunStatus, string>;

export function statusOf(status: RunStatus): (typeof statuses)[RunStatus] {
  return statuses[status];
}

export function newestFirst(runs: readonly RunListItem[]): readonly RunListItem[] {
  return runs.toSorted((a, b) => Date.parse(b.startTime) - Date.parse(a.startTime));
}

/** How the runs of one job stand. */
export interface JobRuns {
  readonly running: number;
  /** The newest one that has ended. */
  readonly last: RunListItem | undefined;
}

export function runsByJob(runs: readonly RunListItem[]): ReadonlyMap<string, JobRuns> {
  const jobs = new Map<string, JobRuns>();
  for (const run of newestFirst(runs)) {
    const before = jobs.get(run.jobName) ?? { running: 0, last: undefined };
    jobs.set(
      run.jobName,
      run.status === "Running"
        ? { ...before, running: before.running + 1 }
        : { ...before, last: before.last ?? run },
    );
  }
  return jobs;
}

/** Runs that only a journal knows, the newest first; those without a start are left out. */
export function earlierRuns(
  journals: readonly JournalSummary[],
  recent: readonly RunListItem[],
): readonly RunSummary[] {
  const known = new Set(recent.map(({ jobId }) => jobId));
  const runs = new Map<string, RunSummary>();
  for (const run of journals.flatMap((journal) => journal.runs))
    if (!known.has(run.runId) && run.startTime !== undefined) runs.set(run.runId, run);
  return [...runs.values()].toSorted((a, b) => timeOf(b) - timeOf(a));
}

function timeOf({ startTime = "" }: RunSummary): number {
  return Date.parse(startTime);
}
