/** How a task or a workflow ends, and what stood in the way of one that was stopped. */
import { defined } from "../document/guards.ts";
import type { Crash } from "../events/crash.ts";
import type { ExceededLimit } from "../events/exceeded-limit.ts";
import type { WorkOutcome } from "../events/event.ts";
import type { EnginePorts } from "./ports.ts";
import { stopText, type Scope, type StopReason } from "./scope.ts";

export type TaskOutcome =
  | { readonly kind: "succeeded" }
  /** `answer`: availability or criteria decided it, not a limit or a crash. */
  | { readonly kind: "failed"; readonly reason: string; readonly answer: boolean }
  /** All attempts failed, and no retry follows. */
  | { readonly kind: "crashed"; readonly crash: Crash }
  /** The change has nothing for it. */
  | { readonly kind: "skipped"; readonly reason: string }
  /** Something outside the task stopped it. */
  | { readonly kind: "stopped"; readonly reason: StopReason };

export function asReported(outcome: TaskOutcome): WorkOutcome {
  switch (outcome.kind) {
    case "stopped":
      return { kind: "canceled", reason: stopText(outcome.reason) };
    case "failed": {
      const { reason, answer } = outcome;
      return { kind: "failed", reason, ...(answer ? {} : { unanswered: true }) };
    }
    case "crashed":
      return { kind: "crashed", crash: outcome.crash };
    case "skipped":
      return { kind: "skipped", reason: outcome.reason };
    case "succeeded":
      return { kind: "succeeded" };
  }
}

export interface LatestAttempt {
  attempt: number;
  attempts: number;
  /** The last error, with advice, if no model has answered since. */
  lastError?: string | undefined;
}

/** What stood in the way: the server that is waited for now, and in which attempt, or the last error. */
export function obstacle(
  { awaited }: EnginePorts,
  { attempt, attempts, lastError }: LatestAttempt,
): Pick<ExceededLimit, "waitingFor" | "attempt" | "attempts" | "lastError"> {
  const server = awaited?.();
  if (server !== undefined) return { waitingFor: server, attempt, attempts };
  return defined({ lastError });
}

/** Why a scope has stopped: for a limit, with what stood in the way. */
export function stopOf(
  { stopped }: Scope,
  ports: EnginePorts,
  latest: LatestAttempt,
): StopReason | undefined {
  return stopped?.kind === "limit" ? { ...stopped, ...obstacle(ports, latest) } : stopped;
}
