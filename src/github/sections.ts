import { truncate } from "../text/truncate.ts";
import {
  elapsedMs,
  itemsOf,
  itemsText,
  failuresFirst,
  isFailure,
  worksOf,
  type DecisionEntry,
  type RunView,
  type WorkView,
} from "../events/view.ts";
import { isDrawable } from "../reports/flow-chart.ts";
import { harmless, oneLine, code, codeBlock, inline } from "../text/harmless-text.ts";
import {
  clockText,
  firstOf,
  plural,
  countText as amountText,
  durationText,
  unbroken,
} from "../text/numbers.ts";
import {
  fold,
  lastItems,
  listSection,
  nameOf,
  result,
  tableSection,
  tableHead,
  tableRow,
  type Section,
} from "./layout.ts";
import { durationMs } from "./step-outputs.ts";

const MAX_REASON = 1000;
const MAX_NAMES = 20;
const MAX_ROWS = 200;

/** The works that failed, and why, in the order of their ends; those that failed for the same reason together. */
export function failuresSection(view: RunView): Section {
  const groups = new Map<string, WorkView[]>();
  const failed = [...view.works.values()].filter(isFailure);
  for (const work of failed.sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))) {
    const why = `${work.status}: ${inline(work.reason ?? "no reason given", MAX_REASON)}`;
    groups.set(why, [...(groups.get(why) ?? []), work]);
  }
  const items = [...groups].map(
    ([why, works]) => `- ${firstOf(works.map(nameOf), MAX_NAMES)} ${why}\n`,
  );
  return listSection({ name: "failures", rank: 1, heading: "### Failures" }, items);
}

export function omissionsSection({ omissions }: RunView): Section {
  const items = omissions.map((one) => `- ${nameOf(one)}: ${inline(one.text, MAX_REASON)}\n`);
  return listSection({ name: "warnings", rank: 2, heading: "### Warnings" }, items);
}

export function worksSection(view: RunView): Section {
  const works = worksOf(view);
  const shown = failuresFirst(works, MAX_ROWS);
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
  rows.push([
    "",
    view.rehearsed ? "**Total, rehearsed**" : "**Total**",
    "",
    "",
    ...totals.map((text) => `**${text}**`),
  ]);
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
    name: "the table of steps",
    rank: 2,
    heading: "### Steps",
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
    ["Step", "Item", "Result", "Why", "Time:"],
    rows,
    works.reduce((sum, work) => sum + work.itemCount - work.items.size, 0),
  );
}

export function chartSection(view: RunView, chart: (view: RunView) => string): Section {
  const drawing = harmless(chart(view)).trim();
  const isShown = drawing !== "" && isDrawable(drawing);
  return {
    name: "the chart",
    rank: 3,
    heading: "### Chart",
    text: isShown ? codeBlock(drawing, "mermaid") : "",
    isCut: drawing !== "" && !isShown,
  };
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

const MAX_DECISION = 500;
const MAX_SAID = 2000;
/** Bytes of the decisions of one work. */
const MAX_DECISIONS = 20_000;

export function finalMessageSection(view: RunView): Section {
  const speaker = view.lastSpeaker === undefined ? undefined : view.works.get(view.lastSpeaker);
  // The RESULT of a workflow, or the response of a task with actions, is shown instead.
  const said = speaker?.report === undefined ? speaker?.lastMessage : undefined;
  const message = harmless(said ?? "").trim();
  return {
    name: "the last message of the agent",
    rank: 6,
    heading: "### Last message of the agent",
    text:
      speaker === undefined || message === ""
        ? ""
        : fold(nameOf(speaker), codeBlock(message, "text")),
  };
}

/** Failures come first. The last message of the agent is added, unless it is shown elsewhere. */
export function decisionSections(view: RunView): Section[] {
  const start = view.startedAt ?? 0;
  const works = worksOf(view).toSorted((a, b) => Number(isFailure(b)) - Number(isFailure(a)));
  return [
    decisionSection("The job", view, start, 7),
    ...works.map((work) => {
      const { sign, word } = result(work);
      const isShown = work.workId === view.lastSpeaker || work.report !== undefined;
      const said = isShown ? "" : harmless(work.lastMessage ?? "").trim();
      const title = `${nameOf(work)} ${sign} ${word}`;
      return decisionSection(title, work, start, isFailure(work) ? 4 : 9, said);
    }),
  ];
}

/** The latest decisions that fit, because they show the outcome. They look like lines of the log. */
function decisionSection(
  title: string,
  { decisions, droppedDecisions }: Pick<WorkView, "decisions" | "droppedDecisions">,
  start: number,
  rank: number,
  said = "",
): Section {
  const kept = lastItems(
    decisions.map((entry) => decisionLine(entry, start)),
    MAX_DECISIONS,
  );
  const count = decisions.length + droppedDecisions;
  const missing = count - kept.length;
  if (missing > 0) kept.unshift(`… ${plural(missing, "earlier decision")} omitted\n`);
  const content = [
    ...(kept.length === 0 ? [] : [codeBlock(kept.join(""), "text")]),
    ...(said === ""
      ? []
      : [`The agent's last message:\n\n${codeBlock(truncate(said, MAX_SAID, "…"), "text")}`]),
  ].join("\n\n");
  const counted = count === 0 ? "" : `, ${plural(count, "decision")}`;
  return {
    name: `decisions: ${title}`,
    rank,
    heading: "### Decisions",
    text: content === "" ? "" : fold(`${title}${counted}`, content),
    isCut: missing > 0,
  };
}

function decisionLine(
  { at, iteration, kind, category, answer, text }: DecisionEntry,
  start: number,
): string {
  const prefix = answer && kind === "task-failed" ? "ANSWERED NO" : category;
  const which = iteration > 1 ? `iteration ${iteration}: ` : "";
  return `${clockText(at - start)} ${which}[${prefix}] ${oneLine(text, MAX_DECISION)}\n`;
}
