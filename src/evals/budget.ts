/**
 * The budget of an eval. A turn starts only if the largest turn so far of the same models would still fit beside what
 * is reserved; the first of some models runs alone. A turn that outgrows its reservation takes of what is free; when
 * nothing is free, everything stops. Invariant: what is spent exceeds the budget by less than one turn.
 */
import type { TurnGate } from "../engine/ports.ts";
import type { RunEvent } from "../events/event.ts";
import { onAbort } from "../platform/waiting.ts";

export interface Spent {
  readonly tokens: number;
  readonly cost: number;
}

const nothingSpent: Spent = { tokens: 0, cost: 0 };
const names = ["tokens", "cost"] as const;

/** An account holds what a run has reserved and used while it has turns under way: overlapping turns can't be told apart. */
interface Account {
  readonly models: string;
  turns: number;
  reserved: Spent;
  used: Spent;
}

export class EvalBudget {
  readonly #limits: Spent;
  readonly #onExhausted: (reason: string, isExceeded: boolean) => void;
  /** The turns that are over have spent this. */
  #settled = nothingSpent;
  readonly #accounts = new Set<Account>();
  #exhausted = false;
  /** The largest turns, by the models. */
  readonly #largest = new Map<string, Spent>();
  readonly #waiting = new Set<() => void>();

  /** `earlier`: the turns of earlier processes. `onExhausted`: no turn starts any more; if it is exceeded, those under way must end. */
  constructor(
    limits: Partial<Spent>,
    earlier: readonly (Spent & { readonly models: string })[],
    onExhausted: (reason: string, isExceeded: boolean) => void,
  ) {
    this.#limits = { tokens: Infinity, cost: Infinity, ...limits };
    this.#onExhausted = onExhausted;
    for (const turn of earlier) this.#settle(turn.models, turn);
  }

  get spent(): Spent {
    return [...this.#accounts].reduce((sum, { used }) => plus(sum, used), this.#settled);
  }

  /** `models`: runs with the same name have turns of a similar size. `onTurn`: what a turn has spent. `onRefused`: none starts. */
  meter(models: string, onTurn: (spent: Spent) => void, onRefused = (): void => {}) {
    const account: Account = { models, turns: 0, reserved: nothingSpent, used: nothingSpent };
    let [spent, unreported] = [nothingSpent, nothingSpent];
    /** Models with calls of unknown cost, which no budget can bound. */
    const unpriced = new Set<string>();
    return {
      unpriced,
      get spent() {
        return spent;
      },
      report: (event: RunEvent): void => {
        if (event.type !== "activity" || event.activity.kind !== "model.used") return;
        const { modelId, inputTokens, outputTokens, cost = 0 } = event.activity;
        if (event.activity.cost === undefined) unpriced.add(modelId);
        const used = { tokens: inputTokens + outputTokens, cost };
        [spent, unreported] = [plus(spent, used), plus(unreported, used)];
        if (account.turns === 0) this.#settled = plus(this.#settled, used);
        else account.used = plus(account.used, used);
        const over = names.find((name) => this.#committed(name) > this.#limits[name]);
        if (over !== undefined) this.#exhaust(over, true);
      },
      gate: (own: TurnGate): TurnGate => ({
        run: async (turn, signal) => {
          if (!(await this.#enter(account, signal))) {
            onRefused();
            return undefined;
          }
          try {
            return await own.run(turn, signal);
          } finally {
            this.#leave(account);
            onTurn(unreported);
            unreported = nothingSpent;
          }
        },
      }),
    };
  }

  /** Waits until a turn may start. False: it may not. */
  async #enter(account: Account, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted && !this.#exhausted) {
      const largest = this.#largest.get(account.models);
      const short = names.find((name) => this.#lacks(name, largest?.[name]));
      if (short === undefined) {
        account.turns += 1;
        // A turn of unknown size runs alone, with everything that is left.
        const { tokens, cost } = this.#limits;
        const left = { tokens: tokens - this.#settled.tokens, cost: cost - this.#settled.cost };
        account.reserved = plus(account.reserved, largest ?? left);
        this.#accounts.add(account);
        return true;
      }
      // Nothing that is under way will give anything back.
      if (this.#accounts.size === 0) this.#exhaust(short, false);
      else await this.#change(signal);
    }
    return false;
  }

  #leave(account: Account): void {
    account.turns -= 1;
    if (account.turns > 0) return;
    const { models, used } = account;
    this.#accounts.delete(account);
    this.#settle(models, used);
    account.reserved = nothingSpent;
    account.used = nothingSpent;
    this.#wake();
  }

  #settle(models: string, used: Spent): void {
    this.#settled = plus(this.#settled, used);
    // A turn that was canceled at once says nothing about the next.
    if (used.tokens > 0 || used.cost > 0)
      this.#largest.set(models, larger(this.#largest.get(models) ?? nothingSpent, used));
  }

  #lacks(name: keyof Spent, needed: number | undefined): boolean {
    const limit = this.#limits[name];
    if (limit === Infinity) return false;
    if (this.#committed(name) >= limit) return true;
    if (needed === undefined) return this.#accounts.size > 0;
    return rounded(this.#committed(name) + needed) > limit;
  }

  #committed(name: keyof Spent): number {
    return rounded(
      [...this.#accounts].reduce(
        (sum, { reserved, used }) => sum + Math.max(reserved[name], used[name]),
        this.#settled[name],
      ),
    );
  }

  #exhaust(name: keyof Spent, isExceeded: boolean): void {
    if (this.#exhausted && !isExceeded) return;
    this.#exhausted = true;
    const spent = `${rounded(this.spent[name])} of ${this.#limits[name]} (${name})`;
    const why = isExceeded ? "" : ", and the next turn may not fit";
    this.#onExhausted(`the budget is used up: ${spent}${why}`, isExceeded);
    this.#wake();
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const go of waiting) go();
  }

  async #change(signal: AbortSignal): Promise<void> {
    let release = (): void => {};
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      release = onAbort(signal, resolve);
    });
    release();
  }
}

const each =
  (of: (a: number, b: number) => number) =>
  (a: Spent, b: Spent): Spent => ({ tokens: of(a.tokens, b.tokens), cost: of(a.cost, b.cost) });

const plus = each((a, b) => a + b);
const larger = each(Math.max);

/** Rounds binary fractions: three times 0.1 must not exceed 0.3. */
const rounded = (amount: number): number => Math.round(amount * 1e6) / 1e6;
