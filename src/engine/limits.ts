/** The bounds of a run, resolved, and the counters that are held against them. */
import { defaultLimits, type Limits } from "../entry/model.ts";
import type { ModelUsed } from "../events/session-activity.ts";
import type { Scope } from "./scope.ts";

export type ResolvedLimits = Required<Limits>;

/** Later ones win: `resolveLimits(entry.limits, options.limits)`. */
export function resolveLimits(...layers: readonly (Limits | undefined)[]): ResolvedLimits {
  return Object.assign({}, defaultLimits, ...layers);
}

export const minutes = (count: number): number => count * 60_000;

/** Tokens of the job and model calls of one run of a task, counted from the runtime's own account. */
export class TokenBudget {
  readonly #limit: number;
  readonly #job: Scope;
  #spent = 0;

  constructor(limit: number, job: Scope) {
    this.#limit = limit;
    this.#job = job;
  }

  spend(used: ModelUsed): void {
    this.#spent += used.inputTokens + used.outputTokens;
    if (this.#spent > this.#limit) {
      this.#job.stop({ kind: "limit", limit: "tokens", value: this.#limit });
    }
  }
}

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

  /** To be called when another call is about to be made: a spent budget allows none. */
  beforeCall(): void {
    if (this.#spent >= this.#limit) this.#cross();
  }

  #cross(): void {
    this.#task.stop({ kind: "limit", limit: "modelCalls", value: this.#limit });
  }
}
