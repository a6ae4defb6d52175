import { statusSign } from "../entry/mermaid.ts";
import { endWords } from "../events/event.ts";
import { statusText, wasRetried, type RunView, type WorkView } from "../events/view.ts";
import { plural } from "../text/numbers.ts";
import { nodeStatus } from "../reports/flow-chart.ts";
import { code } from "../text/harmless-text.ts";

export interface Content {
  readonly text: string;
  readonly isCut?: boolean;
}

export interface Section extends Content {
  /** Harmless Markdown, for the note about what was left out. */
  readonly name: string;
  /** Sections with lower ranks are kept longer. */
  readonly rank: number;
  /** It stands once above all sections that share it. May be empty. */
  readonly heading: string;
}

/** Bytes of UTF-8 of a section: half of the page. */
const MAX_SECTION = 500_000;

/** The first items that fit into `room`, by default in bytes of UTF-8. */
export function wholeItems(
  items: readonly string[],
  room = MAX_SECTION,
  sizeOf: (item: string) => number = (item) => Buffer.byteLength(item),
): string[] {
  const kept: string[] = [];
  let left = room;
  for (const item of items) {
    left -= sizeOf(item);
    if (left < 0) break;
    kept.push(item);
  }
  return kept;
}

export function lastItems(items: readonly string[], room = MAX_SECTION): string[] {
  return wholeItems(items.toReversed(), room).toReversed();
}

/** `items`: whole lines, each with its line end. */
export function listed(items: readonly string[], head = ""): Content {
  const kept = wholeItems(items);
  const text = kept.length === 0 ? "" : (head + kept.join("")).trimEnd();
  return { text, isCut: kept.length < items.length };
}

/** `left`: how many rows more there were. */
export function tabled(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  left: number,
): Content {
  const more = columns.map((_, index) => (index === 1 ? `and ${left} more` : ""));
  const all = left > 0 ? [...rows, more] : rows;
  return listed(all.map(tableRow), tableHead(columns));
}

/** The most important sections for which there is room, with their headings, and the names of those that are not there as a whole. */
export function fitting(
  sections: readonly Section[],
  limit: number,
): { readonly texts: readonly string[]; readonly missing: readonly string[] } {
  let room = limit;
  const shown = new Set<Section>();
  const missing: string[] = [];
  for (const section of sections.toSorted((a, b) => a.rank - b.rank)) {
    const { name, heading, text, isCut = false } = section;
    const size = Buffer.byteLength(text + heading) + 4;
    const fits = size <= room;
    if (isCut || !fits) missing.push(name);
    if (!fits || text === "") continue;
    shown.add(section);
    room -= size;
  }
  const headings = new Set<string>();
  const texts = sections.flatMap((section) => {
    if (!shown.has(section)) return [];
    const { heading, text } = section;
    if (heading === "" || headings.has(heading)) return [text];
    headings.add(heading);
    return [heading, text];
  });
  return { texts, missing };
}

/** A column is aligned to the right if a colon ends its name. */
export function tableHead(columns: readonly string[]): string {
  const lines = columns.map((name) => (name.endsWith(":") ? "---:" : "---"));
  return tableRow(columns.map((name) => name.replace(/:$/, ""))) + tableRow(lines);
}

/** Cells must not hold line ends or bare `|`. */
export function tableRow(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |\n`;
}

export function fold(title: string, content: string): string {
  return `<details>\n<summary>${title}</summary>\n\n${content}\n\n</details>`;
}

export function folded({ heading, text, ...section }: Section): Section {
  const title = heading.replace(/^#+ /, "");
  return { ...section, heading: "", text: text === "" ? "" : fold(title, text) };
}

export function nameOf({ workId, taskId }: Pick<WorkView, "workId" | "taskId">): string {
  return `<b>#${workId}</b> ${code(taskId, 100)}`;
}

export function result(work: WorkView): { readonly sign: string; readonly word: string } {
  const word = wasRetried(work) ? "retried" : statusText(work.status);
  return { sign: statusSign(nodeStatus(work)), word };
}

export function chartDetail(view: RunView, workId: number): string | undefined {
  const work = view.works.get(workId);
  if (work === undefined) return undefined;
  const { sign, word } = result(work);
  const often =
    work.attempts > 1 && work.flow === undefined ? `, ${plural(work.attempts, "attempt")}` : "";
  return `${sign} ${word}${often}`;
}

/** How the run ended. A rehearsal may pass although its job failed, and the reverse, so it says both. */
export function resultText({ status, jobOutcome, rehearsed }: RunView, job: string): string {
  const own = `${job} ${endTexts[jobOutcome?.kind ?? status]}`;
  if (!rehearsed) return `Job ${own}`;
  if (status !== "succeeded") return `Rehearsal ${endTexts[status]} (job ${own})`;
  const differs = jobOutcome !== undefined && jobOutcome.kind !== "succeeded";
  return `Rehearsal passed (job ${own}${differs ? ", as expected" : ""})`;
}

const endTexts: Readonly<Record<RunView["status"], string>> = {
  ...endWords,
  running: "has not ended yet",
  pending: "did not start",
};
