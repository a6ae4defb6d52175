/**
 * What works report. With `job_report`, and as the response of a task with actions, it is Markdown that GitHub renders;
 * the RESULT of a workflow may be the output of a command, and is shown as it is.
 */
import { cut } from "../../events/cut.ts";
import { worksOf, type GivenView, type RunView, type WorkView } from "../../events/view.ts";
import { blobs } from "../../outputs/line-address.ts";
import { safeCell, safeMarkdown, type SafeMarkdown } from "../../outputs/safe-markdown.ts";
import { harmless } from "../text.ts";
import { code, fenced } from "./escape.ts";
import { nameOf, type Section } from "./section.ts";

/** A longer text is folded, unless it is the only one. */
const MAX_OPEN_LINES = 25;
const MAX_OPEN_TEXT = 2000;
const MAX_TITLE = 400;

/**
 * What tasks have handed in, in the order in which they did; then what other works came to. Only of the tasks whose
 * report the job publishes, if it names them.
 */
export function reportSections(view: RunView): readonly Section[] {
  const given = [...view.given.values()].flatMap((one) =>
    one.report === undefined
      ? []
      : [{ source: sourceOf(one), title: one.report.title, text: one.report.markdown, work: one }],
  );
  const handedIn = new Set(given.map(({ work, text }) => JSON.stringify([work.workId, text])));
  const others = worksOf(view).flatMap((work) => {
    const text = work.report ?? "";
    const isShown = text.trim() === "" || handedIn.has(JSON.stringify([work.workId, text]));
    if (isShown) return [];
    const isPlain = work.flow !== undefined;
    const name = isPlain ? "RESULT" : "Response";
    return [{ source: `${name} of ${nameOf(work)}`, title: undefined, text, work, isPlain }];
  });
  const { origin, outputs } = view.plan ?? {};
  const from = outputs?.report?.from;
  const all = [...given, ...others].filter(({ work }) => from?.includes(work.taskId) !== false);
  const allowedLinks = origin === undefined ? [] : [blobs(origin)];
  return all.map((one) => reportSection(one, { isOnly: all.length === 1, allowedLinks }));
}

function sourceOf({ items, ...work }: GivenView): string {
  return nameOf(work) + items.map((one) => ` ${code(one, 100)}`).join(" ›");
}

interface ReportText {
  /** HTML on one line. */
  readonly source: string;
  readonly title: string | undefined;
  readonly text: string;
  readonly work: Pick<WorkView, "workId" | "taskId">;
  readonly isPlain?: boolean;
}

function reportSection(
  { source, title = "", text, work, isPlain = false }: ReportText,
  { isOnly, allowedLinks }: { readonly isOnly: boolean; readonly allowedLinks: readonly string[] },
): Section {
  const heading = isOnly ? "### Report" : "### Reports";
  const safe = (maxLength: number): SafeMarkdown =>
    isPlain ? plain(text, maxLength) : safeMarkdown(text, { allowedLinks, lowered: 3, maxLength });
  const name = safeCell("", { maxLength: MAX_TITLE, title: title.slice(0, MAX_TITLE / 2) });
  const placed = (shown: string): string => {
    const isShort = shown.length <= MAX_OPEN_TEXT && shown.split("\n").length <= MAX_OPEN_LINES;
    return isOnly || isShort
      ? `${[source, name].filter((one) => one !== "").join(" · ")}\n\n${shown}`
      : `<details>\n<summary>${source}</summary>\n\n${name}\n\n${shown}\n\n</details>`;
  };
  return {
    name: `the report of ${nameOf(work)}`,
    rank: 3,
    heading,
    empty: text.trim() === "",
    render: (room) => {
      // For the heading and the title.
      const left = Math.max(0, room - Buffer.byteLength(heading + source + name) - 100);
      const all = safe(left);
      if (all.whole && Buffer.byteLength(all.text) <= left)
        return { text: placed(all.text), whole: true };
      // Every character has at most three bytes per unit.
      const { text: beginning } = safe(Math.floor(left / 3));
      return { text: left < 600 ? "" : placed(`${beginning}\n\n…`), whole: false };
    },
  };
}

/** Its fence is as long as the text at most. */
function plain(text: string, maxLength: number): SafeMarkdown {
  const lines = harmless(text).trim();
  const shown = cut(lines, Math.floor(maxLength / 3) - 20);
  const whole = fenced(lines, "text");
  return whole.length <= maxLength
    ? { text: whole, whole: true }
    : { text: fenced(shown, "text"), whole: false };
}
