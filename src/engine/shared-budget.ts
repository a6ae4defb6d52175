/** What a run spends of a budget that it shares. One call of it is under way at a time; what is spent meanwhile is in the next. */
import { errorMessage } from "../platform/system-error.ts";
import type { Budget, Spent } from "./ports.ts";

const nothing: Spent = { tokens: 0, cost: 0 };

export class SharedBudget {
  readonly #budget: Budget;
  readonly #onTotal: (total: Spent) => void;
  readonly #onFailure: (reason: string) => void;
  #unsaid = nothing;
  /** It has not begun: whoever wants a sum now waits for this one. */
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

  /** Resolves when the sum of all runs is known, with all that this one has spent until now. Never rejects. */
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
