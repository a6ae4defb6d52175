/** The contents of the sections of a job summary that are about its steps. */
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
  listed,
  nameOf,
  result,
  tabled,
  tableHead,
  tableRow,
  type Content,
  type Section,
} from "./layout.ts";
import { durationMs } from "./step-outputs.ts";

const MAX_REASON = 1000;
const MAX_NAMES = 20;
const MAX_ROWS = 200;

/** The works that failed, and why, in the order of their ends; those that failed for the same reason together. */
export function failures(view: RunView): Content {
  const groups = new Map<string, string[]>();
  const failed = [...view.works.values()].filter(isFailure);
  for (const work of failed.sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))) {
    const why = `${work.status}: ${inline(work.reason ?? "no reason given", MAX_REASON)}`;
    groups.set(why, [...(groups.get(why) ?? []), nameOf(work)]);
  }
  return listed([...groups].map(([why, names]) => `- ${firstOf(names, MAX_NAMES)} ${why}\n`));
}

export function omissions(view: RunView): Content {
  return listed(view.omissions.map((one) => `- ${nameOf(one)}: ${inline(one.text, MAX_REASON)}\n`));
}

const columns = [
  "#:",
  "Task",
  "Result",
  "Model",
  "Attempts:",
  "Model calls:",
  unbroken("Tokens in / out:"),
  "Time:",
];

export function worksTable(view: RunView): Content {
  const works = worksOf(view);
  if (works.length === 0) return { text: "" };
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
  const total = view.rehearsed ? "**Total, rehearsed**" : "**Total**";
  const totals = [...numbers(view.totals), durationText(durationMs(view))];
  rows.push(["", total, "", "", ...totals.map((text) => `**${text}**`)]);
  return {
    text: tableHead(columns)
      .concat(...rows.map(tableRow))
      .trimEnd(),
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

export function items(view: RunView): Content {
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
  const left = works.reduce((sum, work) => sum + work.itemCount - work.items.size, 0);
  return tabled(["Step", "Item", "Result", "Why", "Time:"], rows, left);
}

export function chart(mermaid: string): Content {
  const drawing = harmless(mermaid).trim();
  const isShown = drawing !== "" && isDrawable(drawing);
  const isCut = drawing !== "" && !isShown;
  return { text: isShown ? codeBlock(drawing, "mermaid") : "", isCut };
}

export function denials({ denials: all, totals }: RunView): Content {
  const rows = all.map(({ operation, target, reason, count, ...work }) => [
    nameOf(work),
    inline(operation, 40),
    code(target, 200) + times(count),
    inline(reason, 300),
  ]);
  return tabled(["Task", "Operation", "Target", "Why"], rows, totals.denials - countOf(all));
}

/** Failed commands of agents: often harmless, but sometimes the reason why an agent saw nothing. */
export function commands({ failedCommands: all, failedCommandCount }: RunView): Content {
  const rows = all.map(({ command, exitCode, output, count, ...work }) => [
    nameOf(work),
    code(command, 200) + times(count),
    String(exitCode),
    inline(output, 300),
  ]);
  return tabled(
    ["Task", "Command", "Exit code:", "Output"],
    rows,
    failedCommandCount - countOf(all),
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

export function finalMessage(view: RunView): Content {
  const speaker = view.lastSpeaker === undefined ? undefined : view.works.get(view.lastSpeaker);
  // The RESULT of a workflow, or the response of a task with actions, is shown instead.
  const said = speaker?.report === undefined ? speaker?.lastMessage : undefined;
  const message = harmless(said ?? "").trim();
  if (speaker === undefined || message === "") return { text: "" };
  return { text: fold(nameOf(speaker), codeBlock(message, "text")) };
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
