/** Runs of the server, as the page shows them. Pure. */
import type { RunListItem, RunStatus } from "../data/api.ts";

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
