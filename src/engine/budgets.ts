/** What a run, a part of it or a task may still spend: tokens, credits, calls of a model, answers without effect. */
import { creditsOf } from "../entry/limits.ts";
import type { Prices } from "../entry/model.ts";
import type { Crash } from "../events/crash.ts";
import type { ModelUsed, PermissionDenied, SessionActivity } from "../events/session-activity.ts";
import { errorMessage } from "../platform/system-error.ts";
import { defined } from "../text/guards.ts";
import { exceeded, type ResolvedLimits } from "./limits.ts";
import type { PastRun } from "./past.ts";
import type { Budget, Spent } from "./ports.ts";
import type { Scope } from "./scope.ts";

interface BudgetOptions {
  readonly prices?: Prices | undefined;
  readonly whole?: UsageBudget;
  readonly budget?: Budget | undefined;
}

type UsageLimits = Pick<ResolvedLimits, "tokens" | "cost" | "setBy">;

/** Counted from the runtime's own account, sub-agents included. What a part spends, the whole spends too. */
export class UsageBudget {
  readonly #limits: UsageLimits;
  readonly #scope: Scope;
  readonly #prices: Prices | undefined;
  readonly #whole: UsageBudget | undefined;
  readonly #shared: SharedBudget | undefined;
  readonly #unpriced = new Set<string>();
  #tokens = 0;
  #cost = 0;
  /** The cost of all runs that share the budget. */
  #totalCost = 0;

  constructor(limits: UsageLimits, scope: Scope, { prices, whole, budget }: BudgetOptions = {}) {
    this.#limits = limits;
    this.#scope = scope;
    this.#prices = prices;
    this.#whole = whole;
    this.#shared =
      budget &&
      new SharedBudget(
        budget,
        ({ tokens, cost }) => {
          this.#totalCost = cost;
          if (this.#isShared("tokens")) this.#hold("tokens", tokens);
          if (this.#isShared("cost")) this.#hold("cost", withoutNoise(cost));
        },
        (reason) => scope.stop({ kind: "budget-failed", reason }),
      );
  }

  child(limits: UsageLimits, scope: Scope): UsageBudget {
    return new UsageBudget(limits, scope, { prices: this.#prices, whole: this });
  }

  /** Resolves when all spending is counted, in a shared budget, too. Never rejects. */
  async settled(): Promise<void> {
    await (this.#whole?.settled() ?? this.#shared?.ask());
  }

  /** How much of `limits.cost` is left, here and in all around it, if somebody has set it. */
  get creditsLeft(): number {
    const { cost, setBy } = this.#limits;
    const spent = this.#shared === undefined ? this.#cost : this.#totalCost;
    const own = setBy?.cost === undefined ? Infinity : Math.max(0, cost - spent);
    return Math.min(own, this.#whole?.creditsLeft ?? Infinity);
  }

  /** Whether its calls escape a limit that somebody has set; true once for each model of a job. */
  escapes({ cost, modelId }: Pick<ModelUsed, "cost" | "modelId">): boolean {
    if (this.#whole !== undefined) return this.#whole.escapes({ cost, modelId });
    if (cost !== undefined || this.#limits.setBy?.cost === undefined) return false;
    return !this.#unpriced.has(modelId) && this.#unpriced.add(modelId).size > 0;
  }

  /** Adds a cost by `prices`, if the runtime has reported none and the model has a price. */
  priced(used: ModelUsed): ModelUsed {
    return used.cost === undefined
      ? { ...used, ...defined({ cost: creditsOf(this.#prices, used) }) }
      : used;
  }

  spend(used: Pick<ModelUsed, "inputTokens" | "outputTokens" | "cost">): void {
    // The whole first: if both are exceeded, the part is stopped with the whole.
    this.#whole?.spend(used);
    const tokens = counted(used.inputTokens) + counted(used.outputTokens);
    const cost = counted(used.cost ?? 0);
    this.#shared?.spend({ tokens, cost });
    this.#count(tokens, cost);
  }

  /** Adds what earlier runs spent. `shared`: on several machines, each of which had the default bounds, so only a limit that somebody has set bounds their sum. */
  resume({ tokens, cost }: Pick<PastRun, "tokens" | "cost">, shared: boolean): void {
    const { setBy } = this.#limits;
    const counts = (limit: "tokens" | "cost"): boolean => !shared || setBy?.[limit] !== undefined;
    this.#count(counts("tokens") ? tokens : 0, counts("cost") ? cost : 0);
  }

  #count(tokens: number, cost: number): void {
    this.#tokens += tokens;
    this.#cost += cost;
    if (!this.#isShared("tokens")) this.#hold("tokens", this.#tokens);
    if (!this.#isShared("cost")) this.#hold("cost", withoutNoise(this.#cost));
  }

  #isShared(limit: "tokens" | "cost"): boolean {
    return this.#shared !== undefined && this.#limits.setBy?.[limit] !== undefined;
  }

  /** Fails the whole job. */
  stop(limit: ReturnType<typeof exceeded<"rateLimitMinutes">>): void {
    if (this.#whole === undefined) this.#scope.stop({ kind: "limit", ...limit });
    else this.#whole.stop(limit);
  }

  #hold(limit: "tokens" | "cost", used: number): void {
    if (used <= this.#limits[limit]) return;
    this.#scope.stop({ kind: "limit", ...exceeded(this.#limits, limit), used });
  }
}

/** A model server may report anything: it never lowers the sum. */
function counted(reported: number): number {
  return reported > 0 ? reported : 0;
}

/** Rounds away the noise of binary fractions: three times 0.1 must not exceed 0.3. */
function withoutNoise(cost: number): number {
  return Math.round(cost * 1e6) / 1e6;
}

const nothing: Spent = { tokens: 0, cost: 0 };

/** A run's part of a shared budget. It makes one call at a time; the next call adds what was spent meanwhile. */
class SharedBudget {
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

/** The call of a sub-agent is seen when it is over, one of the task itself as it begins. */
export class CallBudget {
  readonly #limits: ResolvedLimits;
  readonly #task: Scope;
  #spent = 0;

  constructor(limits: ResolvedLimits, task: Scope) {
    this.#limits = limits;
    this.#task = task;
  }

  spend(): void {
    this.#spent += 1;
    if (this.#spent > this.#limits.modelCalls) this.#exceed();
  }

  /** Counts a failed call. The runtime repeats it by itself, so a spent budget stops the task first. `limits.rateLimitMinutes` bounds those that met a rate limit. */
  fail(statusCode: number | undefined): void {
    if (statusCode === 429) return;
    this.spend();
    if (repeatedByRuntime(statusCode)) this.beforeCall();
  }

  beforeCall(): void {
    if (this.#spent >= this.#limits.modelCalls) this.#exceed();
  }

  #exceed(): void {
    this.#task.stop({ kind: "limit", ...exceeded(this.#limits, "modelCalls"), used: this.#spent });
  }
}

/** Measured: after any other status of the kind 4xx it gives up at once, and the error says more than a limit. */
function repeatedByRuntime(statusCode: number | undefined): boolean {
  const rejected = statusCode !== undefined && statusCode >= 400 && statusCode < 500;
  return !rejected || [401, 408, 413].includes(statusCode);
}

/** After so many answers of the model that only met denials, the next ones only burn tokens. */
export const DENIALS_IN_A_ROW = 10;

/** Counts answers of the model, not denials: the calls of one were all made before it could learn from the first. */
export class DenialStreak {
  readonly #turn: Scope;
  #answers = 0;
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

  get crash(): Crash | undefined {
    return this.#crash;
  }

  #count({ operation, target }: PermissionDenied): void {
    this.#denied = true;
    this.#answers += 1;
    if (this.#answers < DENIALS_IN_A_ROW || this.#crash !== undefined) return;
    const message = `The agent was denied ${DENIALS_IN_A_ROW} times in a row, most recently ${operation} of ${target}.`;
    this.#crash = { cause: "denied", message };
    this.#turn.stop({ kind: "canceled", reason: message });
  }
}
