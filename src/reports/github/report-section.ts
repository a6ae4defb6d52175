/** What a work reports: with `job_report`, the RESULT of a workflow, the response of a task with actions. */
import type { GivenView, RunView, WorkView } from "../../events/view.ts";
import { harmless } from "../text.ts";
import { code, fenced, inline } from "./escape.ts";
import { nameOf, type Section } from "./section.ts";
import { clip } from "../../events/cut.ts";

/** A longer text is folded. */
const MAX_OPEN_LINES = 25;
const MAX_OPEN_TEXT = 2000;

/** What tasks have handed in, in the order in which they did. */
export function reportSections({ given }: RunView): readonly Section[] {
  return [...given.values()].flatMap((one) =>
    one.report === undefined
      ? []
      : [textSection(one.report.markdown, "### Reports", reportTitle(one), one)],
  );
}

function reportTitle({ items, report, ...work }: GivenView): string {
  const item = items.map((one) => ` ${code(one, 100)}`).join(" ›");
  const title = report?.title === undefined ? "" : ` ${inline(report.title, 200)}`;
  return `${nameOf(work)}${item}${title}`;
}

export function reportSection(work: WorkView, heading: string, title: string): Section {
  return textSection(work.report ?? "", heading, title, work);
}

function textSection(
  text: string,
  heading: string,
  title: string,
  work: Pick<WorkView, "workId" | "taskId">,
): Section {
  const report = harmless(text).trim();
  const render = (shown: string): string => {
    const block = fenced(shown, "text");
    const isShort = shown.length <= MAX_OPEN_TEXT && shown.split("\n").length <= MAX_OPEN_LINES;
    return isShort
      ? `**${title}**\n\n${block}`
      : `<details>\n<summary><b>${title}</b></summary>\n\n${block}\n\n</details>`;
  };
  return {
    name: `the ${title} of ${nameOf(work)}`,
    rank: 3,
    heading,
    empty: report === "",
    render: (room) => {
      const whole = render(report);
      const left = room - Buffer.byteLength(heading) - 2;
      if (Buffer.byteLength(whole) <= left) return { text: whole, whole: true };
      // Every character has at most three bytes per unit; 1000 for what is around it.
      const fits = Math.floor((left - 1000) / 5);
      return { text: fits < 200 ? "" : render(clip(report, fits)), whole: false };
    },
  };
}
