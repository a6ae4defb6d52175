/** A part of the job summary that can be rendered into a limited space. */
import { code } from "./escape.ts";
import { wholeItems } from "./layout.ts";

export interface Section {
  /** For the note about what was left out; harmless Markdown. */
  readonly name: string;
  /** What has the least is kept the longest. */
  readonly rank: number;
  /** Stands once above all sections that share it. */
  readonly heading?: string;
  readonly empty: boolean;
  /** Its absence doesn't mean that there is space for others. */
  readonly optional?: boolean;
  /** At most `room` bytes of UTF-8. */
  readonly render: (room: number) => Rendered;
}

export interface Rendered {
  readonly text: string;
  /** False: something is missing. */
  readonly whole: boolean;
}

export function listSection(
  name: string,
  rank: number,
  head: string,
  items: readonly string[],
): Section {
  return {
    name,
    rank,
    empty: items.length === 0,
    render: (room) => {
      const kept = wholeItems(items, room - Buffer.byteLength(head));
      const text = kept.length === 0 ? "" : (head + kept.join("")).trimEnd();
      return { text, whole: kept.length === items.length };
    },
  };
}

/** The same in a fold that has its heading as its title. */
export function folded(section: Section): Section {
  return {
    ...section,
    render: (room) => {
      const { text, whole } = section.render(room - 100);
      const [, title, content] = /^### ([^\n]*)\n\n([^]*)$/.exec(text) ?? [];
      if (title === undefined || content === undefined) return { text, whole };
      const fold = `<details>\n<summary>${title}</summary>\n\n${content}\n\n</details>`;
      return { text: fold, whole };
    },
  };
}

export function nameOf({
  workId,
  taskId,
}: {
  readonly workId: number;
  readonly taskId: string;
}): string {
  return `<b>#${workId}</b> ${code(taskId, 100)}`;
}
