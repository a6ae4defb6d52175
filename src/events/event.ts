import type { Crash } from "./crash.ts";
import type { MadeDecision, Purpose, SessionRole } from "./decision.ts";
import type { RunPlan } from "./plan.ts";
import type { SessionActivity } from "./session-activity.ts";

/**
 * The one union of everything that happens in a run. The engine emits the bodies, the sink stamps
 * and redacts them; the journal, the terminal, the summary and a recording are folds over them.
 */
export type RunEvent = RunStamp & RunEventBody;

/** What the sink adds to every event. */
export interface RunStamp {
  /** In milliseconds since 1970; never runs backwards within a run. */
  readonly at: number;
  /** Unique for every run, so that events of concurrent runs can be told apart. */
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
  | SessionActed;

/** Which piece of work an event belongs to. `run` counts the starts of this work, from 1 (loops). */
export interface WorkRef {
  readonly workId: number;
  readonly taskId: string;
  readonly run: number;
}

export interface RunStarted extends RunPlan {
  readonly type: "run.started";
  readonly jobName: string;
  /** The entry file as the user named it; absent for an entry built in code. */
  readonly entryFile?: string;
  readonly workingDirectory: string;
}

/** How a run has ended. */
export type RunOutcome =
  | { readonly kind: "succeeded" }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "canceled"; readonly reason: string };

export interface RunEnded {
  readonly type: "run.ended";
  readonly outcome: RunOutcome;
  /** What the job itself came to, where `outcome` is the verdict on a rehearsal. */
  readonly jobOutcome?: RunOutcome;
}

export interface WorkStarted {
  readonly type: "work.started";
  readonly work: WorkRef;
  readonly modelId: string;
}

/** How one run of a work has ended. */
export type WorkOutcome =
  | { readonly kind: "succeeded" }
  /** `unanswered`: no verdict of availability or criteria, so a condition that ends so has not answered. */
  | { readonly kind: "failed"; readonly reason: string; readonly unanswered?: true }
  /** Its attempts were exhausted: the job stops. */
  | { readonly kind: "crashed"; readonly crash: Crash }
  | { readonly kind: "canceled"; readonly reason: string };

export interface WorkEnded {
  readonly type: "work.ended";
  readonly work: WorkRef;
  readonly outcome: WorkOutcome;
}

/**
 * A decision that no other event says; `decisionOf` has the others too. `work` is null for one about the whole
 * job.
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
  /** 0, else the criteria retry it was opened for. */
  readonly retry: number;
  /** 1, else it replaces a session that crashed. */
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
  /** 0 for the first time, else the number of the criteria retry. */
  readonly retry: number;
  /** 1, else one more after every crash. */
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
