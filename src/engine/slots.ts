/**
 * Bounds the running steps of `Par`s and parallel `Each`es: at most `limits.parallel` in a run. A step without a slot
 * has not started, so its task takes no time and has no session. A step that holds a slot waits for no other slot, so
 * there are no deadlocks. Free slots go to the steps in the order of the tree.
 */
import type { Clock } from "../platform/clock.ts";
import type { Release } from "../platform/waiting.ts";
import type { Place } from "./items.ts";

interface Waiting {
  readonly branch: Place["branch"];
  readonly start: () => void;
}

export class Slots {
  #free: number;
  #isGranting = false;
  readonly #waiting: Waiting[] = [];
  readonly #clock: Clock;

  constructor(count: number, clock: Clock) {
    this.#free = count;
    this.#clock = clock;
  }

  /** Resolves with undefined if the scope stops before a slot is free. */
  async run<T>(place: Place, step: () => Promise<T>): Promise<T | undefined> {
    if (place.branch.length === 0) return step();
    if (!(await this.#take(place))) return undefined;
    try {
      return await step();
    } finally {
      this.#free += 1;
      void this.#grant();
    }
  }

  async #take({ branch, scope }: Place): Promise<boolean> {
    if (scope.stopped !== undefined) return false;
    if (this.#free > 0 && this.#waiting.length === 0) {
      this.#free -= 1;
      return true;
    }
    let leave: Release = () => {};
    const isStarted = await new Promise<boolean>((resolve) => {
      const waiting = { branch, start: () => resolve(true) };
      const next = this.#waiting.findLastIndex((other) => compare(other.branch, branch) <= 0) + 1;
      this.#waiting.splice(next, 0, waiting);
      leave = scope.onStop(() => {
        const at = this.#waiting.indexOf(waiting);
        if (at >= 0) this.#waiting.splice(at, 1);
        resolve(false);
      });
    });
    leave();
    return isStarted;
  }

  /** The next step of the branch that freed a slot precedes later branches, so it may ask first. */
  async #grant(): Promise<void> {
    if (this.#isGranting || this.#waiting.length === 0) return;
    this.#isGranting = true;
    await this.#clock.sleep(0);
    this.#isGranting = false;
    for (; this.#free > 0 && this.#waiting.length > 0; this.#free -= 1)
      this.#waiting.shift()?.start();
  }
}

function compare(one: Place["branch"], other: Place["branch"]): number {
  const at = one.findIndex((index, depth) => index !== other[depth]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}
