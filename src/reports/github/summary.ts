/** The job summary, which GitHub drops whole if it has more than 1 MiB. Foreign text goes through `escape.ts`. */
import { statusSign } from "../../entry/mermaid.ts";
import type { RunView } from "../../events/view.ts";
import { changeText, plural } from "../text.ts";
import { actionSections } from "./action-sections.ts";
import { code, inline } from "./escape.ts";
import { flowSections, isOneFlow } from "./flow-sections.ts";
import {
  amountText,
  costText,
  durationText,
  fitting,
  folded,
  resultText,
  type Section,
} from "./layout.ts";
import {
  findingsSection,
  judgementText,
  memorySection,
  reportSections,
  verdictText,
} from "./result-sections.ts";
import {
  chartSection,
  commandsSection,
  decisionSections,
  denialsSection,
  failuresSection,
  finalMessageSection,
  itemsSection,
  omissionsSection,
  worksSection,
} from "./sections.ts";
import { durationMs } from "./step-outputs.ts";

export interface SummaryOptions {
  readonly summary: "full" | "compact" | "off";
  /** Relative to the workspace, with `/`. */
  readonly entryFile: string;
  readonly chart: (view: RunView) => string;
  readonly journal?: string;
  readonly rehearsal?: string;
}

/** In bytes of UTF-8. The rest up to 1 MiB is left for other text of the step. */
const LIMIT = 1_000_000;
const NOTE = 8_000;
const MAX_REASON = 1000;
const MAX_MISSING = 20;

/** Never more than 1 MiB; empty for `off`. */
export function renderSummary(view: RunView, options: SummaryOptions): string {
  if (options.summary === "off") return "";
  const always = [...headline(view, options.entryFile), rehearsalNote(view, options.rehearsal)];
  const room = always.reduce((left, text) => left - Buffer.byteLength(text), LIMIT - NOTE);
  const { texts, missing } = fitting(sectionsOf(view, options), room);
  const all = [...always, ...texts, noteOf(missing, options)];
  return `${all.filter((text) => text !== "").join("\n\n")}\n`;
}

function headline(view: RunView, entryFile: string): readonly string[] {
  const job = code(view.jobName === "" ? "(unnamed)" : view.jobName, 100);
  const result = `${statusSign(view.status)} ${resultText(view, job)}`;
  const { reason = "", advice = "" } = view;
  const verdict = verdictText(view);
  // That agents failed is more than what they think.
  const isVerdictFirst = verdict !== undefined && view.status === "succeeded";
  return [
    `## ${isVerdictFirst ? verdict.title : result}`,
    reason === "" ? "" : `**Why:** ${inline(reason, MAX_REASON)}`,
    advice === "" || reason.slice(0, MAX_REASON).includes(advice)
      ? ""
      : `**What to do:** ${inline(advice, MAX_REASON)}`,
    verdict === undefined || isVerdictFirst ? "" : `### ${verdict.title}`,
    verdict?.more ?? "",
    judgementText(view),
    `<sub>${isVerdictFirst ? `${result} · ` : ""}${factsOf(view, entryFile)}</sub>`,
  ];
}

function factsOf(view: RunView, entryFile: string): string {
  const { totals, plan, works, failedCommandCount } = view;
  return [
    code(entryFile, 200),
    plural(works.size, "work"),
    ...(plan?.change === undefined ? [] : [inline(changeText(plan.change), 100)]),
    durationText(durationMs(view)),
    plural(totals.modelCalls, "model call"),
    `${amountText(totals.inputTokens)} tokens in (${amountText(totals.cacheReadTokens)} cached)`,
    `${amountText(totals.outputTokens)} out`,
    ...(totals.cost > 0 ? [costText(totals.cost)] : []),
    ...(failedCommandCount > 0 ? [plural(failedCommandCount, "failed command")] : []),
  ].join(" · ");
}

function rehearsalNote({ status, jobOutcome }: RunView, file: string | undefined): string {
  if (file === undefined) return "";
  const asExpected =
    status === "succeeded" && jobOutcome !== undefined && jobOutcome.kind !== "succeeded"
      ? ` The job ${jobOutcome.kind === "failed" ? "failed" : `was ${jobOutcome.kind}`}, as the rehearsal expects: ${inline(jobOutcome.reason, MAX_REASON)}`
      : "";
  return `**Rehearsal:** ${code(file, 200)} played the model; no model was asked.${asExpected}`;
}

function sectionsOf(view: RunView, { summary, chart }: SummaryOptions): readonly Section[] {
  const why = [failuresSection(view), omissionsSection(view)];
  const findings = findingsSection(view);
  if (summary === "compact") return [...why, findings, worksSection(view)];
  const reports = reportSections(view);
  // How it came to what it is about is only a click away; without that, it is what the page is about.
  const hasResults = findings.text !== "" || reports.length > 0 || verdictText(view) !== undefined;
  const below = (section: Section): Section => (hasResults ? folded(section) : section);
  return [
    ...why,
    ...reports,
    findings,
    memorySection(view),
    below(worksSection(view)),
    below(itemsSection(view)),
    ...(isOneFlow(view) ? [] : [below(chartSection(view, chart))]),
    ...flowSections(view),
    ...actionSections(view),
    below(denialsSection(view)),
    below(commandsSection(view)),
    finalMessageSection(view),
    ...decisionSections(view),
  ];
}

function noteOf(missing: readonly string[], { journal, summary }: SummaryOptions): string {
  const where = journal === undefined ? "" : `The journal with every event: ${code(journal, 300)}.`;
  if (missing.length === 0)
    return summary === "compact" || where === "" ? "" : `<sub>${where}</sub>`;
  const names = missing.slice(0, MAX_MISSING);
  if (names.length < missing.length) names.push(`${missing.length - names.length} more`);
  const unkept = where === "" ? "Set the input <code>journal</code> to keep them." : where;
  return `**Omitted or shortened:** ${names.join(", ")}. ${unkept}`;
}
