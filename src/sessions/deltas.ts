/**
 * Deltas may come by the thousand in a second: those of one text are joined, and passed on a few times a
 * second. Nothing is lost and the order stays; the last ones of a text come before whatever follows it.
 */
import type { Clock } from "../events/clock.ts";
import { isDelta, textOf, type Delta } from "../events/open-texts.ts";
import type { SessionActivity } from "../events/session-activity.ts";

const everyMs = 50;
/** Joined texts are no longer than that, so that no listener gets a megabyte at once. */
const atMost = 64 * 1024;

export class Deltas {
  #held: Delta | undefined;
  #lastPassed = -Infinity;
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
    const now = this.#clock.now();
    if (now - this.#lastPassed < everyMs && text.length < atMost) return;
    this.#lastPassed = now;
    this.flush();
  }

  /** Passes on what is held back. */
  flush(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#pass(held);
  }
}
