import stringWidth from "fast-string-width";
import {
  elapsedMs,
  itemsOf,
  itemsText,
  mostTelling,
  statusText,
  wentBadly,
  worksOf,
  type Counters,
  type RunView,
  type WorkView,
} from "../events/view.ts";
import type { Paint, Tone } from "./paint.ts";
import { clockText, countText, cutTo, fit, fitName, oneLine } from "./text.ts";

const MAX_ROWS = 100;
const MAX_ITEMS = 20;
const MIN_TASK = 8;

interface Row {
  readonly cells: readonly string[];
  readonly tone: Tone;
}

const header = ["#", "task", "status", "attempts", "calls", "tokens in", "out", "time"];
/** The column that gives way when the terminal is narrow. */
const TASK = 1;
const STATUS = 2;
/** The columns that are left out, one after the other, when it is very narrow. */
const droppable = [6, 5, 4, 3, 7];

/** A line for each work and one for the totals, at most `width` columns wide where that is possible. */
export function worksTable(view: RunView, width: number, paint: Paint): string[] {
  const now = view.endedAt ?? view.startedAt ?? 0;
  const all = worksOf(view);
  const shown = mostTelling(all, MAX_ROWS);
  const rows: Row[] = shown.flatMap((work) => [
    {
      cells: [
        String(work.workId),
        oneLine([work.taskId, itemsText(work)].filter((text) => text !== "").join(", "), 200),
        statusText(work.status),
        ...numbers(work, elapsedMs(work, now)),
      ],
      tone: statusTone(work),
    },
    ...failedItems(work),
  ]);
  const total = ["", "total", "", ...numbers(view.totals, now - (view.startedAt ?? now))];
  const widths = columnWidths([header, ...rows.map((row) => row.cells), total], width);
  const lines = [
    paint("faint", tableLine(header, widths)),
    ...rows.map(({ cells, tone }) =>
      tableLine(cells, widths, (cell, column) => (column === STATUS ? paint(tone, cell) : cell)),
    ),
  ];
  if (shown.length < all.length)
    lines.push(cutTo(`… and ${all.length - shown.length} more`, width));
  lines.push(paint("faint", tableLine(total, widths)));
  return lines;
}

function failedItems(work: WorkView): Row[] {
  const failed = itemsOf(work).filter(wentBadly);
  const row = (name: string, status: string, time: string): Row => ({
    cells: ["", `  ${name}`, status, "", "", "", "", time],
    tone: "bad",
  });
  const rows = failed
    .slice(0, MAX_ITEMS)
    .map(({ name, status, elapsedMs: took = 0 }) =>
      row(oneLine(name, 200), statusText(status), clockText(took)),
    );
  const left = failed.length - rows.length;
  return left > 0 ? [...rows, row(`… and ${left} more`, "failed", "")] : rows;
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

function statusTone({ status }: Pick<WorkView, "status">): Tone {
  switch (status) {
    case "succeeded":
      return "good";
    case "failed":
    case "crashed":
      return "bad";
    case "canceled":
      return "warn";
    case "answered-no":
      return "plain";
    case "pending":
    case "skipped":
      return "faint";
    case "running":
      return "plain";
  }
}

/** A column of width 0 is left out. */
function columnWidths(rows: readonly (readonly string[])[], width: number): number[] {
  const widths = header.map((_, column) =>
    rows.reduce((widest, cells) => Math.max(widest, stringWidth(cells[column] ?? "")), 0),
  );
  const task = widths[TASK] ?? 0;
  const roomForTask = (): number => {
    const others = widths.filter((each, column) => column !== TASK && each > 0);
    return width - others.reduce((sum, each) => sum + each + 2, 0);
  };
  for (const column of droppable) {
    if (roomForTask() >= Math.min(task, MIN_TASK)) break;
    widths[column] = 0;
  }
  widths[TASK] = Math.max(1, Math.min(task, roomForTask()));
  return widths;
}

function tableLine(
  cells: readonly string[],
  widths: readonly number[],
  paintCell: (cell: string, column: number) => string = (cell) => cell,
): string {
  return cells
    .map((cell, column) => ({ cell, column, width: widths[column] ?? 0 }))
    .filter(({ width }) => width > 0)
    .map(({ cell, column, width }) =>
      paintCell(
        column === TASK
          ? fitName(cell, width)
          : fit(cell, width, column === STATUS ? "left" : "right"),
        column,
      ),
    )
    .join("  ")
    .trimEnd();
}
