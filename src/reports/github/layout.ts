/** Numbers, words and tables of the job summary. */
import { wasRetried, type RunView, type WorkView } from "../../events/view.ts";
import { countText, plural } from "../text.ts";

/** How a work ended, as a sign and a word. */
export function result(work: WorkView): { readonly sign: string; readonly word: string } {
  switch (work.status) {
    case "succeeded":
      return wasRetried(work) ? { sign: "↻", word: "retried" } : { sign: "✓", word: "succeeded" };
    case "failed":
      return { sign: "✗", word: "failed" };
    case "answered-no":
      return { sign: "↪", word: "answered no" };
    case "crashed":
      return { sign: "✗", word: "crashed" };
    case "canceled":
      return { sign: "■", word: "canceled" };
    case "skipped":
      return { sign: "–", word: "skipped" };
    case "pending":
      return { sign: "○", word: "pending" };
    case "running":
      return { sign: "…", word: "running" };
  }
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

export function wentBadly({ status }: WorkView): boolean {
  return status === "failed" || status === "crashed";
}

/** `0.4 s`, `31 s`, `3 min 12 s`, `1 h 02 min`; not to be broken over two lines. */
export function durationText(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  const two = (value: number): string => String(value).padStart(2, "0");
  const text =
    seconds < 9.95
      ? `${seconds.toFixed(1)} s`
      : whole < 60
        ? `${whole} s`
        : minutes < 60
          ? `${minutes} min ${two(whole % 60)} s`
          : `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  return unbroken(text);
}

export function unbroken(text: string): string {
  return text.replaceAll(" ", "\u00A0");
}

export function amountText(count: number): string {
  return countText(count);
}

/** In the runtime's own unit. */
export function costText(cost: number): string {
  const rounded = Math.round(cost * 100) / 100;
  return `${rounded} premium request${rounded === 1 ? "" : "s"}`;
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
  const own = `${job} ${statusText[jobOutcome?.kind ?? status]}`;
  if (jobOutcome === undefined || (status !== "succeeded" && status !== "failed")) {
    return `Job ${own}`;
  }
  if (status === "failed") return `Rehearsal failed (job ${own})`;
  return `Rehearsal passed (job ${own}${jobOutcome.kind === "succeeded" ? "" : ", as expected"})`;
}

const statusText: Readonly<Record<RunView["status"], string>> = {
  succeeded: "succeeded",
  failed: "failed",
  canceled: "was canceled",
  skipped: "was skipped",
  running: "has not ended yet",
  pending: "did not start",
};
