/** The sections of the job summary about all works: what failed, the works, their items, the chart, denials. */
import {
  elapsedMs,
  itemsOf,
  itemsText,
  mostTelling,
  worksOf,
  type RunView,
} from "../../events/view.ts";
import { isDrawable } from "../flow-chart.ts";
import { harmless, plural } from "../text.ts";
import { code, fenced, inline } from "./escape.ts";
import { failureGroups, type FailureGroup } from "./headline.ts";
import {
  amountText,
  durationText,
  fold,
  listSection,
  nameOf,
  result,
  tableSection,
  tableHead,
  tableRow,
  unbroken,
  type Section,
} from "./layout.ts";
import { durationMs } from "./step-outputs.ts";

const MAX_REASON = 1000;
const MAX_FAILURES = 50;
const MAX_NAMES = 20;
/** The chart of a larger job is folded. */
const MAX_OPEN_CHART = 12;
const MAX_ROWS = 200;

/** The works that failed, and why; those that failed for the same reason together. */
export function failuresSection(view: RunView): Section {
  const groups = failureGroups(view);
  const items = groups
    .slice(0, MAX_FAILURES)
    .map((group) => `- ${failureText(group, view.works.size)}\n`);
  const left = groups.slice(MAX_FAILURES).flatMap(({ works }) => works).length;
  if (left > 0) items.push(`- and ${left} more\n`);
  return listSection({ name: "failures", rank: 1, heading: "### Failures" }, items);
}

function failureText({ first, works }: FailureGroup, all: number): string {
  const reason = inline(first.reason ?? "no reason given", MAX_REASON);
  if (works.length === 1) {
    const attempts =
      first.attempts > 1 && first.flow === undefined ? ` after ${first.attempts} attempts` : "";
    return `${nameOf(first)} ${first.status}${attempts}: ${reason}`;
  }
  const names = works.slice(0, MAX_NAMES).map(nameOf);
  if (names.length < works.length) names.push(`${works.length - names.length} more`);
  return `${works.length} of ${all} tasks ${first.status}: ${reason}\n  - ${names.join(", ")}`;
}

/** What the run went on without. */
export function omissionsSection({ omissions }: RunView): Section {
  const items = omissions.map((one) => `- ${nameOf(one)}: ${inline(one.text, MAX_REASON)}\n`);
  return listSection({ name: "warnings", rank: 2, heading: "### Warnings" }, items);
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
  const totals = [...numbers(view.totals), durationText(durationMs(view))];
  rows.push(["", "**Total**", "", "", ...totals.map((text) => `**${text}**`)]);
  const text = tableHead([
    "#:",
    "Task",
    "Result",
    "Model",
    "Attempts:",
    "Model calls:",
    unbroken("Tokens in / out:"),
    "Time:",
  ]).concat(...rows.map(tableRow));
  return {
    name: "the table of works",
    rank: 2,
    heading: "### Works",
    text: works.length === 0 ? "" : text.trimEnd(),
    isCut: left > 0,
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

/** What became of the items of each `Each`, those that failed first. */
export function itemsSection(view: RunView): Section {
  const works = worksOf(view);
  const rows = works.flatMap((work) =>
    itemsOf(work).map(({ name, status, reason, elapsedMs: took }) => [
      nameOf(work),
      code(name, 200),
      unbroken(status),
      inline(reason ?? "", 300),
      took === undefined ? "" : durationText(took),
    ]),
  );
  return tableSection(
    { name: "items", rank: 4, heading: "### Items" },
    ["Work", "Item", "Result", "Why", "Time:"],
    rows,
    works.reduce((sum, work) => sum + work.itemCount - work.items.size, 0),
  );
}

export function chartSection(
  view: RunView,
  chart: (view: RunView) => string,
  isFolded: boolean,
): Section {
  let drawing = "";
  try {
    drawing = harmless(chart(view)).trim();
  } catch {
    // Everything else is still worth reading.
  }
  const shown = `${fenced(drawing, "mermaid")}\n\n<sub>${legend(view)}</sub>`;
  const count = view.works.size;
  const text =
    isFolded || count > MAX_OPEN_CHART
      ? fold(`The chart of ${plural(count, "work")}`, shown)
      : shown;
  const isShown = drawing !== "" && isDrawable(drawing);
  const isCut = drawing !== "" && !isShown;
  return { name: "the chart", rank: 3, text: isShown ? text : "", isCut };
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

export function denialsSection({ denials, totals }: RunView): Section {
  return tableSection(
    { name: "denied permissions", rank: 5, heading: "### Denied permissions" },
    ["Task", "Operation", "Target", "Why"],
    denials.map(({ operation, target, reason, count, ...work }) => [
      nameOf(work),
      inline(operation, 40),
      code(target, 200) + times(count),
      inline(reason, 300),
    ]),
    totals.denials - countOf(denials),
  );
}

/** Failed commands of agents: often harmless, but sometimes the reason why an agent saw nothing. */
export function commandsSection({ failedCommands, failedCommandCount }: RunView): Section {
  return tableSection(
    { name: "failed commands", rank: 5, heading: "### Failed commands" },
    ["Task", "Command", "Exit code:", "Output"],
    failedCommands.map(({ command, exitCode, output, count, ...work }) => [
      nameOf(work),
      code(command, 200) + times(count),
      String(exitCode),
      inline(output, 300),
    ]),
    failedCommandCount - countOf(failedCommands),
  );
}

function times(count: number): string {
  return count > 1 ? ` ×${count}` : "";
}

function countOf(all: readonly { readonly count: number }[]): number {
  return all.reduce((sum, { count }) => sum + count, 0);
}
