/**
 * Bounds the running steps of `Par`s and parallel `Each`es: at most `limits.parallel` in a run. A step without a slot
 * has not started, so its task takes no time and has no session. A step that holds a slot waits for no other slot, so
 * there are no deadlocks. Free slots go to the steps in the order of the tree.
 */
import type { Clock } from "../platform/clock.ts";
import type { Release } from "../platform/waiting.ts";
import type { Place } from "./place.ts";

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

  /** Resolves with the way to free the slot, or with undefined if the scope stops before one is free. */
  async take({ branch, scope }: Place): Promise<Release | undefined> {
    if (scope.stopped !== undefined) return undefined;
    if (branch.length === 0) return () => {};
    const free = (): void => {
      this.#free += 1;
      void this.#grant();
    };
    if (this.#free > 0 && this.#waiting.length === 0) {
      this.#free -= 1;
      return free;
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
    return isStarted ? free : undefined;
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
