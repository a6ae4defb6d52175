/** What a run publishes, of all that its tasks have handed in. */
import { defaultOutputs, type Outputs } from "../entry/outputs.ts";
import type { Finding, Proposal, Verdict } from "../events/output-shapes.ts";
import type { GivenView, RunView } from "../events/view.ts";
import { selectFindings } from "./select-findings.ts";

export interface CollectedOutputs {
  /** The worst first, each once, at most `outputs.findings.max`. */
  readonly findings: readonly Finding[];
  /** So many more than `max`. */
  readonly omitted: number;
  readonly verdict: Verdict | undefined;
  /** In the order in which they were made. */
  readonly proposals: readonly { readonly task: string; readonly proposal: Proposal }[];
}

/** `outputs`: what the entry says, by default what the plan of the run says. */
export function collectOutputs(
  view: RunView,
  outputs: Outputs = view.plan?.outputs ?? {},
): CollectedOutputs {
  const given = (from: readonly string[] | undefined): GivenView[] =>
    [...view.given.values()].filter(({ taskId }) => from?.includes(taskId) !== false);
  const { findings, verdict, proposals } = outputs;
  const { max = defaultOutputs.findings.max, minSeverity = defaultOutputs.findings.minSeverity } =
    findings ?? {};
  const all = given(findings?.from).flatMap((one) => one.findings);
  return {
    ...selectFindings(all, { max, minSeverity }),
    // What was handed in last stands last.
    verdict: given(verdict?.from).findLast((one) => one.verdict !== undefined)?.verdict,
    proposals: given(proposals?.from).flatMap(({ taskId, proposals: made }) =>
      made.map((proposal) => ({ task: taskId, proposal })),
    ),
  };
}
