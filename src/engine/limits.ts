import { defined } from "../text/guards.ts";
import { defaultLimits, type Limits, type Prices } from "../entry/model.ts";
import { creditsOf } from "../entry/limits.ts";
import type { Clock } from "../platform/clock.ts";
import type { Crash } from "../events/crash.ts";
import type { ModelUsed, PermissionDenied, SessionActivity } from "../events/session-activity.ts";
import { startTimer, type Release } from "../platform/waiting.ts";
import type { PastRun } from "./past.ts";
import type { Budget } from "./ports.ts";
import { SharedBudget } from "./shared-budget.ts";
import type { Scope } from "./scope.ts";

/** The option, input or field that set a limit, as the user wrote it. */
export type LimitSources = { readonly [Name in keyof Limits]?: string };

export type ResolvedLimits = Required<Limits> & {
  readonly setBy?: LimitSources;
};

type LimitLayer = (Limits & { readonly setBy?: LimitSources | undefined }) | undefined;

/** Later layers win. What names no source is a field of the entry. */
export function resolveLimits(...layers: readonly LimitLayer[]): ResolvedLimits {
  const sources = layers.map((layer) => {
    const { setBy: named, ...limits } = layer ?? {};
    const own = setBy(limits, "the entry");
    const known = Object.entries(named ?? {}).filter(([name]) => Object.hasOwn(own, name));
    return { ...own, ...Object.fromEntries(known) };
  });
  const limits = Object.assign({}, defaultLimits, ...layers);
  const { taskMinutes, rateLimitMinutes } = limits;
  const waits = {
    rateLimitMinutes: rateLimitMinutes === Infinity ? taskMinutes : rateLimitMinutes,
  };
  return { ...limits, ...waits, setBy: Object.assign({}, ...sources) };
}

const noneOfThePart = { jobMinutes: Infinity, tokens: Infinity, cost: Infinity };

/**
 * Of a part with limits of its own, such as a workflow: they hold where the run has only a default. `jobMinutes`, `tokens`
 * and `cost` are the part's alone, by default none: those of the run hold for it anyway.
 */
export function partLimits(
  run: ResolvedLimits,
  own: Limits | undefined,
  place: string,
): ResolvedLimits {
  const sources: LimitSources = Object.fromEntries(
    Object.entries(run.setBy ?? {}).filter(([name]) => !Object.hasOwn(noneOfThePart, name)),
  );
  const brought: Limits = Object.fromEntries(
    Object.entries(own ?? {}).filter(([name]) => !Object.hasOwn(sources, name)),
  );
  const named = { ...sources, ...setBy(brought, place) };
  return { ...run, ...noneOfThePart, ...brought, setBy: named };
}

export function setBy(limits: Limits | undefined, place: string): LimitSources {
  return Object.fromEntries(
    Object.keys(limits ?? {}).map((name) => [name, `limits.${name} of ${place}`]),
  );
}

export function exceeded<Name extends keyof Limits>(
  limits: Pick<ResolvedLimits, Name | "setBy">,
  limit: Name,
): { readonly limit: Name; readonly value: number; readonly setBy?: string } {
  const source = limits.setBy?.[limit];
  return { limit, value: limits[limit], ...defined({ setBy: source }) };
}

export const minutes = (count: number): number => count * 60_000;

export interface Deadline {
  readonly end: Release;
  /** Stops its clock until the returned function is called. */
  hold(): Release;
}

/** `around`: that of the task that has delegated this one. Its time stands still, too. */
export function startDeadline(
  clock: Clock,
  limits: ResolvedLimits,
  limit: "jobMinutes" | "taskMinutes",
  scope: Scope,
  passed = 0,
  around?: Deadline,
): Deadline {
  let left = Math.max(0, minutes(limits[limit]) - passed);
  let [holds, since] = [0, 0];
  let cancel: Release = () => {};
  const run = (): void => {
    since = clock.now();
    if (!Number.isFinite(left)) return;
    const reason = { kind: "limit", ...exceeded(limits, limit) } as const;
    cancel = startTimer(clock, left, () => scope.stop(reason));
  };
  const release = (): void => {
    holds -= 1;
    if (holds === 0) run();
  };
  run();
  return {
    end() {
      holds = Infinity;
      cancel();
    },
    hold() {
      const releaseAround = around?.hold();
      if (holds === 0) {
        cancel();
        left = Math.max(0, left - (clock.now() - since));
      }
      holds += 1;
      return once(() => {
        release();
        releaseAround?.();
      });
    },
  };
}

function once(release: Release): Release {
  let isCalled = false;
  return () => {
    if (isCalled) return;
    isCalled = true;
    release();
  };
}

export interface Budgets {
  readonly calls: CallBudget;
  readonly usage: UsageBudget;
}

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
