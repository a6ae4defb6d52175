/** A run's part of a shared budget. It makes one call at a time; the next call adds what was spent meanwhile. */
import { errorMessage } from "../platform/system-error.ts";
import type { Budget, Spent } from "./ports.ts";

const nothing: Spent = { tokens: 0, cost: 0 };

export class SharedBudget {
  readonly #budget: Budget;
  readonly #onTotal: (total: Spent) => void;
  readonly #onFailure: (reason: string) => void;
  #unsaid = nothing;
  /** The next call, which has not started. Everybody who needs a sum now waits for it. */
  #next: Promise<void> | undefined;
  #last = Promise.resolve();

  constructor(
    budget: Budget,
    onTotal: (total: Spent) => void,
    onFailure: (reason: string) => void,
  ) {
    this.#budget = budget;
    this.#onTotal = onTotal;
    this.#onFailure = onFailure;
  }

  spend({ tokens, cost }: Spent): void {
    this.#unsaid = { tokens: this.#unsaid.tokens + tokens, cost: this.#unsaid.cost + cost };
    void this.ask();
  }

  /** Resolves when the sum of all runs includes everything that this run has spent so far. Never rejects. */
  ask(): Promise<void> {
    this.#next ??= this.#last = this.#last.then(() => this.#add());
    return this.#next;
  }

  async #add(): Promise<void> {
    this.#next = undefined;
    const used = this.#unsaid;
    this.#unsaid = nothing;
    try {
      const total = await this.#budget.add(used);
      if (!Number.isFinite(total.tokens) || !Number.isFinite(total.cost))
        throw new Error("add must resolve with the numbers tokens and cost");
      this.#onTotal(total);
    } catch (error) {
      this.#onFailure(`The shared budget failed: ${errorMessage(error)}`);
    }
  }
}
