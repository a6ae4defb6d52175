/** Turns wait for a rate limit that another met. One at a time tries it, after a pause; an answer lifts it. */
import type { Clock } from "../platform/clock.ts";
import { linkSignals } from "../platform/waiting.ts";
import type { RateLimit } from "./ports.ts";

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
