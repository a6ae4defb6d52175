/** What a run means for the step: its outputs, and whether the step passes. */
import type { RunReport } from "../run/execute.ts";
import type { Outputs } from "./github.ts";
import type { Inputs } from "./inputs.ts";

/** Whether the step has failed: for the exit code. */
export type Ending = "passed" | "failed";

interface StepEnd {
  readonly outputs: Outputs;
  readonly ending: Ending;
}

interface Judging extends Pick<Inputs, "failOn"> {
  /** What of the records of the run is incomplete, or can't be trusted. */
  readonly failures: readonly string[];
  readonly isTrusted: boolean;
}

export function endOf(
  { outcome: { kind }, judgement, complete }: RunReport,
  outputs: Outputs,
  { failures, isTrusted, failOn }: Judging,
): StepEnd {
  const passes = failOn === "never" ? "passed" : "failed";
  switch (kind) {
    case "succeeded":
    case "skipped":
      // A requested record is missing: a run that went well otherwise is no success.
      if (!complete || !isTrusted) {
        const reason = failures.join("\n");
        return { outputs: { ...outputs, result: "failure", reason }, ending: "failed" };
      }
      return judgement.kind === "failed"
        ? { outputs: { ...outputs, reason: judgement.reason }, ending: passes }
        : { outputs, ending: "passed" };
    case "failed":
      return { outputs, ending: passes };
    case "canceled":
      return { outputs, ending: "failed" };
  }
}
