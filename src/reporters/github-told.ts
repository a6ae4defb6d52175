/** The sections of the job summary that tell what was decided and what was said. */
import type { DecisionEntry, RunView, WorkView } from "../events/view.ts";
import { code, fenced, inline } from "./github-escape.ts";
import { durationText, result, wentBadly, wholeItems } from "./github-layout.ts";
import { listSection, nameOf, worksOf, type Section } from "./github-section.ts";
import { harmless, plural } from "./text.ts";

const MAX_DECISION = 500;
const MAX_SAID = 2000;

/** What the agent said last, as it said it. */
export function finalMessageSection(view: RunView): Section {
  const speaker = view.lastSpeaker === undefined ? undefined : view.works.get(view.lastSpeaker);
  const said = harmless(speaker?.lastMessage ?? "").trim();
  const render = (text: string): string =>
    speaker === undefined || text === ""
      ? ""
      : `### What the agent finally said\n\n<details>\n<summary>${nameOf(speaker)}</summary>\n\n${fenced(text, "text")}\n\n</details>`;
  const whole = render(said);
  return {
    name: "what the agent finally said",
    rank: 6,
    empty: whole === "",
    render: (room) => {
      if (Buffer.byteLength(whole) <= room) return { text: whole, whole: true };
      // Every character has at most three bytes per unit; 1000 for what is around it.
      const fits = Math.floor((room - 1000) / 5);
      return { text: fits < 200 ? "" : render(`${said.slice(0, fits)}…`), whole: false };
    },
  };
}

/** A fold for each work, and one for the job. */
export function decisionSections(view: RunView): Section[] {
  const start = view.startedAt ?? 0;
  const works = worksOf(view).filter((work) => work.decisions.length > 0);
  const sections = works.map((work) => {
    const { sign, word } = result(work);
    const count = work.decisions.length + work.droppedDecisions;
    const title = `${nameOf(work)} ${sign} ${word}, ${plural(count, "decision")}`;
    const rank = wentBadly(work) ? 4 : word === "succeeded" ? 9 : 8;
    return decisionSection(`decisions of ${nameOf(work)}`, title, work, start, rank);
  });
  if (view.decisions.length > 0) {
    const title = `The whole job, ${plural(view.decisions.length + view.droppedDecisions, "decision")}`;
    sections.unshift(decisionSection("decisions about the whole job", title, view, start, 7));
  }
  return sections;
}

function decisionSection(
  name: string,
  title: string,
  { decisions, droppedDecisions }: Pick<WorkView, "decisions" | "droppedDecisions">,
  start: number,
  rank: number,
): Section {
  const rows = decisions.map((entry) => decisionRow(entry, start));
  return {
    name,
    rank,
    heading: "### Decisions",
    empty: false,
    render: (room) => {
      const head = `<details>\n<summary>${title}</summary>\n\n`;
      const tableHead = `| Time | Category | Decision |\n| ---: | --- | --- |\n`;
      // The latest ones tell what came of it.
      const kept = wholeItems(rows.toReversed(), room - Buffer.byteLength(head) - 400).toReversed();
      if (kept.length === 0 && rows.length > 0) return { text: "", whole: false };
      const left = droppedDecisions + rows.length - kept.length;
      const before = left > 0 ? `| | | ${plural(left, "earlier decision")} left out |\n` : "";
      return {
        text: `${head}${tableHead}${before}${kept.join("")}\n</details>`,
        whole: left === 0,
      };
    },
    // Decisions that the view dropped say nothing about the room.
    ...(droppedDecisions > 0 ? { optional: true } : {}),
  };
}

function decisionRow({ at, run, category, text }: DecisionEntry, start: number): string {
  const which = run > 1 ? `run ${run}: ` : "";
  return `| ${durationText(at - start)} | ${code(category, 40)} | ${which}${inline(text, MAX_DECISION)} |\n`;
}

/** The last words of the other works, shortened. */
export function messagesSection(view: RunView): Section {
  const works = worksOf(view).filter(
    (work) => work.lastMessage !== undefined && work.workId !== view.lastSpeaker,
  );
  const items = works.map((work) => {
    const said = harmless(work.lastMessage ?? "").trim();
    const text = said.length > MAX_SAID ? `${said.slice(0, MAX_SAID)}…` : said;
    return `<details>\n<summary>${nameOf(work)}</summary>\n\n${fenced(text, "text")}\n\n</details>\n\n`;
  });
  return listSection(
    "last words of the other works",
    10,
    `### Last words of the other works\n\n`,
    items,
  );
}
