import type { Crash } from "./crash.ts";

/** What the runner decided, and why. `[CATEGORY] text` is made from it at the edge (`decisionText`). */
export type Decision =
  | {
      readonly kind: "availability-passed";
      readonly field: AvailabilityField;
      readonly content: string;
      readonly reason: string;
    }
  | {
      readonly kind: "availability-failed";
      readonly field: AvailabilityField;
      readonly content: string;
      readonly reason: string;
    }
  | {
      readonly kind: "criteria-passed";
      readonly field: CriteriaField;
      readonly content: string;
      readonly reason: string;
    }
  | {
      readonly kind: "criteria-failed";
      readonly field: CriteriaField;
      readonly content: string;
      readonly reason: string;
    }
  | {
      readonly kind: "session-crashed";
      readonly purpose: Purpose;
      readonly attempt: number;
      readonly attempts: number;
      readonly crash: Crash;
    }
  | {
      readonly kind: "crash-retry";
      readonly purpose: Purpose;
      readonly retry: number;
      readonly of: number;
      readonly modelId: string;
      /** Who did not answer at the last try. */
      readonly waitingFor?: string;
    }
  | {
      readonly kind: "criteria-retry";
      readonly retry: number;
      readonly of: number;
      readonly reason: string;
    }
  | {
      readonly kind: "crash-budget-drained";
      readonly purpose: Purpose;
      readonly attempts: number;
      readonly advice?: string;
    }
  | { readonly kind: "criteria-budget-drained"; readonly retries: number; readonly reason: string }
  | { readonly kind: "availability-drained"; readonly reason: string }
  | {
      readonly kind: "session-started";
      readonly sessionId: string;
      readonly modelId: string;
      readonly role: SessionRole;
    }
  | { readonly kind: "session-ended"; readonly sessionId: string; readonly role: SessionRole }
  | { readonly kind: "waiting"; readonly milliseconds: number; readonly reason: string }
  | { readonly kind: "runtime-restarted"; readonly reason: string }
  /** Nobody answers where the models are. */
  | { readonly kind: "model-unreachable"; readonly server: string; readonly reason: string }
  /** What killed runs of before had left: their processes and files. */
  | { readonly kind: "leftovers-ended"; readonly runs: number }
  | {
      readonly kind: "permission-denied";
      readonly operation: string;
      readonly target: string;
      readonly reason: string;
    }
  /** Errors inside a session, which the runtime or the model may get over by itself. */
  | {
      readonly kind: "model-call-failed";
      readonly statusCode?: number;
      readonly reason?: string;
    }
  | { readonly kind: "tool-call-failed"; readonly tool: string; readonly reason: string }
  | ({ readonly kind: "limit-crossed"; readonly scope: string } & CrossedLimit)
  | { readonly kind: "task-succeeded" }
  | { readonly kind: "task-failed"; readonly reason: string }
  | { readonly kind: "note"; readonly text: string };

export interface CrossedLimit {
  /** Its field in `limits` of an entry. */
  readonly limit: string;
  readonly value: number;
  /** How much was used. Default: all of it. */
  readonly used?: number;
  /** The option, input or field that set it. Absent: it is the default. */
  readonly setBy?: string;
  /** What did not answer at the time. */
  readonly waitingFor?: string;
}

export type AvailabilityField = "previousTasks" | "condition";
export type CriteriaField = "toolExecuted" | "condition";
/** What a turn is for. */
export type Purpose = "availability" | "prompt" | "criteria";
/** `both`: the one session of a task that runs in a single model, or a borrowed one. */
export type SessionRole = "driving" | "task" | "both";

export type DecisionCategory =
  | "SESSION CRASHED"
  | "TASK SUCCEEDED"
  | "TASK FAILED"
  | "AVAILABILITY"
  | "CRITERIA"
  | "OPERATION"
  | "DECISION"
  | "MISC";

/** The category of a decision, such as `CRITERIA`. */
export function decisionCategory(decision: Decision): DecisionCategory {
  switch (decision.kind) {
    case "availability-passed":
    case "availability-failed":
      return "AVAILABILITY";
    case "criteria-passed":
    case "criteria-failed":
      return "CRITERIA";
    case "session-crashed":
      return "SESSION CRASHED";
    case "crash-retry":
    case "criteria-retry":
    case "crash-budget-drained":
    case "criteria-budget-drained":
    case "availability-drained":
      return "DECISION";
    case "session-started":
    case "session-ended":
    case "waiting":
    case "runtime-restarted":
    case "model-unreachable":
    case "leftovers-ended":
    case "permission-denied":
    case "model-call-failed":
    case "tool-call-failed":
    case "limit-crossed":
      return "OPERATION";
    case "task-succeeded":
      return "TASK SUCCEEDED";
    case "task-failed":
      return "TASK FAILED";
    case "note":
      return "MISC";
  }
}

/** The text after the prefix. */
export function decisionMessage(decision: Decision): string {
  switch (decision.kind) {
    case "availability-passed":
      return `availability.${decision.field} holds: ${decision.reason}`;
    case "availability-failed":
      return `availability.${decision.field} does not hold: ${decision.reason} (${decision.field} = ${decision.content})`;
    case "criteria-passed":
      return `criteria.${decision.field} holds: ${decision.reason}`;
    case "criteria-failed":
      return `criteria.${decision.field} does not hold: ${decision.reason} (${decision.field} = ${decision.content})`;
    case "session-crashed":
      return `${purposeName(decision.purpose)}${tryOf(decision)}: ${decision.crash.message}${decision.crash.detail === undefined ? "" : ` ${decision.crash.detail}`}`;
    case "crash-retry":
      if (decision.waitingFor !== undefined) {
        return `Waiting for ${decision.waitingFor}, attempt ${decision.retry + 1} of ${decision.of + 1}: ${purposeName(decision.purpose)} in a new session, model ${decision.modelId}`;
      }
      return `${purposeName(decision.purpose)} in a new session after a crash, retry ${decision.retry} of ${decision.of}, model ${decision.modelId}`;
    case "criteria-retry":
      return `retry ${decision.retry} of ${decision.of}: ${decision.reason}`;
    case "crash-budget-drained":
      return `Giving up: ${purposeName(decision.purpose)} crashed ${times(decision.attempts)}${decision.advice === undefined ? "" : `. Not retried: ${decision.advice}`}`;
    case "criteria-budget-drained":
      return `Retry budget drained because of criteria failure after ${decision.retries} ${decision.retries === 1 ? "retry" : "retries"}: ${decision.reason}`;
    case "availability-drained":
      return `No retry: availability failed: ${decision.reason}`;
    case "session-started":
      return `${roleName(decision.role)} started: ${decision.sessionId}, model ${decision.modelId}`;
    case "session-ended":
      return `${roleName(decision.role)} ended: ${decision.sessionId}`;
    case "waiting":
      return `Waiting ${(decision.milliseconds / 1000).toFixed(1)} s: ${decision.reason}`;
    case "runtime-restarted":
      return `Copilot runtime restarted: ${decision.reason}`;
    case "model-unreachable":
      return `No connection to ${decision.server}: ${decision.reason}. The run goes on trying`;
    case "leftovers-ended":
      return `Ended and removed what ${decision.runs === 1 ? "a killed run" : `${decision.runs} killed runs`} had left`;
    case "permission-denied":
      return `Denied ${decision.operation} ${decision.target}: ${decision.reason}`;
    case "model-call-failed": {
      const status = decision.statusCode === undefined ? "" : ` (${decision.statusCode})`;
      return `A model call failed${status}${decision.reason === undefined ? "" : `: ${decision.reason}`}`;
    }
    case "tool-call-failed":
      return `Tool call ${decision.tool} failed: ${decision.reason}`;
    case "limit-crossed":
      return `Exceeded ${limitText(decision, decision.scope)}`;
    case "task-succeeded":
      return "Task succeeded";
    case "task-failed":
      return decision.reason;
    case "note":
      return decision.text;
  }
}

/** A limit that was crossed: what was used of it, and where it can be changed. */
export function limitText(crossed: CrossedLimit, scope?: string): string {
  const { limit, value, used = value, setBy, waitingFor } = crossed;
  const of = scope === undefined ? "" : ` of ${scope}`;
  const source =
    setBy === undefined ? `the default; set limits.${limit} in the entry` : `set by ${setBy}`;
  const waiting = waitingFor === undefined ? "" : `, waiting for ${waitingFor}`;
  return `limits.${limit}${of}: ${used} of ${value} ${unitOf(limit)} used (${source})${waiting}`;
}

function unitOf(limit: string): string {
  if (limit.endsWith("Minutes")) return "minutes";
  return { modelCalls: "model calls", loopIterations: "iterations" }[limit] ?? limit;
}

/** `[CATEGORY] text`: what `taskDecision` of the library gets. */
export function decisionText(decision: Decision): string {
  return `[${decisionCategory(decision)}] ${decisionMessage(decision)}`;
}

/** Of one try there is nothing to count. */
function tryOf({ attempt, attempts }: { attempt: number; attempts: number }): string {
  return attempts === 1 ? "" : `, try ${attempt} of ${attempts}`;
}

function purposeName(purpose: Purpose): string {
  switch (purpose) {
    case "availability":
      return "availability check";
    case "prompt":
      return "task prompt";
    case "criteria":
      return "criteria check";
  }
}

function roleName(role: SessionRole): string {
  switch (role) {
    case "driving":
      return "Driving session";
    case "task":
      return "Task session";
    case "both":
      return "Session";
  }
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times in a row`;
}
