/** The geometry of the timeline: which lanes it has, where its ticks are, and what is at a point. Pure. */
import type { Lane, Mark, Place, RunModel, SessionModel, Span, WorkModel } from "./model.ts";

export interface LaneRow {
  readonly lane: Lane;
  /** Undefined: the lane of the job. */
  readonly work: WorkModel | undefined;
  /** Of sessions or actions, below the lane of their work. */
  readonly isSession: boolean;
  readonly label: string;
  /** What tells lanes with the same label apart. */
  readonly note: string;
  readonly top: number;
  readonly height: number;
}

const WORK_LANE = 26;
const SESSION_LANE = 22;

/** The lanes from top to bottom. Works that never started have one too, as long as the run may start them. */
export function laneRows(model: RunModel, withSessions: boolean): readonly LaneRow[] {
  const rows: LaneRow[] = [];
  let top = 0;
  const add = (row: Omit<LaneRow, "top">): void => {
    rows.push({ ...row, top });
    top += row.height;
  };
  add({
    lane: model.jobLane,
    work: undefined,
    isSession: false,
    label: model.view.jobName,
    note: "job",
    height: WORK_LANE,
  });
  for (const work of model.works.values()) {
    const { taskId: label, workId } = work;
    add({ lane: work.lane, work, isSession: false, label, note: `#${workId}`, height: WORK_LANE });
    for (const lane of withSessions ? work.sessionLanes : []) {
      const session = laneLabel(lane.sessions);
      add({ lane, work, isSession: true, label: session, note: "", height: SESSION_LANE });
    }
    for (const [index, lane] of work.actionLanes.entries()) {
      const label = index === 0 ? "actions" : "";
      add({ lane, work, isSession: true, label, note: "", height: SESSION_LANE });
    }
  }
  return rows;
}

function laneLabel(sessions: readonly SessionModel[]): string {
  const [first] = sessions;
  if (first === undefined) return "";
  if (sessions.length > 1) return `${sessions.length} sessions`;
  const whose = first.task === undefined ? "" : `${first.task} `;
  const name = `${whose}${first.role === "both" ? "session" : `${first.role} session`}`;
  return first.attempt > 1 ? `${name}, attempt ${first.attempt}` : name;
}

/** A visible part of the time, in milliseconds. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

const SHORTEST_MS = 5;

/** The whole run, with a little room after its end. */
export function wholeRange(model: RunModel, now: number | undefined): Range {
  const from = model.firstAt ?? 0;
  const end = Math.max(model.lastAt ?? from, now ?? from, from + 1000);
  return { from, to: end + (end - from) * 0.01 };
}

/** `range` zoomed by `factor` around the time `at`, within `whole`. */
export function zoomed(range: Range, factor: number, at: number, whole: Range): Range {
  const length = Math.max(SHORTEST_MS, (range.to - range.from) * factor);
  if (length >= whole.to - whole.from) return whole;
  const share = (at - range.from) / (range.to - range.from);
  const from = at - length * share;
  return within({ from, to: from + length }, whole);
}

export function panned(range: Range, by: number, whole: Range): Range {
  return within({ from: range.from + by, to: range.to + by }, whole);
}

function within({ from, to }: Range, whole: Range): Range {
  const length = to - from;
  const begin = Math.min(Math.max(from, whole.from), Math.max(whole.from, whole.to - length));
  return { from: begin, to: begin + length };
}

const steps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000,
  300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000,
] as const;

export interface Tick {
  readonly at: number;
  readonly text: string;
}

/** Times since `start`, so far apart that about `count` fit. Never more than 200. */
export function ticks({ from, to }: Range, start: number, count: number): readonly Tick[] {
  const wanted = (to - from) / Math.max(1, count);
  const step = steps.find((one) => one >= wanted) ?? Math.ceil(wanted / 86_400_000) * 86_400_000;
  const first = Math.ceil((from - start) / step);
  const list: Tick[] = [];
  for (let index = first; list.length < 200; index += 1) {
    const since = index * step;
    if (!(start + since <= to)) break;
    list.push({ at: start + since, text: tickText(since, step) });
  }
  return list;
}

function tickText(ms: number, step: number): string {
  if (ms === 0) return "0";
  if (Math.abs(ms) < 1000 || step < 1000) {
    return step < 1000 && Math.abs(ms) >= 1000 ? `${trim(ms / 1000, 3)} s` : `${Math.round(ms)} ms`;
  }
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60)
    return seconds % 60 === 0 ? `${minutes} min` : `${minutes}:${two(seconds % 60)}`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 && seconds % 60 === 0
    ? `${hours} h`
    : `${hours}:${two(minutes % 60)}${seconds % 60 === 0 ? "" : `:${two(seconds % 60)}`} h`;
}

function trim(value: number, digits: number): string {
  return value.toFixed(digits).replace(/\.?0+$/, "");
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** Something on a lane that can be pointed at or focused. */
export type Item =
  { readonly kind: "span"; readonly span: Span } | { readonly kind: "mark"; readonly mark: Mark };

export function placeOfItem(item: Item): Place | undefined {
  return item.kind === "span" ? item.span.source : item.mark.source;
}

/**
 * What is at `at` on a lane: a mark within `slack` milliseconds, or the shortest span. `part`: 0 at the upper edge of
 * the lane, 1 at the lower one: model calls are above tool calls.
 */
export function itemAt(
  row: LaneRow,
  at: number,
  slack: number,
  part: number,
  end: number,
): Item | undefined {
  let best: Item | undefined;
  let distance = slack;
  for (const mark of row.lane.marks) {
    if (Math.abs(mark.at - at) > distance) continue;
    distance = Math.abs(mark.at - at);
    best = { kind: "mark", mark };
  }
  if (best !== undefined) return best;
  let length = Infinity;
  for (const span of row.lane.spans) {
    if ((span.kind === "model" && part > 0.5) || (span.kind === "tool" && part <= 0.5)) continue;
    const last = span.end ?? end;
    if (at < span.start - slack / 2 || at > last + slack / 2 || last - span.start > length)
      continue;
    length = last - span.start;
    best = { kind: "span", span };
  }
  return best;
}

/** What can be focused on a lane, by time. */
export function itemsOf(lane: Lane): readonly Item[] {
  const spans = lane.spans
    .filter(({ kind }) => kind !== "queue")
    .map((span): Item => ({ kind: "span", span }));
  const marks = lane.marks.map((mark): Item => ({ kind: "mark", mark }));
  return [...spans, ...marks].sort((one, other) => startOf(one) - startOf(other));
}

export function startOf(item: Item): number {
  return item.kind === "span" ? item.span.start : item.mark.at;
}
