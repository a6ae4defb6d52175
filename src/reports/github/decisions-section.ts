/** The sections of the job summary with the decisions and the agents' messages. */
import { clip } from "../../events/cut.ts";
import { decisionTraits } from "../../events/decision.ts";
import {
  wentBadly,
  worksOf,
  type DecisionEntry,
  type RunView,
  type WorkView,
} from "../../events/view.ts";
import { harmless, plural } from "../text.ts";
import { code, fenced, inline } from "./escape.ts";
import {
  durationText,
  fold,
  lastItems,
  nameOf,
  result,
  tableHead,
  tableRow,
  wholeItems,
  type Section,
} from "./layout.ts";

const MAX_DECISION = 500;
const MAX_SAID = 2000;
/** Bytes that the rows of all works and of one work may have. */
const MAX_ROWS = 700_000;
const MIN_ROWS = 5_000;

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
      speaker === undefined || message === "" ? "" : fold(nameOf(speaker), fenced(message, "text")),
  };
}

/** Up to this many works that went well have a fold on the page; more share one. */
const SEPARATE = 8;

/**
 * A fold for each work, and one for the job: those that need a look first. Each also holds what the agent
 * last said in it, unless it is shown elsewhere.
 */
export function decisionSections(view: RunView): Section[] {
  const heading = "### Decisions";
  const works = worksOf(view).filter(
    (work) => shown(work.decisions).length > 0 || work.lastMessage !== undefined,
  );
  const calm = works.filter((work) => result(work).word === "succeeded");
  const others = works.filter((work) => result(work).word !== "succeeded");
  const room = Math.max(MIN_ROWS, Math.floor(MAX_ROWS / (others.length + 1)));
  const foldOf = (work: WorkView, rank: number): Section => {
    const name = `decisions of ${nameOf(work)}`;
    return { name, rank, heading, ...workFold(work, view, room) };
  };
  const sections = others
    .toSorted((a, b) => Number(wentBadly(b)) - Number(wentBadly(a)))
    .map((work) => foldOf(work, wentBadly(work) ? 4 : 8));
  if (shown(view.decisions).length > 0) {
    const count = shown(view.decisions).length + view.droppedDecisions;
    const { rows, isCut } = decisionTable(view, view.startedAt, room);
    const text = fold(`The job, ${plural(count, "decision")}`, rows);
    sections.unshift({ name: "decisions about the whole job", rank: 7, heading, text, isCut });
  }
  if (calm.length <= SEPARATE) return [...sections, ...calm.map((work) => foldOf(work, 9))];
  const folds = calm.map((work) => workFold(work, view, room));
  const texts = wholeItems(folds.map(({ text }) => `${text}\n\n`));
  const count = plural(calm.length, "work");
  return [
    ...sections,
    {
      name: `decisions of ${count} that succeeded`,
      rank: 9,
      heading,
      text: fold(`✓ ${count} that succeeded without a retry`, texts.join("").trimEnd()),
      isCut: texts.length < folds.length || folds.some(({ isCut }) => isCut),
    },
  ];
}

function shown(decisions: readonly DecisionEntry[]): readonly DecisionEntry[] {
  return decisions.filter(({ kind }) => decisionTraits(kind).audience.summary);
}

function workFold(
  work: WorkView,
  view: RunView,
  room: number,
): { readonly text: string; readonly isCut: boolean } {
  const { sign, word } = result(work);
  const count = shown(work.decisions).length + work.droppedDecisions;
  const counted = count === 0 ? "" : `, ${plural(count, "decision")}`;
  const isShown = work.workId === view.lastSpeaker || work.report !== undefined;
  const said = isShown ? "" : clip(harmless(work.lastMessage ?? "").trim(), MAX_SAID);
  const message = said === "" ? "" : `The agent's last message:\n\n${fenced(said, "text")}`;
  const { rows, isCut } = decisionTable(work, view.startedAt, room);
  const content = [rows, message].filter((text) => text !== "").join("\n\n");
  return { text: fold(`${nameOf(work)} ${sign} ${word}${counted}`, content), isCut };
}

const columns = ["Time:", "Category", "Decision"] as const;

/** The latest that fit into `room`, because they show the outcome. */
function decisionTable(
  { decisions, droppedDecisions }: Pick<WorkView, "decisions" | "droppedDecisions">,
  start = 0,
  room: number,
): { readonly rows: string; readonly isCut: boolean } {
  const all = shown(decisions).map((entry) => decisionRow(entry, start));
  const kept = lastItems(all, room);
  const missing = droppedDecisions + all.length - kept.length;
  if (missing > 0)
    kept.unshift(tableRow(["", "", `${plural(missing, "earlier decision")} omitted`]));
  const rows = kept.length === 0 ? "" : (tableHead(columns) + kept.join("")).trimEnd();
  return { rows, isCut: missing > 0 };
}

function decisionRow(
  { at, iteration, kind, category, answer, text }: DecisionEntry,
  start: number,
): string {
  const shownCategory = answer && kind === "task-failed" ? "ANSWERED NO" : category;
  const which = iteration > 1 ? `iteration ${iteration}: ` : "";
  return tableRow([
    durationText(at - start),
    code(shownCategory, 40),
    which + inline(text, MAX_DECISION),
  ]);
}
