/**
 * The one union of everything that happens in a run. The engine emits the bodies, and the sink stamps
 * and redacts them. The journal, the terminal, the summary and a recording are folds over them.
 */
import { actionEvent } from "./action.ts";
import { crash } from "./crash.ts";
import { madeDecision } from "./decision.ts";
import { purpose, role, sentence } from "./decision-words.ts";
import { finding, proposal, verdict } from "./output-shapes.ts";
import { plan, workRef as work } from "./plan.ts";
import { sessionActivity } from "./session-activity.ts";
import {
  anything,
  both,
  count,
  flag,
  list,
  natural,
  nullable,
  optional,
  record,
  tagged,
  text,
  words,
  yes,
  type Shape,
  type TypeOf,
} from "./shape.ts";
import { stepEnded, stepPrinted, stepStarted } from "./step.ts";

const runOutcome = tagged("kind", {
  succeeded: {},
  /** `advice`: what to do about it, if it is known. */
  failed: { reason: text, advice: optional(text) },
  canceled: { reason: text },
  /** Nothing of the job ran, because of the change. */
  skipped: { reason: text },
});
/** How a run ended. */
export type RunOutcome = TypeOf<typeof runOutcome>;

const workOutcome = tagged("kind", {
  succeeded: {},
  /** `unanswered`: no verdict of availability or criteria, so a condition that ends this way has not answered. */
  failed: { reason: text, unanswered: optional(yes) },
  /** All attempts failed: the job stops. */
  crashed: { crash },
  canceled: { reason: text },
  /** The change has nothing for it. */
  skipped: { reason: text },
});
/** How an iteration of a work ended. */
export type WorkOutcome = TypeOf<typeof workOutcome>;

const session = { work, sessionId: text };
const turn = {
  ...session,
  /** Unique in the run. */
  turnId: text,
};

const bodies = {
  "run.started": {
    ...plan,
    jobName: text,
    /** The entry file as the user named it; absent for an entry built in code. */
    entryFile: optional(text),
    workingDirectory: text,
  },
  /** `jobOutcome`: the outcome of the job itself, if `outcome` is that of a rehearsal. */
  "run.ended": { outcome: runOutcome, jobOutcome: optional(runOutcome) },
  /** `modelId`: of the task session; a command has none. `restored`: taken over from the run that is resumed. */
  "work.started": { work, modelId: optional(text), restored: optional(yes) },
  /**
   * `report`: what it reports, the RESULT of a workflow. `output`: what `$previous-result` is after it, where a prompt
   * has that and it is no report.
   */
  "work.ended": { work, outcome: workOutcome, report: optional(text), output: optional(text) },
  /** An `Each` has its items. `workId`: of its first work. */
  "items.listed": { workId: count, items: list(text), outerItems: optional(list(text)) },
  /**
   * A decision that can't be derived from another event; `decisionOf` returns both. `work` is null if it is about
   * the whole job.
   */
  decision: { work: nullable(work), decision: madeDecision },
  "session.started": {
    ...session,
    modelId: text,
    role,
    /** The criteria retry that it was started for; otherwise 0. */
    retry: count,
    /** Greater than 1 if it replaces a session that crashed. */
    attempt: natural,
  },
  "session.ended": {
    ...session,
    role,
    /**
     * Of a session that served one purpose: whether that went well (a condition that does not hold did not).
     * Of one that was open when the task ended: whether the task succeeded.
     */
    succeeded: flag,
  },
  "turn.started": {
    ...turn,
    modelId: text,
    purpose,
    /** The number of the criteria retry; 0 before the first one. */
    retry: count,
    /** Starts at 1, and is increased by every crash. */
    attempt: natural,
    prompt: text,
  },
  "turn.ended": { ...turn, purpose, outcome: words("completed", "crashed", "canceled") },
  activity: { ...turn, activity: sessionActivity },
  /** A task has called `job_report`. Only the last call of a run counts. */
  "report.given": { work, title: optional(text), markdown: text },
  /** A task has called `job_result` with arguments that fit. Only the last call of a run counts. */
  "result.given": { work, result: anything },
  /** A task has called `job_annotate`. `first`: what its run has reported before doesn't count any more. */
  "finding.reported": { work, finding, first: optional(yes) },
  /** A task has called `job_verdict`. Only the last call of a run counts. */
  "verdict.given": { work, verdict },
  /** A task has called `job_propose`. `first`: as of findings. */
  "proposal.made": { work, proposal, first: optional(yes) },
  /** A task has called `job_remember`. */
  "note.added": { work, note: text },
  /** Something happened to a document or an action of a task with the action protocol. */
  action: { work, action: actionEvent },
  "step.started": stepStarted,
  "step.output": stepPrinted,
  "step.ended": stepEnded,
};

/** What the sink adds to every event. */
const stamp = record({
  /** In milliseconds since 1970; never runs backwards within a run. */
  at: count,
  /** Unique for every run, so that events of concurrent runs can be distinguished. */
  runId: text,
});
const body = tagged("type", bodies);

export const eventTypes: ReadonlySet<string> = new Set(Object.keys(bodies));
export const eventShape: Shape<RunEvent> = both(stamp, body);

/** Everything that happens in a run. */
export type RunEvent = RunStamp & RunEventBody;
export type RunStamp = TypeOf<typeof stamp>;
export type RunEventBody = TypeOf<typeof body>;
export type EventOf<Type extends RunEventBody["type"]> = Extract<
  RunEventBody,
  { readonly type: Type }
>;
export type { WorkRef } from "./plan.ts";
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
