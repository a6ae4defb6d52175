/** Markdown of agents is rendered. The RESULT of a workflow may be the output of a command: it is shown as it is. */
import { clip, cut } from "../../events/cut.ts";
import { memoryDiff } from "../../events/memory.ts";
import { worksOf, type GivenView, type RunView, type WorkView } from "../../events/view.ts";
import { collectOutputs } from "../../outputs/collect.ts";
import { countsText, findingsTable } from "../../outputs/findings-table.ts";
import { blobs } from "../../outputs/line-address.ts";
import { safeCell, safeMarkdown } from "../../outputs/safe-markdown.ts";
import { judge, verdictTitle } from "../../outputs/verdict.ts";
import { harmless } from "../text.ts";
import { code, fenced } from "./escape.ts";
import { fold, nameOf, type Section } from "./layout.ts";

/** A longer reason stands below the verdict. */
const MAX_OPEN_REASON = 120;
const MAX_REASON = 2000;
const MAX_TITLE = 400;
/** In UTF-16 units. */
const MAX_REPORT = 100_000;
const MAX_FINDINGS = 150_000;
const MAX_MEMORY = 20_000;

/** `Needs work: the error is lost`; what doesn't fit into a heading is `more`. Undefined: no agent gave a verdict. */
export function verdictText(
  view: RunView,
): { readonly title: string; readonly more: string } | undefined {
  const { verdict } = collectOutputs(view);
  if (verdict === undefined) return undefined;
  const title = verdictTitle(verdict);
  const reason = verdict.reason.trim();
  if (reason === "") return { title, more: "" };
  if (reason.length <= MAX_OPEN_REASON && !/[\r\n]/.test(reason))
    return { title: `${title}: ${safeCell(reason, { maxLength: 2 * MAX_REASON })}`, more: "" };
  return { title, more: safeMarkdown(reason, { maxLength: MAX_REASON, lowered: 3 }).text };
}

export function judgementText(view: RunView): string {
  if (view.status !== "succeeded") return "";
  const judgement = judge(collectOutputs(view), view.plan?.outputs);
  if (judgement.kind === "passed") return "";
  return `**Threshold reached:** ${safeCell(judgement.reason, { maxLength: MAX_REASON })}`;
}

export function findingsSection(view: RunView): Section {
  const { findings, omitted } = collectOutputs(view);
  const target = view.plan?.origin;
  const { text, left } = findingsTable(findings, { target, omitted, room: MAX_FINDINGS });
  return {
    name: "findings",
    rank: 2,
    heading: `### Findings: ${countsText(findings)}`,
    text: findings.length === 0 ? "" : text,
    isCut: left > omitted,
  };
}

export function memorySection({ plan, notes }: Pick<RunView, "plan" | "notes">): Section {
  const { memory } = plan ?? {};
  const lines = memory === undefined ? [] : memoryDiff(memory, notes);
  const file = code(memory?.file ?? "", 300);
  const unkept = "A rehearsal, a part of a job and a run for strangers keep no notes.";
  const note = memory?.isKept === true ? `Added to ${file}.` : `Not added to ${file}. ${unkept}`;
  const diff = fenced(cut(lines.join("\n"), MAX_MEMORY), "diff");
  const text = lines.length === 0 ? "" : `${note}\n\n${diff}`;
  return { name: "the memory", rank: 3, heading: "### Memory", text };
}

/** In the order in which tasks handed them in; then of other works. Only of the tasks that the job names, if it does. */
export function reportSections(view: RunView): readonly Section[] {
  const given = [...view.given.values()].flatMap((one): ReportText[] =>
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
    ? { text: fenced(clip(harmless(text).trim(), MAX_REPORT), "text"), whole: true }
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
