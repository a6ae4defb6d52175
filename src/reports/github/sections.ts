/**
 * The sections of the job summary. Each can be rendered into a limited space. All text of an agent, a tool or
 * an entry goes through `inline`, `code` or `fenced`.
 */
import { statusSign } from "../../entry/mermaid.ts";
import {
  elapsedMs,
  itemsOf,
  itemsText,
  mostTelling,
  wentBadly,
  worksOf,
  type RunView,
  type WorkView,
} from "../../events/view.ts";
import { judgementText, verdictText } from "./findings-section.ts";
import { isDrawable } from "../flow-chart.ts";
import { code, fenced, inline } from "./escape.ts";
import {
  amountText,
  costText,
  durationText,
  result,
  resultText,
  table,
  unbroken,
} from "./layout.ts";
import { durationMs } from "./step-outputs.ts";
import { listSection, nameOf, type Section } from "./section.ts";
import { changeText, harmless, plural } from "../text.ts";

const MAX_REASON = 1000;
const MAX_FAILURES = 50;
const MAX_NAMES = 20;
/** The chart of a larger job is folded. */
const MAX_OPEN_CHART = 12;
const MAX_ROWS = 200;

export function headline(view: RunView, entryFile: string): string {
  const job = code(view.jobName === "" ? "(unnamed)" : view.jobName, 100);
  const { totals } = view;
  const facts = [
    code(entryFile, 200),
    plural(view.works.size, "work"),
    ...(view.plan?.change === undefined ? [] : [inline(changeText(view.plan.change), 100)]),
    durationText(durationMs(view)),
    plural(totals.modelCalls, "model call"),
    `${amountText(totals.inputTokens)} tokens in (${amountText(totals.cacheReadTokens)} cached)`,
    `${amountText(totals.outputTokens)} out`,
    ...(totals.cost > 0 ? [costText(totals.cost)] : []),
    ...(view.failedCommandCount > 0 ? [plural(view.failedCommandCount, "failed command")] : []),
  ].join(" · ");
  const reason = shownReason(view);
  const why = reason === undefined ? "" : `\n\n**Why:** ${inline(reason, MAX_REASON)}`;
  const advice = adviceOf(view, reason);
  const todo = advice === undefined ? "" : `\n\n**What to do:** ${inline(advice, MAX_REASON)}`;
  const result = `${statusSign(view.status)} ${resultText(view, job)}`;
  const verdict = verdictText(view);
  const more = verdict === undefined || verdict.more === "" ? "" : `\n\n${verdict.more}`;
  const judgement = judgementText(view);
  const threshold = judgement === "" ? "" : `\n\n${judgement}`;
  if (verdict === undefined) return `## ${result}${why}${todo}${threshold}\n\n<sub>${facts}</sub>`;
  // That agents failed is more than what they think.
  return view.status === "succeeded"
    ? `## ${verdict.title}${more}${threshold}\n\n<sub>${result} · ${facts}</sub>`
    : `## ${result}${why}${todo}\n\n### ${verdict.title}${more}\n\n<sub>${facts}</sub>`;
}

/** Of a rehearsal: why it failed itself, which the job's failures don't say. */
function shownReason(view: RunView): string | undefined {
  return view.jobOutcome === undefined ? (groupedReason(view) ?? view.reason) : view.reason;
}

/** Of the first failure that has some, if the reason that is shown doesn't contain it. */
function adviceOf(view: RunView, shown = ""): string | undefined {
  if (view.status === "succeeded") return undefined;
  const advice = view.advice ?? failed(view).find((work) => work.advice !== undefined)?.advice;
  return advice === undefined || shown.slice(0, MAX_REASON).includes(advice) ? undefined : advice;
}

/** Crashes, which stop the job, come before other failures; then what failed first. */
function failed(view: RunView): WorkView[] {
  const last = ({ status }: WorkView): number => Number(status !== "crashed");
  return worksOf(view)
    .filter(wentBadly)
    .sort((a, b) => last(a) - last(b) || (a.endedAt ?? 0) - (b.endedAt ?? 0));
}

/** Undefined: nothing failed for the same reason as something else. */
function groupedReason(view: RunView): string | undefined {
  // A crash stops the job, whatever failed before it.
  const groups = failureGroups(view).toSorted((a, b) => crashedFirst(a) - crashedFirst(b));
  if (view.status !== "failed" || groups.every(({ length }) => length === 1)) return undefined;
  return groups
    .slice(0, 3)
    .flatMap((works) => {
      const [first] = works;
      if (first === undefined) return [];
      const { taskId, status, reason } = first;
      const who =
        works.length === 1 ? `task "${taskId}"` : `${works.length} of ${view.works.size} tasks`;
      return [`${who} ${status}: ${reason ?? "no reason given"}`];
    })
    .join("; ");
}

function crashedFirst([work]: readonly WorkView[]): number {
  return work?.status === "crashed" ? 0 : 1;
}

/** Works that failed for the same reason are in one group. */
function failureGroups(view: RunView): readonly (readonly WorkView[])[] {
  const groups = new Map<string, WorkView[]>();
  for (const work of failed(view)) {
    const key = JSON.stringify([work.status, work.reason]);
    groups.set(key, [...(groups.get(key) ?? []), work]);
  }
  return [...groups.values()];
}

/** The works that failed, and why; those that failed for the same reason together. */
export function failuresSection(view: RunView): Section {
  const groups = failureGroups(view);
  const items = groups.slice(0, MAX_FAILURES).map(failureItem(view.works.size));
  const left = groups.slice(MAX_FAILURES).flat().length;
  if (left > 0) items.push(`- and ${left} more\n`);
  return listSection("failures", 1, `### Failures\n\n`, items);
}

function failureItem(all: number): (works: readonly WorkView[]) => string {
  return (works) => {
    const [first] = works;
    if (first === undefined) return "";
    const reason = inline(first.reason ?? "no reason given", MAX_REASON);
    if (works.length === 1) {
      const attempts =
        first.attempts > 1 && first.flow === undefined ? ` after ${first.attempts} attempts` : "";
      return `- ${nameOf(first)} ${first.status}${attempts}: ${reason}\n`;
    }
    const names = works.slice(0, MAX_NAMES).map(nameOf);
    if (names.length < works.length) names.push(`${works.length - names.length} more`);
    return `- ${works.length} of ${all} tasks ${first.status}: ${reason}\n  - ${names.join(", ")}\n`;
  };
}

/** What became of the items of each `Each`, those that failed first. */
export function itemsSection(view: RunView): Section {
  const rows = worksOf(view).flatMap((work) =>
    itemsOf(work).map(
      ({ name, status, reason, elapsedMs: took }) =>
        `| ${nameOf(work)} | ${code(name, 200)} | ${unbroken(status)} | ${inline(reason ?? "", 300)} | ${took === undefined ? "" : durationText(took)} |\n`,
    ),
  );
  const left = worksOf(view).reduce((sum, work) => sum + work.itemCount - work.items.size, 0);
  if (left > 0) rows.push(`| | and ${left} more | | | |\n`);
  const head = `### Items\n\n| Work | Item | Result | Why | Time |\n| --- | --- | --- | --- | ---: |\n`;
  return listSection("items", 4, head, rows);
}

export function chartSection(
  view: RunView,
  chart: (view: RunView) => string,
  isFolded: boolean,
): Section {
  let text: string;
  try {
    text = harmless(chart(view)).trim();
  } catch {
    text = "";
  }
  const fits = isDrawable(text);
  const shown = `${fenced(text, "mermaid")}\n\n<sub>${legend(view)}</sub>`;
  const count = view.works.size;
  const markdown =
    isFolded || count > MAX_OPEN_CHART
      ? `<details>\n<summary>The chart of ${plural(count, "work")}</summary>\n\n${shown}\n\n</details>`
      : shown;
  return {
    name: "the chart",
    rank: 3,
    empty: text === "",
    optional: true,
    render: (room) =>
      text === ""
        ? { text: "", whole: true }
        : fits && Buffer.byteLength(markdown) <= room
          ? { text: markdown, whole: true }
          : { text: "", whole: false },
  };
}

/** What the colors mean, of those that occur. */
function legend(view: RunView): string {
  const kinds = new Set<string>(worksOf(view).map((work) => result(work).word));
  const colors: readonly (readonly [string, readonly string[]])[] = [
    ["green", ["succeeded"]],
    ["yellow", ["retried"]],
    ["red", ["failed", "crashed"]],
    ["blue", ["running"]],
    ["light blue", ["answered no"]],
    ["dark gray", ["canceled"]],
    ["light gray", ["skipped"]],
  ];
  return colors
    .map(([color, words]) => [color, words.filter((word) => kinds.has(word)).join(" or ")] as const)
    .flatMap(([color, words]) => (words === "" ? [] : [`${color}: ${words}`]))
    .join(" · ");
}

export function worksSection(view: RunView): Section {
  const works = worksOf(view);
  const shown = mostTelling(works, MAX_ROWS);
  const rows = shown.map((work) => [
    String(work.workId),
    code(work.taskId, 80) + (work.itemCount > 0 ? ` ${inline(itemsText(work), 200)}` : ""),
    unbroken(`${result(work).sign} ${result(work).word}`),
    work.modelId === "" ? "" : code(work.modelId, 60),
    ...(work.runs === 0
      ? ["", "", "", ""]
      : [...numbers(work), durationText(elapsedMs(work, work.startedAt ?? 0))]),
  ]);
  const left = works.length - shown.length;
  if (left > 0) rows.push(["", `and ${left} more`, "", "", "", "", "", ""]);
  rows.push([
    "",
    "**Total**",
    "",
    "",
    ...[...numbers(view.totals), durationText(durationMs(view))].map((text) => `**${text}**`),
  ]);
  const text = `### Works\n\n${table(
    [
      ["#", "right"],
      ["Task", "left"],
      ["Result", "left"],
      ["Model", "left"],
      ["Attempts", "right"],
      ["Model calls", "right"],
      [unbroken("Tokens in / out"), "right"],
      ["Time", "right"],
    ],
    rows,
  )}`;
  return {
    name: "the table of works",
    rank: 2,
    empty: works.length === 0,
    render: (room) =>
      works.length === 0
        ? { text: "", whole: true }
        : Buffer.byteLength(text) <= room
          ? { text, whole: left === 0 }
          : { text: "", whole: false },
    ...(left > 0 ? { optional: true } : {}),
  };
}

function numbers(counters: RunView["totals"]): string[] {
  const { attempts, modelCalls, inputTokens, outputTokens } = counters;
  return [
    amountText(attempts),
    amountText(modelCalls),
    unbroken(`${amountText(inputTokens)} / ${amountText(outputTokens)}`),
  ];
}

/** What the run went on without. */
export function omissionsSection({ omissions }: RunView): Section {
  const items = omissions.map((one) => `- ${nameOf(one)}: ${inline(one.text, MAX_REASON)}\n`);
  return listSection("warnings", 2, "### Warnings\n\n", items);
}

export function denialsSection(view: RunView): Section {
  const { denials, totals } = view;
  const rows = denials.map(
    ({ workId, taskId, operation, target, reason, count }) =>
      `| ${nameOf({ workId, taskId })} | ${inline(operation, 40)} | ${code(target, 200)}${count > 1 ? ` ×${count}` : ""} | ${inline(reason, 300)} |\n`,
  );
  const counted = denials.reduce((sum, { count }) => sum + count, 0);
  if (counted < totals.denials) rows.push(`| | | and ${totals.denials - counted} more | |\n`);
  const head = `### Denied permissions\n\n| Task | Operation | Target | Why |\n| --- | --- | --- | --- |\n`;
  return listSection("denied permissions", 5, head, rows);
}

/** Failed commands of agents: often harmless, but sometimes the reason why an agent saw nothing. */
export function commandsSection({ failedCommands, failedCommandCount }: RunView): Section {
  const rows = failedCommands.map(
    ({ command, exitCode, output, count, ...work }) =>
      `| ${nameOf(work)} | ${code(command, 200)}${count > 1 ? ` ×${count}` : ""} | ${exitCode} | ${inline(output, 300)} |\n`,
  );
  const counted = failedCommands.reduce((sum, { count }) => sum + count, 0);
  const left = failedCommandCount - counted;
  if (left > 0) rows.push(`| | and ${left} more | | |\n`);
  const head = `### Failed commands\n\n| Task | Command | Exit code | Output |\n| --- | --- | ---: | --- |\n`;
  return listSection("failed commands", 5, head, rows);
}
