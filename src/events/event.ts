import type { ActionEvent } from "./action.ts";
import type { Crash } from "./crash.ts";
import type { MadeDecision, Purpose, SessionRole } from "./decision.ts";
import { sentence } from "./decision-words.ts";
import type { RunPlan, WorkRef } from "./plan.ts";
import type { SessionActivity } from "./session-activity.ts";
import type { StepEnded, StepPrinted, StepStarted } from "./step.ts";

export type { WorkRef };

/**
 * The one union of everything that happens in a run. The engine emits the bodies, and the sink stamps
 * and redacts them. The journal, the terminal, the summary and a recording are folds over them.
 */
export type RunEvent = RunStamp & RunEventBody;

/** What the sink adds to every event. */
export interface RunStamp {
  /** In milliseconds since 1970; never runs backwards within a run. */
  readonly at: number;
  /** Unique for every run, so that events of concurrent runs can be distinguished. */
  readonly runId: string;
}

export type RunEventBody =
  | RunStarted
  | RunEnded
  | WorkStarted
  | WorkEnded
  | Decided
  | SessionStarted
  | SessionEnded
  | TurnStarted
  | TurnEnded
  | SessionActed
  | StepStarted
  | StepPrinted
  | StepEnded
  | Acted;

export interface RunStarted extends RunPlan {
  readonly type: "run.started";
  readonly jobName: string;
  /** The entry file as the user named it; absent for an entry built in code. */
  readonly entryFile?: string;
  readonly workingDirectory: string;
}

/** How a run ended. */
export type RunOutcome =
  | { readonly kind: "succeeded" }
  /** `advice`: what to do about it, if it is known. */
  | { readonly kind: "failed"; readonly reason: string; readonly advice?: string }
  | { readonly kind: "canceled"; readonly reason: string };

/** The reason, followed by the advice; empty for a success. */
export function outcomeText(outcome: RunOutcome): string {
  if (outcome.kind === "succeeded") return "";
  const { reason } = outcome;
  const advice = outcome.kind === "failed" ? outcome.advice : undefined;
  if (advice === undefined) return reason;
  return `${sentence(reason)} ${advice}`;
}

export interface RunEnded {
  readonly type: "run.ended";
  readonly outcome: RunOutcome;
  /** The outcome of the job itself, if `outcome` is that of a rehearsal. */
  readonly jobOutcome?: RunOutcome;
}

export interface WorkStarted {
  readonly type: "work.started";
  readonly work: WorkRef;
  readonly modelId: string;
}

/** How an iteration of a work ended. */
export type WorkOutcome =
  | { readonly kind: "succeeded" }
  /** `unanswered`: no verdict of availability or criteria, so a condition that ends this way has not answered. */
  | { readonly kind: "failed"; readonly reason: string; readonly unanswered?: true }
  /** All attempts failed: the job stops. */
  | { readonly kind: "crashed"; readonly crash: Crash }
  | { readonly kind: "canceled"; readonly reason: string };

export interface WorkEnded {
  readonly type: "work.ended";
  readonly work: WorkRef;
  readonly outcome: WorkOutcome;
  /** What it reports: the RESULT of a workflow. */
  readonly report?: string;
}

/**
 * A decision that can't be derived from another event; `decisionOf` returns both. `work` is null if it is about
 * the whole job.
 */
export interface Decided {
  readonly type: "decision";
  readonly work: WorkRef | null;
  readonly decision: MadeDecision;
}

export interface SessionStarted {
  readonly type: "session.started";
  readonly work: WorkRef;
  readonly sessionId: string;
  readonly modelId: string;
  readonly role: SessionRole;
  /** The criteria retry that it was started for; otherwise 0. */
  readonly retry: number;
  /** Greater than 1 if it replaces a session that crashed. */
  readonly attempt: number;
}

export interface SessionEnded {
  readonly type: "session.ended";
  readonly work: WorkRef;
  readonly sessionId: string;
  readonly role: SessionRole;
  /**
   * Of a session that served one purpose: whether that went well (a condition that does not hold did not).
   * Of one that was open when the task ended: whether the task succeeded.
   */
  readonly succeeded: boolean;
}

export interface TurnStarted {
  readonly type: "turn.started";
  readonly work: WorkRef;
  readonly sessionId: string;
  /** Unique in the run. */
  readonly turnId: string;
  readonly modelId: string;
  readonly purpose: Purpose;
  /** The number of the criteria retry; 0 before the first one. */
  readonly retry: number;
  /** Starts at 1, and is increased by every crash. */
  readonly attempt: number;
  readonly prompt: string;
}

export interface TurnEnded {
  readonly type: "turn.ended";
  readonly work: WorkRef;
  readonly sessionId: string;
  readonly turnId: string;
  readonly purpose: Purpose;
  readonly outcome: "completed" | "crashed" | "canceled";
}

export interface SessionActed {
  readonly type: "activity";
  readonly work: WorkRef;
  readonly sessionId: string;
  /** Of the turn in which it happened. */
  readonly turnId: string;
  readonly activity: SessionActivity;
}

/** Something happened to a document or an action of a task with the action protocol. */
export interface Acted {
  readonly type: "action";
  readonly work: WorkRef;
  readonly action: ActionEvent;
}
