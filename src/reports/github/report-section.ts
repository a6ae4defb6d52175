/** What a work reports: the RESULT of a workflow, the response of a task with actions. */
import type { WorkView } from "../../events/view.ts";
import { harmless } from "../text.ts";
import { fenced } from "./escape.ts";
import { nameOf, type Section } from "./section.ts";
import { clip } from "../../events/cut.ts";

/** A longer text is folded. */
const MAX_OPEN_LINES = 25;
const MAX_OPEN_TEXT = 2000;

export function reportSection(work: WorkView, heading: string, title: string): Section {
  const report = harmless(work.report ?? "").trim();
  const render = (text: string): string => {
    const block = fenced(text, "text");
    const isShort = text.length <= MAX_OPEN_TEXT && text.split("\n").length <= MAX_OPEN_LINES;
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
