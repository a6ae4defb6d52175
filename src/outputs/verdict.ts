import { plural } from "../text/numbers.ts";
import {
  defaultOutputs,
  severities,
  verdicts,
  type Outputs,
  type Severity,
  type VerdictWord,
} from "../entry/outputs.ts";
import type { RefusedOutput, Verdict } from "../events/output-shapes.ts";
import { endText, type RunView } from "../events/view.ts";
import { collectOutputs, type CollectedOutputs } from "./collect.ts";

/** Sets the exit code only: the result of the job stays what it is. */
export type Judgement =
  | { readonly kind: "passed"; readonly warning?: string }
  | { readonly kind: "failed"; readonly reason: string };

export const verdictWords = {
  pass: "Pass",
  "needs-work": "Needs work",
  reject: "Rejected",
} as const;
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

/** Judges a run by the outputs in its plan. */
export function judgementOf(view: RunView): Judgement {
  if (view.status !== "succeeded") return { kind: "passed" };
  const { outputs, part } = view.plan ?? {};
  return judge(collectOutputs(view), outputs, part !== undefined && part.kind !== "merge");
}

/** Why it failed, or why its outputs fail the command although the job succeeded. Empty: neither. */
export function endReason(view: RunView): string {
  const judgement = judgementOf(view);
  return endText(view) || (judgement.kind === "failed" ? judgement.reason : "");
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
  const fails = (word: VerdictWord): boolean =>
    failOn !== "never" && verdicts.indexOf(word) >= verdicts.indexOf(failOn);
  const reaches = ({ severity = "error" }: { readonly severity?: Severity }): boolean =>
    from !== "never" && severities.indexOf(severity) >= severities.indexOf(from);
  const ofVerdict = `(\`outputs.verdict.failOn: ${failOn}\`)`;
  const lost = refused.find((one) => one.kind === "verdict" && fails(one.verdict ?? "reject"));
  const isMissing = verdict === undefined && !isPart;
  if (verdict !== undefined && fails(verdict.verdict))
    reasons.push(`the verdict is ${verdict.verdict} ${ofVerdict}`);
  else if (lost !== undefined)
    reasons.push(`the last verdict was refused, and is not pass ${ofVerdict}: ${clause(lost)}`);
  else if (isMissing && outputs.verdict?.required === true)
    reasons.push("no task gave a verdict (`outputs.verdict.required: true`)");
  const what = from === "error" ? "an error" : `a ${from} or worse`;
  const found = findings.filter(reaches);
  const unreported = refused.filter((one) => one.kind === "finding" && reaches(one));
  const { length } = found.length > 0 ? found : unreported;
  const count = `${plural(length, "finding is", "findings are")} ${what} (\`outputs.findings.failOn: ${from}\`)`;
  if (found.length > 0) reasons.push(count);
  else if (unreported[0] !== undefined)
    reasons.push(`${count}, and could not be reported: ${clause(unreported[0])}`);
  if (reasons.length === 0) {
    if (!isMissing || (outputs.verdict?.failOn ?? "never") === "never") return { kind: "passed" };
    const warning = `No task gave a verdict, so \`outputs.verdict.failOn: ${failOn}\` was not applied. To fail without one, set \`outputs.verdict.required: true\`.`;
    return { kind: "passed", warning };
  }
  const sentence = reasons.join(", and ");
  return { kind: "failed", reason: `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.` };
}

function clause({ reason }: RefusedOutput): string {
  return reason.replace(/\.$/, "");
}
