import {
  defaultOutputs,
  severities,
  verdicts,
  type Outputs,
  type Severity,
  type VerdictWord,
} from "../entry/outputs.ts";
import type { Verdict } from "../events/output-shapes.ts";
import type { RunView } from "../events/view.ts";
import { collectOutputs, type CollectedOutputs } from "./collect.ts";

/** As the plan of the run says. */
export function judgeRun(view: RunView): Judgement {
  const { outputs, part } = view.plan ?? {};
  return judge(collectOutputs(view), outputs, part !== undefined && part.kind !== "merge");
}

/** Sets the exit code only: the result of the job stays what it is. */
export type Judgement =
  | { readonly kind: "passed"; readonly warning?: string }
  | { readonly kind: "failed"; readonly reason: string };

const verdictWords = { pass: "Pass", "needs-work": "Needs work", reject: "Rejected" } as const;
const verdictSigns = { pass: "✓", "needs-work": "⚠", reject: "✗" } as const;

/** "⚠ Needs work" */
export function verdictTitle({ verdict }: Verdict): string {
  return `${verdictSigns[verdict]} ${verdictWords[verdict]}`;
}

/** "Needs work: the error is swallowed." */
export function verdictLine({ verdict, reason }: Verdict): string {
  const why = reason.trim().replace(/\s+/gu, " ");
  return why === "" ? verdictWords[verdict] : `${verdictWords[verdict]}: ${why}`;
}

export function judge(
  { verdict, findings, refused }: Pick<CollectedOutputs, "verdict" | "findings" | "refused">,
  outputs: Outputs = {},
  /** A part of a job may leave the verdict to another one. */
  isPart = false,
): Judgement {
  const failOn = outputs.verdict?.failOn ?? defaultOutputs.verdict.failOn;
  const from = outputs.findings?.failOn ?? defaultOutputs.findings.failOn;
  const reasons: string[] = [];
  if (failOn !== "never") {
    const field = `(\`outputs.verdict.failOn: ${failOn}\`)`;
    const fails = (word: VerdictWord): boolean =>
      verdicts.indexOf(word) >= verdicts.indexOf(failOn);
    if (verdict !== undefined && fails(verdict.verdict))
      reasons.push(`the verdict is ${verdict.verdict} ${field}`);
    else if (refused.verdict !== undefined && fails(refused.verdict.verdict ?? "reject"))
      reasons.push(
        `the last call of job_verdict was refused, and it did not say pass: ${refused.verdict.reason.replace(/\.$/, "")} ${field}`,
      );
  }
  const isMissing = verdict === undefined && !isPart && reasons.length === 0;
  if (isMissing && outputs.verdict?.required === true)
    reasons.push("no task gave a verdict (`outputs.verdict.required: true`)");
  if (from !== "never") {
    const reaches = ({ severity = "error" }: { readonly severity?: Severity }): boolean =>
      severities.indexOf(severity) >= severities.indexOf(from);
    const count = findings.filter(reaches).length;
    const what = from === "error" ? "an error" : `a ${from} or worse`;
    const field = `(\`outputs.findings.failOn: ${from}\`)`;
    const lost = refused.findings.filter(reaches);
    if (count > 0)
      reasons.push(`${count} ${count === 1 ? "finding is" : "findings are"} ${what} ${field}`);
    else if (lost[0] !== undefined)
      reasons.push(
        `${lost.length} ${lost.length === 1 ? "finding that is" : "findings that are"} ${what} could not be reported ${field}, the first one because: ${lost[0].reason.replace(/\.$/, "")}`,
      );
  }
  if (reasons.length === 0) {
    if (!isMissing || (outputs.verdict?.failOn ?? "never") === "never") return { kind: "passed" };
    const warning = `No task gave a verdict, so \`outputs.verdict.failOn: ${failOn}\` was not applied. To fail without one, set \`outputs.verdict.required: true\`.`;
    return { kind: "passed", warning };
  }
  const sentence = reasons.join(", and ");
  return { kind: "failed", reason: `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.` };
}
