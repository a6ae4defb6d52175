import type { Clock } from "./clock.ts";
import { onAbort, type Release } from "./waiting.ts";

/** Read from the system's clock once, and goes on with the monotonic one: a time that is set meanwhile ends no turn. */
export const systemClock: Clock = {
  now(): number {
    return Math.round(performance.timeOrigin + performance.now());
  },

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      let release: Release = () => {};
      const cancel = after(milliseconds, () => {
        release();
        resolve();
      });
      release = onAbort(signal, () => {
        cancel();
        resolve();
      });
    });
  },

  after,
  background: (milliseconds, listener) => after(milliseconds, listener, true),
};

const LONGEST_TIMER_MS = 2_147_483_647;

/** Node fires a timer of more than 2^31-1 ms at once. */
function after(milliseconds: number, listener: () => void, isBackground = false): Release {
  const part = Math.min(milliseconds, LONGEST_TIMER_MS);
  const wait = (): void => {
    if (milliseconds > part) cancel = after(milliseconds - part, listener, isBackground);
    else listener();
  };
  const timer = setTimeout(wait, part);
  if (isBackground) timer.unref();
  let cancel: Release = () => clearTimeout(timer);
  return () => cancel();
}
