/** A prepared run on GitHub, and how its step ends. */
import { createGithubReporter, type GithubOptions } from "../github/github-reporter.ts";
import type { Outputs } from "../github/output-table.ts";
import { systemClock } from "../platform/system-clock.ts";
import type { RunReport } from "../run/execute.ts";
import type { PreparedRun } from "../run/prepare.ts";
import type { Inputs } from "./inputs.ts";

export function createGithubRun(
  { loaded, jobName }: PreparedRun,
  options: Omit<GithubOptions, "lineOf" | "jobLine" | "clock">,
) {
  return createGithubReporter({
    ...options,
    clock: systemClock,
    lineOf: (taskId) => loaded.locateTask(taskId).line,
    jobLine: loaded.locate(["jobs", jobName]).line,
  });
}

export type Ending = "passed" | "failed";

export function endOf(
  { outcome: { kind }, judgement, complete }: RunReport,
  outputs: Outputs,
  {
    failures,
    isTrusted,
    failOn,
    refusal,
  }: Pick<Inputs, "failOn"> & {
    /** Why refused deliveries fail the step; empty: they don't. */
    readonly refusal: string;
    readonly failures: readonly string[];
    readonly isTrusted: boolean;
  },
): { readonly outputs: Outputs; readonly ending: Ending } {
  const passes = failOn === "never" ? "passed" : "failed";
  switch (kind) {
    case "succeeded":
    case "skipped":
      // A requested record is missing: a run that succeeded otherwise is no success.
      if (!complete || !isTrusted) {
        const reason = failures.join("\n");
        return { outputs: { ...outputs, result: "failure", reason }, ending: "failed" };
      }
      if (judgement.kind === "failed")
        return { outputs: { ...outputs, reason: judgement.reason }, ending: passes };
      return refusal === ""
        ? { outputs, ending: "passed" }
        : { outputs: { ...outputs, reason: refusal }, ending: "failed" };
    case "failed":
      return { outputs, ending: passes };
    case "canceled":
      return { outputs, ending: "failed" };
  }
}
