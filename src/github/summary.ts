/**
 * The job summary, which GitHub drops whole if it has more than 1 MiB. Foreign text goes through `text/harmless-text.ts`, but the
 * Markdown of agents is rendered. The RESULT of a workflow may be the output of a command: it is shown as it is.
 */
import { harmless, code, codeBlock, inline, sentence } from "../text/harmless-text.ts";
import {
  firstOf,
  plural,
  countText as amountText,
  costWords,
  durationText,
} from "../text/numbers.ts";
import { truncate } from "../text/truncate.ts";
import { diagnosticLine, type Diagnostic } from "../document/diagnostic.ts";
import { statusSign } from "../entry/mermaid.ts";
import { chartOf } from "../reports/flow-chart.ts";
import { memoryDiff } from "../events/memory.ts";
import {
  givenInOrder,
  worksOf,
  type GivenView,
  type RunView,
  type WorkView,
} from "../events/view.ts";
import { collectOutputs, previousOutcomes, previousOutcomeText } from "../outputs/collect.ts";
import { countsText, findingsTable } from "./comments.ts";
import { blobs } from "../outputs/line-address.ts";
import { safeCell, safeMarkdown } from "./markdown.ts";
import { judgementOf, verdictTitle, verdictWords } from "../outputs/verdict.ts";
import { changeText, instructionsText } from "../events/plan.ts";
import { deliveriesSection, refusedMarkdown, type Delivery } from "./delivery.ts";
import {
  chartDetail,
  fitting,
  fold,
  folded,
  listed,
  nameOf,
  resultText,
  type Content,
  type Section,
} from "./layout.ts";
import * as of from "./sections.ts";
import { durationMs, type Result } from "./step-outputs.ts";
import { actionSections, flowSections, isOneFlow } from "./work-sections.ts";

export interface SummaryOptions {
  readonly summary: "full" | "compact" | "off";
  /** Relative to the workspace, with `/`. */
  readonly entryFile: string;
  /** Mermaid. Default: the chart of what ran. */
  readonly chart?: (view: RunView) => string;
  readonly journal?: string | undefined;
  readonly rehearsal?: string | undefined;
  /** Known after the run: the page is written again then. */
  readonly deliveries?: readonly Delivery[];
}

/** Bytes of UTF-8. The rest up to 1 MiB is left for other text of the step. */
const LIMIT = 1_000_000;
const NOTE = 8_000;
const MAX_REASON = 1000;
const MAX_INSTRUCTIONS = 5000;
const MAX_MISSING = 20;

/** Never more than 1 MiB; empty for `off`. */
export function renderSummary(view: RunView, options: SummaryOptions): string {
  if (options.summary === "off") return "";
  const { deliveries = [] } = options;
  const [title = "", ...facts] = headline(view, options.entryFile);
  const refused = refusedMarkdown(deliveries);
  const always = [title, ...refused, ...facts, rehearsalNote(view, options.rehearsal)];
  const room = always.reduce((left, text) => left - Buffer.byteLength(text), LIMIT - NOTE);
  const { texts, missing } = fitting(
    [...sectionsOf(view, options), deliveriesSection(deliveries)],
    room,
  );
  const all = [...always, ...texts, noteOf(missing, options)];
  return `${all.filter((text) => text !== "").join("\n\n")}\n`;
}

const MAX_PROBLEMS = 10;

/** The summary of a step that ran no job. */
export function summaryWithoutRun(
  result: Result,
  reasons: readonly string[],
  problems: readonly Diagnostic[] = [],
): string {
  const shown = problems
    .slice(0, MAX_PROBLEMS)
    .map((problem) => `- ${sentence(diagnosticLine(problem), 1000)}`);
  const left = problems.length - shown.length;
  if (left > 0) shown.push(`- …and ${left} more, in the log`);
  const what = result === "skipped" ? "skipped, no agent was started" : result;
  const lines = reasons.flatMap((reason) => reason.split("\n"));
  return [
    `## agent-jobs: ${what}`,
    ...lines.map((line) => sentence(line, 2000)),
    ...(shown.length > 0 ? [shown.join("\n")] : []),
  ]
    .join("\n\n")
    .concat("\n");
}

function headline(view: RunView, entryFile: string): readonly string[] {
  const job = code(view.jobName === "" ? "(unnamed)" : view.jobName, 100);
  const result = `${statusSign(view.status)} ${resultText(view, job)}`;
  const { reason = "", advice = "", reportedDocument: document } = view;
  const verdict = verdictText(view);
  const instructions = instructionsText(view.plan?.instructions);
  // A failure is more important than a verdict.
  const isVerdictFirst = verdict !== undefined && view.status === "succeeded" && !view.rehearsed;
  return [
    `## ${isVerdictFirst ? verdict.title : result}`,
    reason === "" ? "" : `**Why:** ${inline(reason, MAX_REASON)}`,
    advice === "" || reason.slice(0, MAX_REASON).includes(advice)
      ? ""
      : `**What to do:** ${sentence(advice, MAX_REASON)}`,
    verdict === undefined || isVerdictFirst ? "" : `### ${ofScript(view)}${verdict.title}`,
    verdict?.more ?? "",
    judgementText(view),
    document === undefined ? "" : `**Reported document:** ${inline(document, MAX_REASON)}`,
    ...(view.plan?.change?.notes ?? []).map((note) => `**Change:** ${inline(note, MAX_REASON)}`),
    instructions === "" ? "" : `**Instructions:** ${inline(instructions, MAX_INSTRUCTIONS)}`,
    `<sub>${isVerdictFirst ? `${result} · ` : ""}${factsOf(view, entryFile)}</sub>`,
  ];
}

/** The words of a script must not look like a judgement of the checkout. */
function ofScript({ rehearsed }: RunView): string {
  return rehearsed ? "In the script: " : "";
}

function factsOf(view: RunView, entryFile: string): string {
  const { totals, plan, works, failedCommandCount } = view;
  return [
    code(entryFile, 200),
    plural(works.size, "step"),
    ...(plan?.change === undefined ? [] : [inline(changeText(plan.change), 100)]),
    durationText(durationMs(view)),
    plural(totals.modelCalls, "model call"),
    `${amountText(totals.inputTokens)} tokens in (${amountText(totals.cacheReadTokens)} cached)`,
    `${amountText(totals.outputTokens)} out`,
    ...costWords(totals, (modelId) => code(modelId, 200)),
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

function sectionsOf(
  view: RunView,
  { summary, chart = chartWithDetails }: SummaryOptions,
): readonly Section[] {
  const script = ofScript(view);
  const section = (name: string, rank: number, title: string, content: Content): Section => ({
    name,
    rank,
    heading: `### ${title}`,
    ...content,
  });
  const { findings } = collectOutputs(view);
  const results = [
    section("failures", 1, "Failures", of.failures(view)),
    section("warnings", 2, "Warnings", of.omissions(view)),
    ...(summary === "compact" ? [] : reportSections(view)),
    section("findings", 2, `${script}Findings: ${countsText(findings)}`, findingsOf(view)),
    section(
      "the earlier findings",
      2,
      `${script}Earlier findings: ${previousCounts(view)}`,
      previous(view),
    ),
  ];
  const steps = section("the table of steps", 2, "Steps", of.worksTable(view));
  if (summary === "compact") return [...results, steps];
  // If there are results, the way to them is folded away.
  const hasResults =
    verdictText(view) !== undefined || results.slice(2, -1).some(({ text }) => text !== "");
  const below = (one: Section): Section => (hasResults ? folded(one) : one);
  return [
    ...results,
    section("the memory", 3, "Memory", memory(view)),
    below(steps),
    below(section("items", 4, "Items", of.items(view))),
    ...(isOneFlow(view) ? [] : [below(section("the chart", 3, "Chart", of.chart(chart(view))))]),
    ...flowSections(view),
    ...actionSections(view),
    below(section("denied permissions", 5, "Denied permissions", of.denials(view))),
    below(section("failed commands", 5, "Failed commands", of.commands(view))),
    section("the last message of the agent", 6, "Last message of the agent", of.finalMessage(view)),
    ...of.decisionSections(view),
  ];
}

export function chartWithDetails(view: RunView): string {
  return chartOf(view, (workId) => chartDetail(view, workId));
}

function noteOf(missing: readonly string[], { journal, summary }: SummaryOptions): string {
  const where = journal === undefined ? "" : `The journal with every event: ${code(journal, 300)}.`;
  if (missing.length === 0)
    return summary === "compact" || where === "" ? "" : `<sub>${where}</sub>`;
  const unkept = where === "" ? "Set the input <code>journal</code> to keep them." : where;
  return `**Omitted or shortened:** ${firstOf(missing, MAX_MISSING)}. ${unkept}`;
}

/** A longer reason stands below the verdict. */
const MAX_OPEN_REASON = 120;
const MAX_VERDICT = 2000;
const MAX_TITLE = 400;
const MAX_REPORT = 100_000;
const MAX_FINDINGS = 150_000;
const MAX_MEMORY = 20_000;

/** `Needs work: the error is lost`; what doesn't fit into a heading is `more`. Undefined: no agent gave a verdict. */
function verdictText(view: RunView): { readonly title: string; readonly more: string } | undefined {
  const { verdict } = collectOutputs(view);
  if (verdict === undefined) return undefined;
  const title = view.rehearsed ? verdictWords[verdict.verdict] : verdictTitle(verdict);
  const reason = verdict.reason.trim();
  if (reason === "") return { title, more: "" };
  if (reason.length <= MAX_OPEN_REASON && !/[\r\n]/.test(reason))
    return { title: `${title}: ${safeCell(reason, { maxLength: 2 * MAX_VERDICT })}`, more: "" };
  return { title, more: safeMarkdown(reason, { maxLength: MAX_VERDICT, lowered: 3 }).text };
}

function judgementText(view: RunView): string {
  // A rehearsal is judged by its expectations.
  if (view.rehearsed) return "";
  const judgement = judgementOf(view);
  const [title, text] =
    judgement.kind === "failed"
      ? ["Threshold reached", judgement.reason]
      : ["Warning", judgement.warning ?? ""];
  return text === "" ? "" : `**${title}:** ${safeCell(text, { maxLength: MAX_VERDICT })}`;
}

function findingsOf(view: RunView): Content {
  const { findings, omitted } = collectOutputs(view);
  const target = view.rehearsed ? undefined : view.plan?.origin;
  const { text, left } = findingsTable(findings, { target, omitted, room: MAX_FINDINGS });
  return { text: findings.length === 0 ? "" : text, isCut: left > omitted };
}

function previousCounts(view: RunView): string {
  const counts = (["resolved", "answered", "dismissed"] as const).flatMap((kind) => {
    const { length } = previousOutcomes(view).filter((one) => one.kind === kind);
    return length === 0 ? [] : [`${length} ${kind}`];
  });
  return counts.join(", ");
}

function previous(view: RunView): Content {
  const items = previousOutcomes(view).map((one) => {
    const place = safeCell(previousOutcomeText(one), { maxLength: 400 });
    return `- ${place}: ${safeCell(one.text, { maxLength: MAX_REASON })}\n`;
  });
  return listed(items);
}

function memory({ plan, notes }: Pick<RunView, "plan" | "notes">): Content {
  const kept = plan?.memory;
  const lines = kept === undefined ? [] : memoryDiff(kept, notes);
  if (lines.length === 0) return { text: "" };
  const file = code(kept?.file ?? "", 300);
  const unkept = "Rehearsals, parts of a job and runs for untrusted users keep no notes.";
  const note = kept?.isKept === true ? `Added to ${file}.` : `Not added to ${file}. ${unkept}`;
  return { text: `${note}\n\n${codeBlock(truncate(lines.join("\n"), MAX_MEMORY), "diff")}` };
}

/** Reports of tasks, and then RESULTs and responses. The job may name the tasks. */
function reportSections(view: RunView): readonly Section[] {
  const given = givenInOrder(view).flatMap(([, one]): ReportText[] =>
    one.report === undefined
      ? []
      : [{ source: sourceOf(one), title: one.report.title, text: one.report.markdown, work: one }],
  );
  const handedIn = new Set(given.map(({ work, text }) => JSON.stringify([work.workId, text])));
  const others = worksOf(view).flatMap((work): ReportText[] => {
    const text = work.report ?? "";
    const isShown = text.trim() === "" || handedIn.has(JSON.stringify([work.workId, text]));
    if (isShown) return [];
    const isPlain = work.flow !== undefined;
    return [
      { source: `${isPlain ? "RESULT" : "Response"} of ${nameOf(work)}`, text, work, isPlain },
    ];
  });
  const { origin, outputs } = view.plan ?? {};
  const from = outputs?.report?.from;
  const all = [...given, ...others].filter(({ work }) => from?.includes(work.taskId) !== false);
  const allowedLinks = origin === undefined ? [] : [blobs(origin)];
  return all.map((one) => reportSection(one, all.length === 1, allowedLinks));
}

function sourceOf({ items, ...work }: GivenView): string {
  return nameOf(work) + items.map((one) => ` ${code(one, 100)}`).join(" ›");
}

interface ReportText {
  readonly source: string;
  readonly title?: string | undefined;
  readonly text: string;
  readonly work: Pick<WorkView, "workId" | "taskId">;
  readonly isPlain?: boolean;
}

function reportSection(
  { source, title = "", text, work, isPlain = false }: ReportText,
  isOnly: boolean,
  allowedLinks: readonly string[],
): Section {
  const safe = isPlain
    ? { text: codeBlock(truncate(harmless(text).trim(), MAX_REPORT, "…"), "text"), whole: true }
    : safeMarkdown(text, { allowedLinks, lowered: 3, maxLength: MAX_REPORT });
  const shown = safe.whole ? safe.text : `${safe.text}\n\n…`;
  const name = safeCell("", { maxLength: MAX_TITLE, title: title.slice(0, MAX_TITLE / 2) });
  const content = `${name}\n\n${shown}`.trim();
  const placed = isOnly ? `${source}\n\n${content}` : fold(source, content);
  return {
    name: `the report of ${nameOf(work)}`,
    rank: 3,
    heading: isOnly ? "### Report" : "### Reports",
    text: text.trim() === "" ? "" : placed,
    isCut: !safe.whole,
  };
}
