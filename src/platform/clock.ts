import type { Clock } from "../events/clock.ts";
import { onAbort, type Release } from "../events/waiting.ts";

/**
 * The real time. Everything that waits takes a clock, so that tests can inject one.
 *
 * It is read from the system's clock once, when the process starts, and goes on with the monotonic one: a time
 * that is set forward or back meanwhile neither ends a turn nor lets a limit wait.
 */
export const systemClock: Clock = {
  now(): number {
    return Math.round(performance.timeOrigin + performance.now());
  },

  /** Resolves after `milliseconds`, or at once when `signal` aborts; never rejects. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      let release: Release = () => {};
      const done = (): void => {
        clearTimeout(timer);
        resolve();
        release();
      };
      const wait = (rest: number): void => {
        // Node fires a timer of more than 2^31-1 ms at once.
        const part = Math.min(rest, LONGEST_TIMER_MS);
        timer = setTimeout(() => (rest > part ? wait(rest - part) : done()), part);
      };
      if (signal?.aborted === true) done();
      else {
        release = onAbort(signal, done);
        wait(milliseconds);
      }
    });
  },
};

const LONGEST_TIMER_MS = 2_147_483_647;
