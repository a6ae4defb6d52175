/** The bounds of a run, resolved, and the counters that are held against them. */
import { defaultLimits, type Limits } from "../entry/model.ts";
import type { Crash } from "../events/crash.ts";
import type { ModelUsed, PermissionDenied, SessionActivity } from "../events/session-activity.ts";
import type { Scope } from "./scope.ts";

export type ResolvedLimits = Required<Limits>;

/** Later ones win: `resolveLimits(entry.limits, options.limits)`. */
export function resolveLimits(...layers: readonly (Limits | undefined)[]): ResolvedLimits {
  return Object.assign({}, defaultLimits, ...layers);
}

export const minutes = (count: number): number => count * 60_000;

/** Of a whole job, counted from the runtime's own account, sub-agents included. */
export class TokenBudget {
  readonly #limit: number;
  readonly #job: Scope;
  #spent = 0;

  constructor(limit: number, job: Scope) {
    this.#limit = limit;
    this.#job = job;
  }

  spend(used: ModelUsed): void {
    this.#spent += tokens(used.inputTokens) + tokens(used.outputTokens);
    if (this.#spent > this.#limit) {
      this.#job.stop({ kind: "limit", limit: "tokens", value: this.#limit });
    }
  }
}

/** What a model server reports need not be a count: it never lowers the sum. */
function tokens(reported: number): number {
  return reported > 0 ? reported : 0;
}

/** Of one run of a task. A sub-agent's call is seen only when it is over, one of the task itself as it begins. */
export class CallBudget {
  readonly #limit: number;
  readonly #task: Scope;
  #spent = 0;

  constructor(limit: number, task: Scope) {
    this.#limit = limit;
    this.#task = task;
  }

  spend(): void {
    this.#spent += 1;
    if (this.#spent > this.#limit) this.#cross();
  }

  /** A call has failed. The runtime repeats it by itself, and soon: a spent budget does not let it. */
  fail(statusCode: number | undefined): void {
    this.spend();
    if (repeatedByRuntime(statusCode)) this.beforeCall();
  }

  /** To be called when another call is about to be made: a spent budget allows none. */
  beforeCall(): void {
    if (this.#spent >= this.#limit) this.#cross();
  }

  #cross(): void {
    this.#task.stop({ kind: "limit", limit: "modelCalls", value: this.#limit });
  }
}

/** Measured: after any other status of the kind 4xx it gives up at once, and the error says more than a limit. */
function repeatedByRuntime(statusCode: number | undefined): boolean {
  const rejected = statusCode !== undefined && statusCode >= 400 && statusCode < 500;
  return !rejected || [401, 408, 413, 429].includes(statusCode);
}

/** After so many answers of the model that only met denials, the next ones only burn tokens. */
export const DENIALS_IN_A_ROW = 10;

/**
 * Ends a turn in which nothing but denials happens. Counted are answers of the model, not denials:
 * the calls of one answer were all made before the model could learn from the first of them.
 */
export class DenialStreak {
  readonly #turn: Scope;
  #answers = 0;
  /** Whether the latest answer has met a denial. */
  #denied = false;
  #crash: Crash | undefined;

  constructor(turn: Scope) {
    this.#turn = turn;
  }

  observe(activity: SessionActivity): void {
    switch (activity.kind) {
      case "model.replied":
        if (!this.#denied) this.#answers = 0;
        this.#denied = false;
        break;
      case "tool.ended":
        if (activity.succeeded) this.#answers = 0;
        break;
      case "permission.denied":
        if (!this.#denied) this.#count(activity);
        break;
      default:
        break;
    }
  }

  /** Why the turn was ended; undefined if it was not. */
  get crash(): Crash | undefined {
    return this.#crash;
  }

  #count({ operation, target }: PermissionDenied): void {
    this.#denied = true;
    this.#answers += 1;
    if (this.#answers < DENIALS_IN_A_ROW || this.#crash !== undefined) return;
    const message = `The agent was denied ${DENIALS_IN_A_ROW} times in a row, at last ${operation} of ${target}.`;
    this.#crash = { kind: "denied", message };
    this.#turn.stop({ kind: "canceled", reason: message });
  }
}
