/** Which limits hold, who set them, and the deadlines that follow from them. The defaults are in `entry/limits.ts`. */
import { defined } from "../text/guards.ts";
import { defaultLimits, type Limits } from "../entry/model.ts";
import type { Clock } from "../platform/clock.ts";
import { startTimer, type Release } from "../platform/waiting.ts";
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

/** Counts down while it runs. At zero it calls `onEnd`. */
export class Countdown {
  #left: number;
  #since: number | undefined;
  #cancel: Release = () => {};
  readonly #clock: Clock;
  readonly #onEnd: () => void;

  constructor(clock: Clock, milliseconds: number, onEnd: () => void) {
    this.#clock = clock;
    this.#left = milliseconds;
    this.#onEnd = onEnd;
  }

  get runs(): boolean {
    return this.#since !== undefined;
  }

  get left(): number {
    const passed = this.#since === undefined ? 0 : this.#clock.now() - this.#since;
    return Math.max(0, this.#left - passed);
  }

  start(): void {
    this.#since = this.#clock.now();
    if (Number.isFinite(this.#left))
      this.#cancel = startTimer(this.#clock, this.#left, this.#onEnd);
  }

  stop(): void {
    this.#left = this.left;
    this.#since = undefined;
    this.#cancel();
  }
}

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
  const reason = { kind: "limit", ...exceeded(limits, limit) } as const;
  const left = Math.max(0, minutes(limits[limit]) - passed);
  const countdown = new Countdown(clock, left, () => scope.stop(reason));
  let holds = 0;
  countdown.start();
  return {
    end() {
      holds = Infinity;
      countdown.stop();
    },
    hold() {
      const releaseAround = around?.hold();
      countdown.stop();
      holds += 1;
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        holds -= 1;
        if (holds === 0) countdown.start();
        releaseAround?.();
      };
    },
  };
}
