import type { Permissions, PreparedEntry, PreparedTask } from "../entry/model.ts";
import type { MadeDecision } from "../events/decision.ts";
import type { WorkRef } from "../events/event.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import type { CallBudget, ResolvedLimits, TokenBudget } from "./limits.ts";
import type { EnginePorts, Session } from "./ports.ts";
import type { RateLimit } from "./rate-limit.ts";
import type { Scope } from "./scope.ts";
import type { Variables } from "./variables.ts";

/**
 * Who owns the sessions of a task. `single`: one for everything; `multiple`: one for each purpose;
 * `borrowed`: the caller lends one, which is never replaced and never closed.
 */
export type SessionMode =
  | { readonly kind: "single" }
  | { readonly kind: "multiple" }
  | { readonly kind: "borrowed"; readonly session: Session };

/** Everything that one run of one task needs to know. */
export interface TaskContext {
  readonly entry: PreparedEntry;
  readonly task: PreparedTask;
  readonly work: WorkRef;
  readonly mode: SessionMode;
  /** The model of the task session. */
  readonly modelId: string;
  readonly workingDirectory: string;
  readonly permissions: Permissions;
  readonly limits: ResolvedLimits;
  readonly variables: Variables;
  readonly scope: Scope;
  readonly calls: CallBudget;
  readonly tokens: TokenBudget;
  readonly rateLimit: RateLimit;
  /** The attempt of this task that began last. */
  readonly latestTry: LatestTry;
  /** Unique in the run. */
  readonly nextTurnId: () => string;
  /** The attempt that began last in the run, whichever task's it is. */
  readonly latestOfRun: LatestTry;
  readonly ports: EnginePorts;
}

export interface LatestTry {
  attempt: number;
  attempts: number;
}

/** What is waited for now, for a sentence that says why something ended. */
export function waitingFor(
  { awaited }: EnginePorts,
  { attempt, attempts }: LatestTry,
): { readonly waitingFor?: string } {
  const server = awaited?.();
  return server === undefined ? {} : { waitingFor: `${server}, attempt ${attempt} of ${attempts}` };
}

export function decide(context: TaskContext, decision: MadeDecision): void {
  context.ports.emit({ type: "decision", work: context.work, decision });
}

/** Passes on what happens in a session, and holds it against the budgets. */
export function observe(
  context: TaskContext,
  turn: { readonly sessionId: string; readonly turnId: string },
  happened: SessionActivity,
): void {
  const activity = context.scope.stopped === undefined ? happened : cutOff(happened);
  context.ports.emit({ type: "activity", work: context.work, ...turn, activity });
  switch (activity.kind) {
    case "model.used":
      context.calls.spend();
      context.tokens.spend(activity);
      context.rateLimit.lifted();
      break;
    case "model.failed":
      if (activity.statusCode === 429) context.rateLimit.met();
      context.calls.fail(activity.statusCode);
      break;
    case "agent.started":
      context.calls.beforeCall();
      break;
    default:
      break;
  }
}

/** What the stop of the task has cut off is no error. */
function cutOff(activity: SessionActivity): SessionActivity {
  return activity.kind === "tool.ended" && !activity.succeeded
    ? { ...activity, stopped: true }
    : activity;
}
