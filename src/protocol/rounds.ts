/**
 * What follows an answer of the model: the rules of repairs, nudges and caps, apart from any session. One `Rounds` per
 * run of a task.
 */
import type { Turn } from "./executor.ts";

export interface RoundLimits {
  readonly iterations: number;
  /** Of the round of thinking before it. 0: there is none. */
  readonly preThinking?: number;
}

/** What the next prompt is for, and how its answer is executed. */
export type NextRound =
  | { readonly kind: "prompt"; readonly purpose: "start" | "think" | "continue" | "nudge" | "last" }
  | { readonly kind: "prompt"; readonly purpose: "repair"; readonly problems: Problems }
  | { readonly kind: "ended"; readonly outcome: Outcome; readonly response: string | null };

export type Outcome = "stopped" | "protocol failure" | "nothing to do" | "cap reached";
type Problems = Extract<Turn, { kind: "rejected" }>["problems"];
type Executed = Extract<Turn, { kind: "executed" }>;

/** Rejected answers to one prompt that are followed by another attempt. */
const repairsPerIteration = 2;

export class Rounds {
  readonly #limits: RoundLimits;
  #phase: "thinking" | "main" | "last";
  #accepted = 0;
  #repairs = 0;
  #nudged = false;

  constructor(limits: RoundLimits) {
    this.#limits = limits;
    this.#phase = (limits.preThinking ?? 0) > 0 ? "thinking" : "main";
  }

  get mode(): "normal" | "thinking" | "refused" {
    return ({ thinking: "thinking", main: "normal", last: "refused" } as const)[this.#phase];
  }

  first(): NextRound {
    return { kind: "prompt", purpose: this.#phase === "thinking" ? "think" : "start" };
  }

  next(turn: Turn): NextRound {
    if (this.#phase === "last") {
      const response = turn.kind === "executed" ? turn.response : null;
      return { kind: "ended", outcome: "cap reached", response };
    }
    if (turn.kind === "rejected") return this.#rejected(turn.problems);
    this.#repairs = 0;
    this.#accepted += 1;
    return this.#phase === "thinking" ? this.#thought(turn) : this.#acted(turn);
  }

  #rejected(problems: Problems): NextRound {
    if (this.#repairs >= repairsPerIteration) {
      return { kind: "ended", outcome: "protocol failure", response: null };
    }
    this.#repairs += 1;
    return { kind: "prompt", purpose: "repair", problems };
  }

  /** The model decides how much it thinks, within the bound. */
  #thought({ next }: Executed): NextRound {
    if (next === "continue" && this.#accepted < (this.#limits.preThinking ?? 0)) {
      return { kind: "prompt", purpose: "think" };
    }
    this.#phase = "main";
    this.#accepted = 0;
    return { kind: "prompt", purpose: "start" };
  }

  #acted({ next, response }: Executed): NextRound {
    if (next === "stop") return { kind: "ended", outcome: "stopped", response };
    if (next === "idle" && this.#nudged) {
      return { kind: "ended", outcome: "nothing to do", response };
    }
    this.#nudged = next === "idle";
    if (this.#accepted >= this.#limits.iterations) {
      this.#phase = "last";
      return { kind: "prompt", purpose: "last" };
    }
    return { kind: "prompt", purpose: next === "idle" ? "nudge" : "continue" };
  }
}
