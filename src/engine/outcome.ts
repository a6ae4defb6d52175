import { crashText } from "../events/crash.ts";
import type { WorkOutcome } from "../events/event.ts";
import type { EnginePorts } from "./ports.ts";
import { stopText, type Scope, type StopReason } from "./scope.ts";

export function reasonOf(outcome: Exclude<WorkOutcome, { kind: "succeeded" }>): string {
  return outcome.kind === "crashed" ? crashText(outcome.crash) : outcome.reason;
}

/** A check that fails has answered; what a limit, a crash or a stop ended has not. */
export function failedAs(reason: string, isAnswer: boolean): WorkOutcome {
  return { kind: "failed", reason, ...(isAnswer ? {} : { unanswered: true }) };
}

/** By whoever stops this work alone, or with more. */
export function stoppedAs(stopped: StopReason | undefined): WorkOutcome {
  if (stopped?.kind === "work-stopped") return failedAs(stopText(stopped), false);
  return { kind: "canceled", reason: stopped === undefined ? "canceled" : stopText(stopped) };
}

export function stopOf({ stopped }: Scope, lastError: string | undefined): StopReason | undefined {
  return stopped?.kind === "limit" ? { ...stopped, ...(lastError && { lastError }) } : stopped;
}

/** The last error of each work under way, by its scope: what stood in the way if a limit ends it. */
export class LastErrors {
  readonly #errors = new Map<Scope, string>();
  readonly #awaited: () => string | undefined;

  constructor({ awaited = () => undefined }: Pick<EnginePorts, "awaited">) {
    this.#awaited = awaited;
  }

  /** Undefined: a model has answered since. */
  note(scope: Scope, error: string | undefined): void {
    this.#errors.delete(scope);
    if (error !== undefined) this.#errors.set(scope, error);
  }

  of(scope: Scope): string | undefined {
    return this.#unreachable() ?? this.#errors.get(scope);
  }

  latest(): string | undefined {
    return this.#unreachable() ?? [...this.#errors.values()].at(-1);
  }

  #unreachable(): string | undefined {
    const server = this.#awaited();
    return server === undefined ? undefined : `can't connect to ${server}`;
  }
}
