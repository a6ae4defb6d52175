import { sentence } from "./decision-words.ts";
import type { EventOf, RunOutcome } from "./event-shapes.ts";

export type {
  EventOf,
  RunEvent,
  RunEventBody,
  RunOutcome,
  RunStamp,
  WorkOutcome,
} from "./event-shapes.ts";
export type { WorkRef } from "./plan-shapes.ts";
export type RunStarted = EventOf<"run.started">;
export type WorkStarted = EventOf<"work.started">;
export type WorkEnded = EventOf<"work.ended">;
export type Decided = EventOf<"decision">;
export type SessionStarted = EventOf<"session.started">;
export type TurnStarted = EventOf<"turn.started">;
export type TurnEnded = EventOf<"turn.ended">;
export type SessionActed = EventOf<"activity">;
export type Acted = EventOf<"action">;

/** The reason, followed by the advice; empty for a success. */
export function outcomeText(outcome: RunOutcome): string {
  if (outcome.kind === "succeeded") return "";
  const { reason } = outcome;
  const advice = outcome.kind === "failed" ? outcome.advice : undefined;
  if (advice === undefined) return reason;
  return `${sentence(reason)} ${advice}`;
}
