/** Numbers, words and tables of the job summary. */
import { statusSign } from "../../entry/mermaid.ts";
import { statusText, wasRetried, type RunView, type WorkView } from "../../events/view.ts";
import {
  costText,
  countText as amountText,
  durationText,
  unbroken,
} from "../../outputs/number-text.ts";
import { nodeStatus } from "../flow-chart.ts";
import { plural } from "../text.ts";

export { amountText, costText, durationText, unbroken };

/** How a work ended, as a sign and a word. */
export function result(work: WorkView): { readonly sign: string; readonly word: string } {
  const word = wasRetried(work) ? "retried" : statusText(work.status);
  return { sign: statusSign(nodeStatus(work)), word };
}

/** The second line of a node in the chart, so that the outcome is visible without color. */
export function chartDetail(view: RunView, workId: number): string | undefined {
  const work = view.works.get(workId);
  if (work === undefined) return undefined;
  const { sign, word } = result(work);
  const often =
    work.attempts > 1 && work.flow === undefined ? `, ${plural(work.attempts, "attempt")}` : "";
  return `${sign} ${word}${often}`;
}

/** Cells must not hold line ends or bare `|`. */
export function table(
  columns: readonly (readonly [string, "left" | "right"])[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [
    line(columns.map(([name]) => name)),
    line(columns.map(([, align]) => (align === "left" ? "---" : "---:"))),
    ...rows.map(line),
  ].join("\n");
}

/** The first items that fit into `room` bytes of UTF-8. */
export function wholeItems(items: readonly string[], room: number): string[] {
  const kept: string[] = [];
  let left = room;
  for (const item of items) {
    left -= Buffer.byteLength(item);
    if (left < 0) break;
    kept.push(item);
  }
  return kept;
}

/** How the run ended. A rehearsal may pass although its job failed, and the reverse, so it says both. */
export function resultText({ status, jobOutcome }: RunView, job: string): string {
  const own = `${job} ${endTexts[jobOutcome?.kind ?? status]}`;
  if (jobOutcome === undefined || (status !== "succeeded" && status !== "failed")) {
    return `Job ${own}`;
  }
  if (status === "failed") return `Rehearsal failed (job ${own})`;
  return `Rehearsal passed (job ${own}${jobOutcome.kind === "succeeded" ? "" : ", as expected"})`;
}

const endTexts: Readonly<Record<RunView["status"], string>> = {
  succeeded: "succeeded",
  failed: "failed",
  canceled: "was canceled",
  skipped: "was skipped",
  running: "has not ended yet",
  pending: "did not start",
};
