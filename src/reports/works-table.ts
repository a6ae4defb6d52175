/** The table of steps at the end of a log. The job summary has its own, in `github/sections.ts`. */
import stringWidth from "fast-string-width";
import {
  elapsedMs,
  itemsOf,
  itemsText,
  failuresFirst,
  statusText,
  isFailure,
  worksOf,
  type Counters,
  type RunView,
  type WorkStatus,
  type WorkView,
} from "../events/view.ts";
import type { Paint, Tone } from "./paint.ts";
import { fitColumns, fit, fitName } from "../text/columns.ts";
import { oneLine } from "../text/harmless-text.ts";
import { clockText, countText } from "../text/numbers.ts";

const MAX_ROWS = 100;
const MAX_ITEMS = 20;
const MIN_TASK = 8;

const header = ["#", "task", "status", "attempts", "calls", "tokens in", "out", "time"];
/** The column that gives way when the terminal is narrow. */
const TASK = 1;
const STATUS = 2;

/** A line for each work and one for the totals, at most `width` columns wide where that is possible. */
export function worksTable(view: RunView, width: number, paint: Paint): string[] {
  const now = view.endedAt ?? view.startedAt ?? 0;
  const all = worksOf(view);
  const shown = failuresFirst(all, MAX_ROWS);
  const rows = shown.flatMap((work) => [
    {
      cells: [
        String(work.workId),
        oneLine([work.taskId, itemsText(work)].filter((text) => text !== "").join(", "), 200),
        statusText(work.status),
        ...numbers(work, elapsedMs(work, now)),
      ],
      tone: tones[work.status],
    },
    ...failedItems(work).map((cells) => ({ cells, tone: tones.failed })),
  ]);
  const total = [
    "",
    view.rehearsed ? "total, rehearsed" : "total",
    "",
    ...numbers(view.totals, now - (view.startedAt ?? now)),
  ];
  const widths = columnWidths([header, ...rows.map(({ cells }) => cells), total], width);
  return [
    paint("faint", tableLine(header, widths)),
    ...rows.map(({ cells, tone }) => tableLine(cells, widths, (status) => paint(tone, status))),
    ...(shown.length < all.length
      ? [fitColumns(`… and ${all.length - shown.length} more`, width)]
      : []),
    paint("faint", tableLine(total, widths)),
  ];
}

function failedItems(work: WorkView): string[][] {
  const failed = itemsOf(work).filter(isFailure);
  const row = (name: string, status: string, time: string): string[] => {
    return ["", `  ${name}`, status, "", "", "", "", time];
  };
  const rows = failed
    .slice(0, MAX_ITEMS)
    .map(({ name, status, elapsedMs: took = 0 }) =>
      row(oneLine(name, 200), statusText(status), clockText(took)),
    );
  const left = failed.length - rows.length;
  return left > 0 ? [...rows, row(`… and ${left} more`, statusText("failed"), "")] : rows;
}

function numbers(counters: Counters, milliseconds: number): string[] {
  return [
    String(counters.attempts),
    countText(counters.modelCalls),
    countText(counters.inputTokens),
    countText(counters.outputTokens),
    clockText(milliseconds),
  ];
}

const tones: Readonly<Record<WorkStatus, Tone>> = {
  succeeded: "good",
  failed: "bad",
  crashed: "bad",
  canceled: "warn",
  "answered-no": "plain",
  pending: "faint",
  skipped: "faint",
  running: "plain",
};

function columnWidths(rows: readonly (readonly string[])[], width: number): number[] {
  const widths = header.map((_, column) =>
    rows.reduce((widest, cells) => Math.max(widest, stringWidth(cells[column] ?? "")), 0),
  );
  const tooMuch = widths.reduce((sum, each) => sum + each + 2, -2 - width);
  const task = widths[TASK] ?? 0;
  if (tooMuch > 0) widths[TASK] = Math.max(Math.min(task, MIN_TASK), task - tooMuch);
  return widths;
}

function tableLine(
  cells: readonly string[],
  widths: readonly number[],
  paintStatus: (status: string) => string = (status) => status,
): string {
  return cells
    .map((cell, column) => {
      const width = widths[column] ?? 0;
      if (column === TASK) return fitName(cell, width);
      return column === STATUS ? paintStatus(fit(cell, width)) : fit(cell, width, "right");
    })
    .join("  ")
    .trimEnd();
}
