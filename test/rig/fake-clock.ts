import type { Clock } from "../../src/engine/ports.ts";

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
    let settled = false;
    const watched = promise.finally(() => (settled = true));
    watched.catch(() => {});
    for (let idle = 0; !settled;) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (settled) break;
      const next = [...this.#timers].sort((a, b) => a.due - b.due)[0];
      if (next === undefined) {
        idle += 1;
        if (idle > 100)
          throw new Error("The promise hangs: no timer is left that could settle it.");
        continue;
      }
      idle = 0;
      this.#now = Math.max(this.#now, next.due);
      next.ring();
    }
    return watched;
  }
}
