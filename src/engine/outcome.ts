import { defined } from "../text/guards.ts";
import type { LeafWork } from "../entry/model.ts";
import { withOutput } from "../text/truncate.ts";
import { crashText, type Crash } from "../events/crash.ts";
import type { WorkOutcome } from "../events/event.ts";
import type { PastWork } from "./past.ts";
import type { EnginePorts } from "./ports.ts";
import { stopText, type Scope, type StopReason } from "./scope.ts";

export type TaskOutcome =
  | { readonly kind: "succeeded" }
  /** `answer`: availability or criteria decided it, not a limit or a crash. */
  | { readonly kind: "failed"; readonly reason: string; readonly answer: boolean }
  | { readonly kind: "crashed"; readonly crash: Crash }
  /** The change has nothing for it. */
  | { readonly kind: "skipped"; readonly reason: string }
  | { readonly kind: "stopped"; readonly reason: StopReason };

export function reasonOf(outcome: Exclude<TaskOutcome, { kind: "succeeded" }>): string {
  if (outcome.kind === "crashed") return crashText(outcome.crash);
  return outcome.kind === "stopped" ? stopText(outcome.reason) : outcome.reason;
}

export function asReported(outcome: TaskOutcome): WorkOutcome {
  switch (outcome.kind) {
    case "stopped":
      return { kind: "canceled", reason: stopText(outcome.reason) };
    case "failed":
      return {
        kind: "failed",
        reason: outcome.reason,
        ...(outcome.answer ? {} : { unanswered: true }),
      };
    case "crashed":
      return { kind: "crashed", crash: outcome.crash };
    case "skipped":
      return { kind: "skipped", reason: outcome.reason };
    case "succeeded":
      return { kind: "succeeded" };
  }
}

/** Converts it back, for a step that an earlier run has finished. */
export function outcomeOf(outcome: PastWork["outcome"]): TaskOutcome {
  return outcome.kind === "failed" ? { ...outcome, answer: outcome.unanswered !== true } : outcome;
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

/** By whoever stops this work alone, or with more. */
export function stoppedAs(stopped: StopReason | undefined): TaskOutcome {
  if (stopped?.kind === "work-stopped")
    return { kind: "failed", reason: stopText(stopped), answer: false };
  return { kind: "stopped", reason: stopped ?? { kind: "canceled", reason: "canceled" } };
}

export function stopOf({ stopped }: Scope, lastError: string | undefined): StopReason | undefined {
  return stopped?.kind === "limit" ? { ...stopped, ...defined({ lastError }) } : stopped;
}

export function failureOf(leaf: LeafWork<number>, reason: string, output: string): string {
  switch (leaf.kind) {
    case "Ref":
      return `task "${leaf.taskId}" failed: ${reason}`;
    case "Flow":
      return withOutput(`workflow "${leaf.file}" failed: ${reason}`, output);
    case "Run":
      return reason;
  }
}
