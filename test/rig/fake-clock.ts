import type { Clock } from "../../src/platform/clock.ts";

interface Timer {
  readonly due: number;
  readonly ring: () => void;
}

/** Virtual time: it stands still until `runUntil` finds that nothing else can happen. */
export class FakeClock implements Clock {
  #now = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  get waiting(): number {
    return this.#timers.size;
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const timer: Timer = {
        due: this.#now + milliseconds,
        ring: () => {
          this.#timers.delete(timer);
          signal?.removeEventListener("abort", timer.ring);
          resolve();
        },
      };
      this.#timers.add(timer);
      signal?.addEventListener("abort", timer.ring, { once: true });
    });
  }

  /** Lets time pass, from timer to timer, until `promise` settles. Fails if nothing is left to wait for. */
  async runUntil<T>(promise: Promise<T>): Promise<T> {
    const state = { settled: false };
    const watched = promise.finally(() => (state.settled = true));
    watched.catch(() => {});
    for (let idle = 0; idle < 100; idle += 1) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (state.settled) return watched;
      const next = [...this.#timers].sort((a, b) => a.due - b.due)[0];
      if (next === undefined) continue;
      idle = 0;
      this.#now = Math.max(this.#now, next.due);
      next.ring();
    }
    throw new Error("The promise hangs: no timer is left that could settle it.");
  }
}
