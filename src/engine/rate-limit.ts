/** Turns wait for a rate limit that another met. One at a time tries it, after a pause; an answer lifts it. */
import type { Crash } from "../events/crash.ts";
import type { Clock } from "../platform/clock.ts";
import { linkSignals, type Release } from "../platform/waiting.ts";
import { plural, utcText } from "../text/numbers.ts";
import { sentence } from "../text/truncate.ts";
import type { UsageBudget } from "./budgets.ts";
import { Countdown, exceeded, minutes, type Deadline, type ResolvedLimits } from "./limits.ts";
import type { RateLimit } from "./ports.ts";
import type { Scope } from "./scope.ts";

const SHORTEST_PAUSE_MS = 5_000;
export const LONGEST_WAIT_MS = 120_000;

export class LocalRateLimit implements RateLimit {
  #since: number | undefined;
  #until = 0;
  #trying: symbol | undefined;
  #change = new AbortController();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  met(): void {
    const now = this.#clock.now();
    this.#since ??= now;
    const grown = Math.min(Math.max(now - this.#since, SHORTEST_PAUSE_MS), LONGEST_WAIT_MS);
    this.#until = Math.max(this.#until, now + grown);
  }

  pause(milliseconds: number): void {
    const now = this.#clock.now();
    this.#since ??= now;
    this.#until = now + milliseconds;
    this.#changed();
  }

  lifted(): void {
    if (this.#since === undefined) return;
    this.#since = undefined;
    this.#until = 0;
    // Its turn may take long. If a limit is met again, another turn is the probe.
    this.#trying = undefined;
    this.#changed();
  }

  async enter(signal: AbortSignal, onWait: (milliseconds: number) => void): Promise<() => void> {
    let reported = false;
    while (this.#since !== undefined && !signal.aborted) {
      const rest = this.#until - this.#clock.now();
      if (rest <= 0 && this.#trying === undefined) {
        const turn = Symbol("turn");
        this.#trying = turn;
        return () => {
          if (this.#trying !== turn) return;
          this.#trying = undefined;
          this.#changed();
        };
      }
      const pause = rest <= 0 ? LONGEST_WAIT_MS : Math.min(rest, LONGEST_WAIT_MS);
      if (!reported) onWait(pause);
      reported = true;
      const either = linkSignals([signal, this.#change.signal]);
      await this.#clock.sleep(pause, either.signal);
      either.end();
    }
    return () => {};
  }

  #changed(): void {
    this.#change.abort("changed");
    this.#change = new AbortController();
  }
}

/** The part of a `Sender` that waiting needs. */
interface Waiting {
  readonly ports: { readonly clock: Clock };
  readonly limits: ResolvedLimits;
  readonly deadline?: Deadline;
  readonly usage: UsageBudget;
  readonly onError: (error: string) => void;
}

/** Measures how long one prompt waits for rate limits: from a refusal to the next answer. The time of its task stands still. */
export class RateLimitWait {
  /** The scope of the current turn. It is stopped when the time is over. */
  turn: Scope | undefined;
  readonly #sender: Waiting;
  readonly #countdown: Countdown;
  #resume: Release = () => {};

  constructor(sender: Waiting) {
    this.#sender = sender;
    const { ports, limits } = sender;
    this.#countdown = new Countdown(ports.clock, minutes(limits.rateLimitMinutes), () =>
      this.turn?.stop({ kind: "canceled", reason: this.crash.message }),
    );
  }

  get left(): number {
    return this.#countdown.left;
  }

  get isOver(): boolean {
    return this.#countdown.runs && this.left === 0;
  }

  /** `retryAfterMs`: the server has said when it resets. If that is too late, the job ends at once. */
  met(message = "the model server answered 429", retryAfterMs = 0): void {
    const { limits, deadline, usage, onError, ports } = this.#sender;
    if (retryAfterMs > this.left) {
      const resets = `The rate limit resets at ${utcText(ports.clock.now() + retryAfterMs)}.`;
      onError(`${sentence(message)} ${resets}`);
      usage.stop(exceeded(limits, "rateLimitMinutes"));
    }
    if (this.#countdown.runs) return;
    this.#countdown.start();
    this.#resume = deadline?.hold() ?? this.#resume;
  }

  lifted(): void {
    this.#countdown.stop();
    this.#resume();
  }

  get crash(): Crash {
    const { rateLimitMinutes } = this.#sender.limits;
    const message = `The model server has refused all requests for ${plural(rateLimitMinutes, "minute")} (limits.rateLimitMinutes).`;
    return { cause: "rate-limited", status: 429, message };
  }
}
