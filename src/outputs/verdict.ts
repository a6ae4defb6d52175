import { defaultOutputs, severities, verdicts, type Outputs } from "../entry/outputs.ts";
import type { Verdict } from "../events/output-shapes.ts";
import type { RunView } from "../events/view.ts";
import { collectOutputs, type CollectedOutputs } from "./collect.ts";

/** Sets the exit code only: the result of the job stays what it is. */
export type Judgement =
  { readonly kind: "passed" } | { readonly kind: "failed"; readonly reason: string };

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

export function judgementOf(view: RunView): Judgement {
  if (view.status !== "succeeded") return { kind: "passed" };
  return judge(collectOutputs(view), view.plan?.outputs);
}

export function judge(
  { verdict, findings }: Pick<CollectedOutputs, "verdict" | "findings">,
  outputs: Outputs = {},
): Judgement {
  const failOn = outputs.verdict?.failOn ?? defaultOutputs.verdict.failOn;
  const from = outputs.findings?.failOn ?? defaultOutputs.findings.failOn;
  const reasons: string[] = [];
  if (
    verdict !== undefined &&
    failOn !== "never" &&
    verdicts.indexOf(verdict.verdict) >= verdicts.indexOf(failOn)
  ) {
    reasons.push(`the verdict is ${verdict.verdict} (\`outputs.verdict.failOn: ${failOn}\`)`);
  }
  if (from !== "never") {
    const count = findings.filter(
      ({ severity }) => severities.indexOf(severity) >= severities.indexOf(from),
    ).length;
    const what = from === "error" ? "an error" : `a ${from} or worse`;
    if (count > 0) {
      reasons.push(
        `${count} ${count === 1 ? "finding is" : "findings are"} ${what} (\`outputs.findings.failOn: ${from}\`)`,
      );
    }
  }
  if (reasons.length === 0) return { kind: "passed" };
  const sentence = reasons.join(", and ");
  return { kind: "failed", reason: `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.` };
}
