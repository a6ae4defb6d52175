import type { Decided, SessionActed, TurnEnded, TurnStarted } from "../events/event.ts";
import type { Budgets, ResolvedLimits } from "./limits.ts";
import type { EnginePorts } from "./ports.ts";
import type { Scope } from "./scope.ts";

/** Who sends prompts: the same for all of a task, of a workflow, of a conversation. */
export interface Sender {
  readonly ports: Pick<EnginePorts, "clock" | "gate" | "rateLimit" | "random" | "awaited">;
  /** Stops everything that is under way. */
  readonly scope: Scope;
  readonly limits: ResolvedLimits;
  readonly budgets: Budgets;
  /** What the turns belong to, in a sentence: `task "review"`. */
  readonly subject: string;
  readonly emit: (event: PromptEvent) => void;
  /** Unique in the run. */
  readonly nextTurnId: () => string;
  /** Called when an attempt begins. */
  readonly onAttempt?: (attempt: number, attempts: number) => void;
  /** Called with an error of a turn, with advice, and with undefined when a model has answered. */
  readonly onError?: (error: string | undefined) => void;
}

type WithoutWork<Event> = Omit<Event, "work">;

/** The events of a turn. The emitter adds the work that they belong to. */
export type PromptEvent =
  | WithoutWork<TurnStarted>
  | WithoutWork<TurnEnded>
  | WithoutWork<SessionActed>
  | WithoutWork<Decided>;
