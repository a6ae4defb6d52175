/** Measures how long one prompt waits for rate limits: from a refusal to the next answer. The time of its task stands still. */
import { plural, utcText } from "../text/numbers.ts";
import { sentence } from "../text/truncate.ts";
import type { Crash } from "../events/crash.ts";
import { startTimer, type Release } from "../platform/waiting.ts";
import type { Clock } from "../platform/clock.ts";
import { exceeded, minutes, type Budgets, type Deadline, type ResolvedLimits } from "./limits.ts";
import type { Scope } from "./scope.ts";

/** The part of a `Sender` that waiting needs. */
interface Waiting {
  readonly ports: { readonly clock: Clock };
  readonly limits: ResolvedLimits;
  readonly deadline?: Deadline;
  readonly budgets: Pick<Budgets, "usage">;
  readonly onError?: (error: string | undefined) => void;
}

export class RateLimitWait {
  /** The scope of the current turn. It is stopped when the time is over. */
  turn: Scope | undefined;
  readonly #sender: Waiting;
  #left: number;
  #since: number | undefined;
  readonly #releases: Release[] = [];

  constructor(sender: Waiting) {
    this.#sender = sender;
    this.#left = minutes(sender.limits.rateLimitMinutes);
  }

  get left(): number {
    const passed = this.#since === undefined ? 0 : this.#sender.ports.clock.now() - this.#since;
    return Math.max(0, this.#left - passed);
  }

  get isOver(): boolean {
    return this.#since !== undefined && this.left === 0;
  }

  /** `retryAfterMs`: the server has said when it resets. If that is too late, the job ends at once. */
  met(message?: string, retryAfterMs = 0): void {
    const { limits, deadline, budgets, onError, ports } = this.#sender;
    if (retryAfterMs > this.left) {
      const resets = `The rate limit resets at ${utcText(ports.clock.now() + retryAfterMs)}.`;
      onError?.(`${sentence(message ?? "the model server answered 429")} ${resets}`);
      budgets.usage.stop(exceeded(limits, "rateLimitMinutes"));
    }
    if (this.#since !== undefined) return;
    this.#since = ports.clock.now();
    const stop = (): void => this.turn?.stop({ kind: "canceled", reason: this.crash.message });
    this.#releases.push(startTimer(ports.clock, this.#left, stop));
    if (deadline !== undefined) this.#releases.push(deadline.hold());
  }

  lifted(): void {
    this.#left = this.left;
    this.#since = undefined;
    for (const release of this.#releases.splice(0)) release();
  }

  get crash(): Crash {
    const { rateLimitMinutes } = this.#sender.limits;
    const message = `The model server has refused all requests for ${plural(rateLimitMinutes, "minute")} (limits.rateLimitMinutes).`;
    return { cause: "rate-limited", status: 429, message };
  }
}
