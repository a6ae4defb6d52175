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

/** The structured result of each task; of one in an `Each`, a list of `{ item, result }`. Null: there is none. */
export function resultsOf({ given }: RunView): Readonly<Record<string, unknown>> | null {
  const tasks: Record<string, unknown> = Object.create(null);
  const lists = new Map<string, object[]>();
  for (const { taskId, items, result } of given.values()) {
    if (result === undefined) continue;
    const item = items.at(-1);
    if (item === undefined) tasks[taskId] = result.value;
    else {
      const list = lists.get(taskId) ?? [];
      lists.set(taskId, [...list, { item, result: result.value }]);
    }
  }
  for (const [taskId, list] of lists) tasks[taskId] ??= list;
  return Object.keys(tasks).length === 0 ? null : tasks;
}
