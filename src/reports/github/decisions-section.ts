/** The sections of the job summary with the decisions and the agents' messages. */
import { decisionTraits } from "../../events/decision.ts";
import {
  wentBadly,
  worksOf,
  type DecisionEntry,
  type RunView,
  type WorkView,
} from "../../events/view.ts";
import { code, fenced, inline } from "./escape.ts";
import { durationText, result, wholeItems } from "./layout.ts";
import { nameOf, type Section } from "./section.ts";
import { harmless, plural } from "../text.ts";
import { clip } from "../../events/cut.ts";

const MAX_DECISION = 500;
const MAX_SAID = 2000;

/** The last message of the agent, unchanged. */
export function finalMessageSection(view: RunView): Section {
  const speaker = view.lastSpeaker === undefined ? undefined : view.works.get(view.lastSpeaker);
  // The RESULT of a workflow, or the response of a task with actions, is shown instead.
  const said = speaker?.report === undefined ? speaker?.lastMessage : undefined;
  const message = harmless(said ?? "").trim();
  const render = (text: string): string =>
    speaker === undefined || text === ""
      ? ""
      : `### Last message of the agent\n\n<details>\n<summary>${nameOf(speaker)}</summary>\n\n${fenced(text, "text")}\n\n</details>`;
  const whole = render(message);
  return {
    name: "the last message of the agent",
    rank: 6,
    empty: whole === "",
    render: (room) => {
      if (Buffer.byteLength(whole) <= room) return { text: whole, whole: true };
      // Every character has at most three bytes per unit; 1000 for what is around it.
      const fits = Math.floor((room - 1000) / 5);
      return { text: fits < 200 ? "" : render(clip(message, fits)), whole: false };
    },
  };
}

/** Up to this many works that went well have a fold on the page; more share one. */
const SEPARATE = 8;

/**
 * A fold for each work, and one for the job: those that need a look first. Each also holds what the agent
 * last said in it, unless it is shown elsewhere.
 */
export function decisionSections(view: RunView): Section[] {
  const start = view.startedAt ?? 0;
  const works = worksOf(view).filter(
    (work) => shown(work.decisions).length > 0 || work.lastMessage !== undefined,
  );
  const calm = works.filter((work) => result(work).word === "succeeded");
  const others = works.filter((work) => result(work).word !== "succeeded");
  const sections = others
    .toSorted((a, b) => Number(wentBadly(b)) - Number(wentBadly(a)))
    .map((work) => foldSection(workFold(work, view, start), wentBadly(work) ? 4 : 8));
  if (shown(view.decisions).length > 0) {
    const count = shown(view.decisions).length + view.droppedDecisions;
    const title = `The job, ${plural(count, "decision")}`;
    const name = "decisions about the whole job";
    sections.unshift(foldSection({ ...view, name, title, message: "", start }, 7));
  }
  const folds = calm.map((work) => workFold(work, view, start));
  return folds.length <= SEPARATE
    ? [...sections, ...folds.map((fold) => foldSection(fold, 9))]
    : [...sections, sharedFold(folds)];
}

function shown(decisions: readonly DecisionEntry[]): readonly DecisionEntry[] {
  return decisions.filter(({ kind }) => decisionTraits(kind).audience.summary);
}

interface Fold extends Pick<WorkView, "decisions" | "droppedDecisions"> {
  readonly name: string;
  readonly title: string;
  /** Markdown that may be left out. */
  readonly message: string;
  readonly start: number;
}

function workFold(work: WorkView, view: RunView, start: number): Fold {
  const { decisions, droppedDecisions, lastMessage } = work;
  const { sign, word } = result(work);
  const count = shown(decisions).length + droppedDecisions;
  const counted = count === 0 ? "" : `, ${plural(count, "decision")}`;
  const title = `${nameOf(work)} ${sign} ${word}${counted}`;
  const name = `decisions of ${nameOf(work)}`;
  const isShown = work.workId === view.lastSpeaker || work.report !== undefined;
  const words = isShown ? "" : harmless(lastMessage ?? "").trim();
  const said = clip(words, MAX_SAID);
  const message = said === "" ? "" : `\nThe agent's last message:\n\n${fenced(said, "text")}\n`;
  return { decisions, droppedDecisions, name, title, message, start };
}

function foldSection(fold: Fold, rank: number): Section {
  return {
    name: fold.name,
    rank,
    heading: "### Decisions",
    empty: false,
    render: (room) => renderFold(fold, room),
    // Decisions that the view dropped don't count toward the space.
    ...(fold.droppedDecisions > 0 ? { optional: true } : {}),
  };
}

/** First drops the messages, then the oldest decisions, because the latest show the outcome. */
function renderFold(
  { decisions, droppedDecisions, title, message, start }: Fold,
  room: number,
): ReturnType<Section["render"]> {
  const head = `<details>\n<summary>${title}</summary>\n\n`;
  const columns = `| Time | Category | Decision |\n| ---: | --- | --- |\n`;
  const left = room - Buffer.byteLength(head) - 300;
  const rows = shown(decisions)
    .map((entry) => decisionRow(entry, start))
    .toReversed();
  const kept = wholeItems(rows, left);
  if (left < 0 || (kept.length === 0 && rows.length > 0)) return { text: "", whole: false };
  const missing = droppedDecisions + rows.length - kept.length;
  const before = missing > 0 ? `| | | ${plural(missing, "earlier decision")} omitted |\n` : "";
  const log = kept.length === 0 ? "" : `${columns}${before}${kept.toReversed().join("")}`;
  const messageFits = Buffer.byteLength(log) + Buffer.byteLength(message) <= left;
  return {
    text: `${head}${log}${messageFits ? message : ""}\n</details>`,
    whole: missing === 0 && messageFits,
  };
}

function sharedFold(folds: readonly Fold[]): Section {
  return {
    name: `decisions of ${plural(folds.length, "work")} that succeeded`,
    rank: 9,
    heading: "### Decisions",
    empty: false,
    optional: true,
    render: (room) => {
      const head = `<details>\n<summary>✓ ${plural(folds.length, "work")} that succeeded without a retry</summary>\n\n`;
      let left = room - Buffer.byteLength(head) - 100;
      let whole = true;
      const texts: string[] = [];
      for (const fold of folds) {
        const rendered = renderFold(fold, left);
        whole &&= rendered.whole;
        if (rendered.text === "") break;
        texts.push(rendered.text);
        left -= Buffer.byteLength(rendered.text) + 2;
      }
      if (texts.length === 0) return { text: "", whole: false };
      return { text: `${head}${texts.join("\n\n")}\n\n</details>`, whole };
    },
  };
}

function decisionRow(
  { at, iteration, kind, category, answer, text }: DecisionEntry,
  start: number,
): string {
  const shownCategory = answer && kind === "task-failed" ? "ANSWERED NO" : category;
  const which = iteration > 1 ? `iteration ${iteration}: ` : "";
  return `| ${durationText(at - start)} | ${code(shownCategory, 40)} | ${which}${inline(text, MAX_DECISION)} |\n`;
}
