/** The lanes of the timeline: spans and marks, as `run-model.ts` puts them there. */
import type { Decision } from "../../src/events/decision.ts";
import {
  MAX_SESSION_LANES,
  SESSION_LANES,
  type Lane,
  type MarkKind,
  type Place,
  type Span,
  type SpanKind,
  type SpanStatus,
  type WorkModel,
} from "./model.ts";

export function newLane(): Lane {
  return { spans: [], marks: [], sessions: [] };
}

/** Its source is set as soon as that exists. */
export function addSpan(lane: Lane, kind: SpanKind, start: number): Span {
  const span: Span = { kind, start, end: undefined, status: "running", source: undefined };
  lane.spans.push(span);
  return span;
}

/** The first end counts: what follows it are leftovers. */
export function endSpan(span: Span, at: number, status: SpanStatus): void {
  if (span.end !== undefined) return;
  span.end = Math.max(at, span.start);
  span.status = status;
}

/** Takes back one of the last spans. */
export function dropSpan(lane: Lane, span: Span): void {
  lane.spans.splice(lane.spans.lastIndexOf(span), 1);
}

export function addMark(lane: Lane, kind: MarkKind | undefined, at: number, source: Place): void {
  if (kind !== undefined) lane.marks.push({ kind, at, source });
}

/** A new lane; once a work has many, one whose sessions have all ended. */
export function freeLane(work: WorkModel): Lane {
  const { sessionLanes } = work;
  const shared = sessionLanes[work.sessionCount % MAX_SESSION_LANES];
  if (sessionLanes.length === MAX_SESSION_LANES && shared !== undefined) return shared;
  const free =
    sessionLanes.length < SESSION_LANES
      ? undefined
      : sessionLanes.find(({ sessions }) => sessions.at(-1)?.endedAt !== undefined);
  if (free !== undefined) return free;
  const lane = newLane();
  sessionLanes.push(lane);
  return lane;
}

/** The mark of a decision, if it has one. */
export function markOf(decision: Decision): MarkKind | undefined {
  switch (decision.kind) {
    case "session-crashed":
      return "crash";
    case "criteria-retry":
      return "retry";
    case "further-attempt":
      return "attempt";
    case "limit-exceeded":
      return "limit";
    case "model-unreachable":
      return "failure";
    case "runtime-restarted":
      return "restart";
    default:
      return undefined;
  }
}
