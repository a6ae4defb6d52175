/**
 * What a rate limit that one session meets means for the turns of the others: they wait, instead of burning
 * their attempts against it. One for all runs that use the same models.
 *
 * Invariants: while the limit holds at most one turn begins at a time, and only after a pause; the first
 * answer of the model server lifts it for all; nobody waits longer than `LONGEST_PAUSE_MS` in one go.
 */
import type { Clock } from "../events/clock.ts";

const SHORTEST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;

export class RateLimit {
  /** When it was met first; undefined when there is none. */
  #since: number | undefined;
  #until = 0;
  /** The one turn that was let through to try. */
  #trying: symbol | undefined;
  #change = new AbortController();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The model server has refused a request of a turn that goes on: the pause grows while the limit holds. */
  met(): void {
    const now = this.#clock.now();
    this.#since ??= now;
    const grown = Math.min(Math.max(now - this.#since, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
    this.#until = Math.max(this.#until, now + grown);
  }

  /** A turn has ended for it and will be tried again after this pause, which then is everybody's: nobody waits twice. */
  pause(milliseconds: number): void {
    const now = this.#clock.now();
    this.#since ??= now;
    this.#until = now + milliseconds;
    // Who waits already looks again.
    this.#changed();
  }

  /** The model server has answered. */
  lifted(): void {
    if (this.#since === undefined) return;
    this.#since = undefined;
    this.#until = 0;
    // Its turn may go on for long; whether a limit that is met later has passed, another one tries.
    this.#trying = undefined;
    this.#changed();
  }

  /**
   * Resolves when a turn may begin, or when `signal` aborts. `onWait` is called once, if it has to wait.
   * The returned function must be called when the turn has ended.
   */
  async enter(signal: AbortSignal, onWait: (milliseconds: number) => void): Promise<() => void> {
    let told = false;
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
      const pause = rest <= 0 ? LONGEST_PAUSE_MS : Math.min(rest, LONGEST_PAUSE_MS);
      if (!told) onWait(pause);
      told = true;
      await this.#clock.sleep(pause, AbortSignal.any([signal, this.#change.signal]));
    }
    return () => {};
  }

  #changed(): void {
    this.#change.abort("changed");
    this.#change = new AbortController();
  }
}
