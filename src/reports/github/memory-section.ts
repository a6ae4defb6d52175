/** What the tasks of a run have noted for later runs, as a diff to be reviewed. */
import { memoryDiff } from "../../events/memory.ts";
import type { RunView } from "../../events/view.ts";
import { cut } from "../../events/cut.ts";
import { code, fenced } from "./escape.ts";
import type { Section } from "./section.ts";

const LONGEST = 20_000;

export function memorySection({ plan, notes }: Pick<RunView, "plan" | "notes">): Section {
  const { memory } = plan ?? {};
  const lines = memory === undefined ? [] : memoryDiff(memory, notes);
  const file = code(memory?.file ?? "", 300);
  const unkept = "A rehearsal, a part of a job and a run for strangers keep no notes.";
  const note = memory?.isKept === true ? `Added to ${file}.` : `Not added to ${file}. ${unkept}`;
  return {
    name: "the memory",
    rank: 3,
    empty: lines.length === 0,
    render(room) {
      if (lines.length === 0) return { text: "", whole: true };
      const diff = fenced(cut(lines.join("\n"), Math.min(LONGEST, room - 1_000)), "diff");
      const text = `### Memory\n\n${note}\n\n${diff}`;
      return Buffer.byteLength(text) <= room ? { text, whole: true } : { text: "", whole: false };
    },
  };
}
