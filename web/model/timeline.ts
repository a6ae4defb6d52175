/** The bars of the timeline, made from the model: which lanes there are, what is on them, and where. Pure. */
import type { Decision } from "../../src/events/decision.ts";
import { formatDuration } from "../parts/format.ts";
import type {
  Block,
  DecisionItem,
  Entry,
  IterationModel,
  Place,
  RunModel,
  SessionModel,
  Status,
  TurnModel,
  WorkModel,
} from "./model.ts";
import { iterationOfPlace, stateOf, titleOf } from "./places.ts";

/** `queue`: until a turn could start (a free slot, a new session). `wait`: a wait that was decided. */
export type SpanKind =
  "job" | "iteration" | "queue" | "wait" | "step" | "action" | "turn" | "model" | "tool";
export type MarkKind = "crash" | "retry" | "attempt" | "denial" | "limit" | "failure" | "restart";

/** A mark starts and ends at the same time. */
export interface Bar {
  readonly kind: SpanKind | MarkKind;
  readonly start: number;
  /** Undefined: it has not ended. */
  readonly end: number | undefined;
  /** The place that it shows; undefined for the job itself. */
  readonly place: Place | undefined;
  /** By default, the state of its place. */
  readonly status?: Status | undefined;
}

export interface Lane {
  /** Undefined: the lane of the job. */
  readonly work: WorkModel | undefined;
  /** Its bars belong to sessions or actions of the work. */
  readonly isInner: boolean;
  readonly label: string;
  /** Distinguishes lanes with the same label. */
  readonly note: string;
  readonly key: string;
  /** In the order of their starts, marks last. Made when the lane comes into view. */
  readonly bars: () => readonly Bar[];
}

/** Each session of a work gets a lane, up to so many; from then on, free lanes are used again. */
export const SESSION_LANES = 6;
/** Even if no session or action of a damaged journal ends. */
export const MAX_LANES = 48;

/** The lanes from top to bottom. */
export function lanesOf(model: RunModel, withSessions: boolean): readonly Lane[] {
  const lanes: Lane[] = [];
  const add = (lane: Omit<Lane, "key">, key: string): void => {
    const bars = once(() => lane.bars().toSorted(byStart));
    lanes.push({ ...lane, key, bars });
  };
  const { view, works, decisions } = model;
  const job = { work: undefined, isInner: false, label: view.jobName, note: "job" };
  add({ ...job, bars: () => [...jobBars(model), ...decisions.flatMap(ofJob)] }, "job");
  for (const work of works.values()) {
    const { taskId: label, workId } = work;
    const iterations = [...work.iterations.values()];
    const own = { work, isInner: false, label, note: `#${workId}` };
    add({ ...own, bars: () => iterations.flatMap(workBars) }, `w${workId}`);
    const inner = { work, isInner: true, note: "" };
    const sessions = iterations.flatMap((one) => [...one.sessions.values()]);
    for (const [index, on] of withSessions ? packed(sessions, SESSION_LANES).entries() : [])
      add(
        { ...inner, label: sessionsText(on), bars: () => on.flatMap(barsOf) },
        `s${workId}-${index}`,
      );
    const actions = iterations
      .flatMap(({ entries }) => entries)
      .flatMap((entry) =>
        entry.kind === "action" && entry.since !== undefined && entry.of !== "group"
          ? [
              {
                kind: "action" as const,
                startedAt: entry.since,
                endedAt: entry.endedAt,
                place: entry,
              },
            ]
          : [],
      )
      .toSorted((a, b) => a.startedAt - b.startedAt);
    for (const [index, on] of packed(actions, 0).entries()) {
      const bars = () =>
        on.map(({ startedAt: start, endedAt: end, ...bar }) => ({ ...bar, start, end }));
      add({ ...inner, label: index === 0 ? "actions" : "", bars }, `a${workId}-${index}`);
    }
  }
  return lanes;
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

function byStart(one: Bar, other: Bar): number {
  return layerOf(one) - layerOf(other) || one.start - other.start;
}

/** Crashes and the like are seen even where marks overlap. */
function layerOf(bar: Bar): number {
  if (!isMark(bar)) return 0;
  return bar.kind === "crash" || bar.kind === "limit" || bar.kind === "failure" ? 2 : 1;
}

interface Lasting {
  readonly startedAt: number;
  readonly endedAt: number | undefined;
}

/** Puts things that don't overlap on one lane, after the first `fresh` ones. The last of too many share lanes. */
function packed<T extends Lasting>(all: readonly T[], fresh: number): readonly (readonly T[])[] {
  const lanes: T[][] = [];
  for (const [index, one] of all.entries()) {
    const isFree = (lane: readonly T[]) => (lane.at(-1)?.endedAt ?? Infinity) <= one.startedAt;
    const free = lanes.length < fresh ? undefined : lanes.find(isFree);
    const lane = free ?? (lanes.length < MAX_LANES ? undefined : lanes[index % MAX_LANES]);
    if (lane === undefined) lanes.push([one]);
    else lane.push(one);
  }
  return lanes;
}

function sessionsText(sessions: readonly SessionModel[]): string {
  const [first] = sessions;
  if (first === undefined) return "";
  if (sessions.length > 1) return `${sessions.length} sessions`;
  const { task, role, attempt } = first;
  const name = `${task === undefined ? "" : `${task} `}${role === "both" ? "" : `${role} `}session`;
  return attempt > 1 ? `${name}, attempt ${attempt}` : name;
}

function jobBars({ view }: RunModel): readonly Bar[] {
  const { startedAt: start, endedAt: end, status } = view;
  return start === undefined ? [] : [{ kind: "job", start, end, status, place: undefined }];
}

function ofJob(item: DecisionItem): readonly Bar[] {
  return item.iteration === undefined ? decisionBars(item) : [];
}

function decisionBars(item: DecisionItem): readonly Bar[] {
  const { at: start, decision, derived } = item;
  if (decision.kind === "waiting") {
    const end = start + Math.max(0, decision.milliseconds);
    return [{ kind: "wait", start, end, place: item }];
  }
  const kind = marks[decision.kind];
  return kind === undefined || derived ? [] : [{ kind, start, end: start, place: item }];
}

const marks: { readonly [kind in Decision["kind"]]?: MarkKind } = {
  "session-crashed": "crash",
  "criteria-retry": "retry",
  "further-attempt": "attempt",
  "limit-exceeded": "limit",
  "model-unreachable": "failure",
  "runtime-restarted": "restart",
};

/** An iteration, its steps and decisions, and the time in which it had to wait before a turn. */
function workBars(iteration: IterationModel): readonly Bar[] {
  const { at, endedAt, entries } = iteration;
  const bars: Bar[] = [{ kind: "iteration", start: at, end: endedAt, place: iteration }];
  let idleSince = at;
  for (const entry of entries) {
    if (entry.kind === "turn" && entry.at > idleSince)
      bars.push({ kind: "queue", start: idleSince, end: entry.at, place: entry });
    if (entry.kind === "step")
      bars.push({ kind: "step", start: entry.at, end: entry.endedAt, place: entry });
    const ofDecision = entry.kind === "decision" ? decisionBars(entry) : [];
    bars.push(...ofDecision);
    const end = ofDecision[0]?.end ?? ("endedAt" in entry ? (entry.endedAt ?? Infinity) : entry.at);
    if (entry.kind !== "decision" || ofDecision[0]?.kind === "wait")
      idleSince = Math.max(idleSince, end);
  }
  return bars;
}

function barsOf({ turns }: SessionModel): readonly Bar[] {
  return [...turns.values()].flatMap((turn) => [
    { kind: "turn" as const, start: turn.at, end: turn.endedAt, place: turn },
    ...turn.blocks.flatMap(blockBars),
    ...unreportedCalls(turn),
  ]);
}

function blockBars(block: Block): readonly Bar[] {
  const { turn, at } = block;
  switch (block.kind) {
    case "call":
      return [{ kind: "tool", start: at, end: block.endedAt, place: block }];
    case "usage": {
      // It can't have begun before its turn, whatever the clock of the runtime says.
      const earliest = turn.start === undefined ? -Infinity : turn.at;
      const start = Math.max(earliest, at - Math.max(0, block.used.durationMs));
      return [{ kind: "model", start, end: at, place: block }];
    }
    case "model-failure":
      return [{ kind: "failure", start: at, end: at, place: block }];
    case "denial":
      return [{ kind: "denial", start: at, end: at, place: block }];
    default:
      return [];
  }
}

/** Model calls are reported when they end. Those that failed, or have not ended, began after what was before them. */
function unreportedCalls(turn: TurnModel): readonly Bar[] {
  const bars: Bar[] = [];
  let since = turn.at;
  let reported = -Infinity;
  let isCalling = false;
  for (const block of turn.blocks) {
    if (block.kind === "call") {
      isCalling ||= block.endedAt === undefined;
      since = Math.max(since, block.endedAt ?? since);
    } else if (block.kind === "usage" && !block.used.subAgent) reported = block.at;
    else if (block.kind === "model-failure" && !block.failure.subAgent) {
      bars.push({ kind: "model", start: since, end: block.at, place: block });
      since = block.at;
    }
  }
  const { endedAt: end, outcome } = turn;
  const isReported = reported >= since || (outcome === "completed" && reported > -Infinity);
  if (isCalling || isReported || (since === end && turn.blocks.length > 0)) return bars;
  return [...bars, { kind: "model", start: since, end, place: turn }];
}

/** A visible part of the time, in milliseconds. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

const SHORTEST_MS = 5;

/** The whole run, with a little room after its end. */
export function wholeRange({ view: { firstAt: from, lastAt } }: RunModel, now = lastAt): Range {
  const end = Math.max(lastAt, now, from + 1000);
  return { from, to: end + (end - from) * 0.01 };
}

/** `range` zoomed by `factor` around the time `at`, within `whole`. */
export function zoomed(range: Range, factor: number, at: number, whole: Range): Range {
  const length = Math.max(SHORTEST_MS, (range.to - range.from) * factor);
  if (length >= whole.to - whole.from) return whole;
  const from = at - (length * (at - range.from)) / (range.to - range.from);
  return panned({ from, to: from + length }, 0, whole);
}

export function panned({ from, to }: Range, by: number, whole: Range): Range {
  const length = to - from;
  const latest = Math.max(whole.from, whole.to - length);
  const begin = Math.min(Math.max(from + by, whole.from), latest);
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
  const list: Tick[] = [];
  for (let index = Math.ceil((from - start) / step); list.length < 200; index += 1) {
    const since = index * step;
    if (!(start + since <= to)) break;
    const isFine = step < 1000 && since >= 1000;
    const text = isFine ? `${Number((since / 1000).toFixed(3))} s` : formatDuration(since);
    list.push({ at: start + since, text: since === 0 ? "0" : text });
  }
  return list;
}

export function isMark({ kind }: Pick<Bar, "kind">): boolean {
  return markKinds.has(kind);
}

const markKinds: ReadonlySet<Bar["kind"]> = new Set<MarkKind>([
  "crash",
  "retry",
  "attempt",
  "denial",
  "limit",
  "failure",
  "restart",
]);

/**
 * Finds the mark within `slack` milliseconds of `at`, or else the shortest bar. `part`: 0 at the upper edge of
 * the lane, 1 at the lower one: model calls are above tool calls.
 */
export function barAt(
  bars: readonly Bar[],
  at: number,
  slack: number,
  part: number,
  now: number,
): Bar | undefined {
  let best: Bar | undefined;
  let least = Infinity;
  for (const bar of bars) {
    const { kind, start, end = now } = bar;
    if ((kind === "model" && part > 0.5) || (kind === "tool" && part <= 0.5)) continue;
    const room = isMark(bar) ? slack : slack / 2;
    if (at < start - room || at > end + room) continue;
    const size = isMark(bar) ? Math.abs(start - at) - slack - 1 : end - start;
    if (size > least) continue;
    least = size;
    best = bar;
  }
  return best;
}

/** The bars that the keyboard can focus, by time. */
export function focusable(bars: readonly Bar[]): readonly Bar[] {
  return bars.filter(({ kind }) => kind !== "queue").toSorted((a, b) => a.start - b.start);
}

export function barState({ status, place }: Bar, over: boolean): Status {
  if (status !== undefined) return status === "running" && over ? "incomplete" : status;
  return place === undefined ? "pending" : stateOf(place, over);
}

/** `over`: what has not ended never will. */
export function barText(bar: Bar, now: number, over: boolean): string {
  const iteration = bar.place === undefined ? undefined : iterationOfPlace(bar.place);
  const of = iteration === undefined || iteration === bar.place ? "" : ` of ${titleOf(iteration)}`;
  return `${barTitle(bar)}${of}, ${barDetail(bar, now, over)}`;
}

export function barTitle(bar: Bar): string {
  const { kind, place } = bar;
  if (kind === "job" || place === undefined) return "Job";
  if (kind === "queue") return "Waiting for a free slot or a new session";
  if (kind === "model" && place.kind === "turn") return "Model call";
  if (place.kind === "decision") return place.text;
  if (place.kind === "denial") return `Denied ${place.denial.operation} ${place.denial.target}`;
  return titleOf(place);
}

export function barDetail(bar: Bar, now: number, over: boolean): string {
  const { kind, start, end = now, place } = bar;
  if (isMark(bar)) return new Date(start).toLocaleTimeString("en-GB");
  const words = [formatDuration(Math.max(0, end - start))];
  if (place?.kind === "action") words.push(...actionFacts(place));
  const status = barState(bar, over);
  const isPlain =
    kind === "wait" || kind === "queue" || (kind === "model" && status === "succeeded");
  return isPlain ? words.join(", ") : [...words, status.replace("-", " ")].join(", ");
}

function actionFacts(action: Extract<Entry, { kind: "action" }>): readonly string[] {
  const { action: name = "", id, display, percent, endedAt, execution } = action;
  return [
    name === id ? "" : name,
    display?.label ?? "",
    execution === "ASYNC" ? "background" : "",
    percent === undefined || endedAt !== undefined ? "" : `${Math.floor(percent)} %`,
  ].filter((fact) => fact !== "");
}
