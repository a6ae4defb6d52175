/** What a run found: the verdict and the findings of its agents. */
import type { RunView } from "../../events/view.ts";
import { collectOutputs } from "../../outputs/collect.ts";
import { countsText, findingsTable } from "../../outputs/findings-table.ts";
import { safeCell, safeMarkdown } from "../../outputs/safe-markdown.ts";
import { judge, verdictTitle } from "../../outputs/verdict.ts";
import type { Section } from "./section.ts";

/** A longer reason stands below the verdict. */
const MAX_TITLE = 120;
const MAX_REASON = 2000;

/** `Needs work: the error is lost`; what doesn't fit into a heading is `more`. Undefined: no agent gave a verdict. */
export function verdictText(
  view: RunView,
): { readonly title: string; readonly more: string } | undefined {
  const { verdict } = collectOutputs(view);
  if (verdict === undefined) return undefined;
  const title = verdictTitle(verdict);
  const reason = verdict.reason.trim();
  if (reason === "") return { title, more: "" };
  if (reason.length <= MAX_TITLE && !/[\r\n]/.test(reason))
    return { title: `${title}: ${safeCell(reason, { maxLength: 2 * MAX_REASON })}`, more: "" };
  return { title, more: safeMarkdown(reason, { maxLength: MAX_REASON, lowered: 3 }).text };
}

/** Why the verdict or the findings let the step fail, as far as the entry says; empty if they don't. */
export function judgementText(view: RunView): string {
  if (view.status !== "succeeded") return "";
  const judgement = judge(collectOutputs(view), view.plan?.outputs);
  if (judgement.kind === "passed") return "";
  return `**Threshold reached:** ${safeCell(judgement.reason, { maxLength: MAX_REASON })}`;
}

export function findingsSection(view: RunView): Section {
  const { findings, omitted } = collectOutputs(view);
  const heading = `### Findings: ${countsText(findings)}\n\n`;
  return {
    name: "findings",
    rank: 2,
    empty: findings.length === 0,
    render: (room) => {
      if (findings.length === 0) return { text: "", whole: true };
      const { text, left } = findingsTable(findings, {
        target: view.plan?.origin,
        omitted,
        room: room - Buffer.byteLength(heading),
        sizeOf: (text) => Buffer.byteLength(text),
      });
      return { text: text === "" ? "" : heading + text, whole: left === omitted };
    },
  };
}
