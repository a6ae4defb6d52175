/** Numbers, words and tables of the job summary. */
import type { WorkView } from "../events/view.ts";
import { countText } from "./text.ts";

/** How a work ended, as a sign and a word. */
export function result(work: WorkView): { readonly sign: string; readonly word: string } {
  switch (work.status) {
    case "succeeded":
      return work.attempts > work.runs
        ? { sign: "↻", word: "retried" }
        : { sign: "✓", word: "succeeded" };
    case "failed":
      return { sign: "✗", word: "failed" };
    case "crashed":
      return { sign: "✗", word: "crashed" };
    case "canceled":
      return { sign: "■", word: "cancelled" };
    case "skipped":
      return { sign: "–", word: "skipped" };
    case "pending":
      return { sign: "○", word: "pending" };
    case "running":
      return { sign: "…", word: "running" };
  }
}

export function wentBadly({ status }: WorkView): boolean {
  return status === "failed" || status === "crashed";
}

/** `0.4 s`, `31 s`, `3 min 12 s`, `1 h 02 min`. */
export function durationText(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
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
