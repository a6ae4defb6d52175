/** Draws the visible part of the timeline. Everything else about it is in `timeline.tsx` and `model/timeline.ts`. */
import type { Mark, Span } from "../model/model.ts";
import { ticks, type Item, type LaneRow, type Range } from "../model/timeline.ts";
import type { Palette } from "./timeline-palette.ts";
import { truncate } from "../../src/text/truncate.ts";

export interface View {
  readonly rows: readonly LaneRow[];
  readonly range: Range;
  readonly width: number;
  readonly height: number;
  readonly scrollTop: number;
  readonly labelWidth: number;
  /** Where time begins. */
  readonly start: number;
  /** The end of what has not ended. */
  readonly now: number;
  readonly isLive: boolean;
  readonly focused: Item | undefined;
  readonly hovered: Item | undefined;
  readonly selectedWork: number | undefined;
}

export const AXIS_HEIGHT = 24;
const LEAST_WIDTH = 1.5;

export function drawTimeline(context: CanvasRenderingContext2D, view: View, colors: Palette): void {
  const { width, height, labelWidth, range, rows, scrollTop } = view;
  const perMs = (width - labelWidth) / (range.to - range.from);
  const x = (at: number): number => labelWidth + (at - range.from) * perMs;
  context.clearRect(0, 0, width, height);
  context.textBaseline = "middle";
  context.font = `12px ${colors.font}`;

  const visible = rows.filter(
    ({ top, height: own }) => top + own > scrollTop && top - scrollTop < height - AXIS_HEIGHT,
  );
  const lines = ticks(range, view.start, (width - labelWidth) / 90);

  context.save();
  context.beginPath();
  context.rect(0, AXIS_HEIGHT, width, height - AXIS_HEIGHT);
  context.clip();
  for (const row of visible) {
    const top = AXIS_HEIGHT + row.top - scrollTop;
    if (row.work !== undefined && row.work.workId === view.selectedWork) {
      context.fillStyle = colors.hover;
      context.fillRect(0, top, width, row.height);
    }
    if (!row.isSession) {
      context.fillStyle = colors.line;
      context.fillRect(0, Math.round(top), width, 1);
    }
  }
  context.fillStyle = colors.line;
  for (const { at } of lines) context.fillRect(Math.round(x(at)), AXIS_HEIGHT, 1, height);

  context.beginPath();
  context.rect(labelWidth, AXIS_HEIGHT, width - labelWidth, height - AXIS_HEIGHT);
  context.clip();
  for (const row of visible)
    drawLane(context, row, AXIS_HEIGHT + row.top - scrollTop, x, view, colors);
  if (view.isLive) {
    context.fillStyle = colors.run;
    context.fillRect(Math.round(x(view.now)), AXIS_HEIGHT, 1.5, height);
  }
  context.restore();

  drawLabels(context, visible, view, colors);
  drawAxis(context, lines, x, view, colors);
}

type ToX = (at: number) => number;

function drawLane(
  context: CanvasRenderingContext2D,
  row: LaneRow,
  top: number,
  x: ToX,
  view: View,
  colors: Palette,
): void {
  // Where the last bar of each kind ended: what would be drawn over it is not drawn.
  const drawnTo = new Map<string, number>();
  for (const span of row.lane.spans) {
    const end = span.end ?? Math.max(view.now, span.start);
    if (end < view.range.from || span.start > view.range.to) continue;
    const left = x(Math.max(span.start, view.range.from - 1));
    const right = Math.max(left + LEAST_WIDTH, x(Math.min(end, view.range.to + 1)));
    const key = `${span.kind}${span.status}`;
    if (right <= (drawnTo.get(key) ?? -Infinity)) continue;
    drawnTo.set(key, right);
    const status = span.end === undefined && !view.isLive ? "neutral" : span.status;
    drawSpan(context, { kind: span.kind, status }, left, right, top, row.height, colors);
    const isFocused = view.focused?.kind === "span" && view.focused.span === span;
    const isHovered = view.hovered?.kind === "span" && view.hovered.span === span;
    if (isFocused || isHovered) {
      context.strokeStyle = isFocused ? colors.accent : colors.text;
      context.lineWidth = isFocused ? 2 : 1;
      context.strokeRect(left - 1, top + 2, right - left + 2, row.height - 4);
    }
  }
  for (const mark of byWeight(row.lane.marks)) {
    if (mark.at < view.range.from || mark.at > view.range.to) continue;
    const isFocused = view.focused?.kind === "mark" && view.focused.mark === mark;
    const isHovered = view.hovered?.kind === "mark" && view.hovered.mark === mark;
    drawMark(context, mark, x(mark.at), top + row.height / 2, isFocused || isHovered, colors);
  }
}

/** Crashes last: they are seen even where marks overlap. */
function byWeight(marks: readonly Mark[]): readonly Mark[] {
  const heavy = marks.filter(({ kind }) => isHeavy(kind));
  return heavy.length === 0 ? marks : [...marks.filter(({ kind }) => !isHeavy(kind)), ...heavy];
}

function isHeavy(kind: Mark["kind"]): boolean {
  return kind === "crash" || kind === "limit" || kind === "failure";
}

function drawSpan(
  context: CanvasRenderingContext2D,
  span: Pick<Span, "kind" | "status">,
  left: number,
  right: number,
  top: number,
  height: number,
  colors: Palette,
): void {
  const width = right - left;
  const { status } = span;
  const solid = {
    running: colors.run,
    succeeded: colors.ok,
    failed: colors.fail,
    "answered-no": colors.run,
    canceled: colors.skip,
    skipped: colors.skip,
    neutral: colors.skip,
  }[status];
  switch (span.kind) {
    case "job":
      // A bracket over what belongs to it.
      context.fillStyle = solid;
      context.fillRect(left, top + 9, width, 3);
      context.fillRect(left, top + 9, Math.min(2, width), height - 16);
      context.fillRect(Math.max(left, right - 2), top + 9, Math.min(2, width), height - 16);
      return;
    case "iteration": {
      const soft = {
        running: colors.runSoft,
        succeeded: colors.okSoft,
        failed: colors.failSoft,
        "answered-no": colors.runSoft,
        canceled: colors.skipSoft,
        skipped: colors.skipSoft,
        neutral: colors.skipSoft,
      }[status];
      context.fillStyle = width > 3 ? soft : solid;
      bar(context, left, top + 5, width, height - 10, 3);
      if (width > 3) {
        context.strokeStyle = solid;
        context.lineWidth = 1;
        outline(context, left + 0.5, top + 5.5, width - 1, height - 11, 3);
      }
      return;
    }
    case "queue":
    case "wait":
      hatch(
        context,
        left,
        top + 7,
        width,
        height - 14,
        span.kind === "wait" ? colors.warn : colors.skip,
      );
      return;
    case "turn": {
      const soft = {
        running: colors.runSoft,
        succeeded: colors.skipSoft,
        failed: colors.failSoft,
        "answered-no": colors.runSoft,
        canceled: colors.skipSoft,
        skipped: colors.skipSoft,
        neutral: colors.skipSoft,
      }[status];
      context.fillStyle = soft;
      bar(context, left, top + 2, width, height - 4, 3);
      if (width > 3) {
        context.strokeStyle = status === "failed" ? colors.fail : colors.line;
        context.lineWidth = 1;
        outline(context, left + 0.5, top + 2.5, width - 1, height - 5, 3);
      }
      return;
    }
    case "step":
      context.fillStyle = solid;
      bar(context, left, top + height - 9, Math.max(1, width - 1), 3, 1);
      return;
    case "action":
      context.fillStyle = solid;
      // A gap between two that follow one another.
      bar(context, left, top + 5, Math.max(1, width - 1), height - 10, 2);
      return;
    case "model":
      context.fillStyle = status === "failed" || status === "canceled" ? solid : colors.accent;
      bar(context, left, top + 5, width, height / 2 - 6, 1.5);
      return;
    case "tool":
      context.fillStyle = status === "succeeded" ? colors.ok : solid;
      bar(context, left, top + height / 2 + 1, width, height / 2 - 6, 1.5);
  }
}

function bar(
  context: CanvasRenderingContext2D,
  left: number,
  top: number,
  width: number,
  height: number,
  radius: number,
): void {
  if (width < 4) {
    context.fillRect(left, top, width, height);
    return;
  }
  context.beginPath();
  context.roundRect(left, top, width, height, radius);
  context.fill();
}

function outline(
  context: CanvasRenderingContext2D,
  left: number,
  top: number,
  width: number,
  height: number,
  radius: number,
): void {
  context.beginPath();
  context.roundRect(left, top, width, height, radius);
  context.stroke();
}

/** A line with a dot pattern: time in which nothing happens. */
function hatch(
  context: CanvasRenderingContext2D,
  left: number,
  top: number,
  width: number,
  height: number,
  color: string,
): void {
  context.strokeStyle = color;
  context.lineWidth = 1.5;
  context.setLineDash([2, 3]);
  context.beginPath();
  context.moveTo(left, top + height / 2);
  context.lineTo(left + width, top + height / 2);
  context.stroke();
  context.setLineDash([]);
}

function drawMark(
  context: CanvasRenderingContext2D,
  { kind }: Mark,
  x: number,
  y: number,
  isStrong: boolean,
  colors: Palette,
): void {
  const size = isStrong ? 6.5 : 5;
  context.lineWidth = 1.5;
  context.strokeStyle = colors.surface;
  context.beginPath();
  switch (kind) {
    case "crash":
    case "failure":
    case "limit":
      context.fillStyle = colors.fail;
      context.moveTo(x, y - size);
      context.lineTo(x + size, y);
      context.lineTo(x, y + size);
      context.lineTo(x - size, y);
      context.closePath();
      break;
    case "retry":
    case "attempt":
    case "restart":
      context.fillStyle = colors.warn;
      context.arc(x, y, size - 0.5, 0, Math.PI * 2);
      break;
    case "denial":
      context.fillStyle = colors.warn;
      context.moveTo(x - size, y - size + 1);
      context.lineTo(x + size, y - size + 1);
      context.lineTo(x, y + size);
      context.closePath();
  }
  context.fill();
  context.stroke();
}

function drawLabels(
  context: CanvasRenderingContext2D,
  visible: readonly LaneRow[],
  view: View,
  colors: Palette,
): void {
  const { labelWidth, height, scrollTop } = view;
  context.save();
  context.beginPath();
  context.rect(0, AXIS_HEIGHT, labelWidth - 8, height - AXIS_HEIGHT);
  context.clip();
  for (const row of visible) {
    const top = AXIS_HEIGHT + row.top - scrollTop;
    const isSelected = row.work !== undefined && row.work.workId === view.selectedWork;
    const weight = row.work === undefined || isSelected ? 650 : 500;
    const labelFont = row.isSession ? `11px ${colors.font}` : `${weight} 12px ${colors.font}`;
    const noteFont = `11px ${colors.font}`;
    const middle = top + row.height / 2 + 0.5;
    const left = row.isSession ? 24 : 12;
    context.font = noteFont;
    const noteWidth = row.note === "" ? 0 : context.measureText(row.note).width + 6;
    context.font = labelFont;
    const text = fitted(context, row.label, labelWidth - left - 10 - noteWidth);
    context.fillStyle = row.isSession ? colors.muted : colors.text;
    context.fillText(text, left, middle);
    const after = left + context.measureText(text).width + 6;
    context.font = noteFont;
    context.fillStyle = colors.muted;
    context.fillText(row.note, after, middle);
  }
  context.restore();
  context.fillStyle = colors.line;
  context.fillRect(labelWidth - 1, 0, 1, height);
}

/** The beginning of a text that fits. */
function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  const short = truncate(text, 80);
  if (context.measureText(short).width <= width) return short;
  let [low, high] = [0, short.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (context.measureText(`${truncate(short, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return `${truncate(short, low)}…`;
}

function drawAxis(
  context: CanvasRenderingContext2D,
  lines: ReturnType<typeof ticks>,
  x: ToX,
  { width, labelWidth }: View,
  colors: Palette,
): void {
  context.fillStyle = colors.sunken;
  context.fillRect(0, 0, width, AXIS_HEIGHT);
  context.fillStyle = colors.line;
  context.fillRect(0, AXIS_HEIGHT - 1, width, 1);
  context.font = `11px ${colors.font}`;
  context.fillStyle = colors.muted;
  context.save();
  context.beginPath();
  context.rect(labelWidth, 0, width - labelWidth, AXIS_HEIGHT);
  context.clip();
  for (const { at, text } of lines) context.fillText(text, x(at) + 4, AXIS_HEIGHT / 2 + 0.5);
  context.restore();
}
