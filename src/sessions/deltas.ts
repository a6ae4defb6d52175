/** Deltas may come by the thousand in a second: those of one text are joined, in order, for at most 50 ms. */
import type { Clock } from "../platform/clock.ts";
import { startTimer, type Release } from "../platform/waiting.ts";
import { isDelta, textOf, type Delta, type SessionActivity } from "../events/session-activity.ts";

const everyMs = 50;
const atMost = 64 * 1024;

export class Deltas {
  #held: Delta | undefined;
  #lastPassed = -Infinity;
  #timer: Release | undefined;
  readonly #clock: Clock;
  readonly #pass: (activity: SessionActivity) => void;

  constructor(clock: Clock, pass: (activity: SessionActivity) => void) {
    this.#clock = clock;
    this.#pass = pass;
  }

  pass(activity: SessionActivity): void {
    if (!isDelta(activity)) {
      this.flush();
      this.#pass(activity);
      return;
    }
    if (this.#held !== undefined && textOf(this.#held) !== textOf(activity)) this.flush();
    const text = (this.#held?.text ?? "") + activity.text;
    this.#held = { ...activity, text };
    const wait = this.#lastPassed + everyMs - this.#clock.now();
    if (wait <= 0 || text.length >= atMost) this.flush();
    else this.#timer ??= startTimer(this.#clock, wait, () => this.flush());
  }

  flush(): void {
    this.#timer?.();
    this.#timer = undefined;
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) return;
    this.#lastPassed = this.#clock.now();
    this.#pass(held);
  }
}
