/** Nothing in the runtime has a deadline of its own (its trap 3): every wait for it goes through here. */
import type { Clock } from "../engine/ports.ts";

/**
 * Waits for `promise`, at most `milliseconds`: the value in a box, or undefined when the time is over, the
 * signal aborts, or the promise is rejected after that. A rejection in time is passed on.
 */
export async function within<T>(
  promise: Promise<T>,
  milliseconds: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<{ readonly value: T } | undefined> {
  const timer = new AbortController();
  const onAbort = (): void => timer.abort();
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) timer.abort();
  try {
    return await Promise.race([
      promise.then((value) => ({ value })),
      clock.sleep(milliseconds, timer.signal).then(() => undefined),
    ]);
  } finally {
    timer.abort();
    signal?.removeEventListener("abort", onAbort);
    // If time was up first, what becomes of it later is nobody's business any more.
    promise.catch(() => undefined);
  }
}

/** The same for a step of an ending: whatever goes wrong, we go on. */
export async function attempt(
  step: () => Promise<unknown>,
  milliseconds: number,
  clock: Clock,
): Promise<boolean> {
  try {
    return (await within(step(), milliseconds, clock)) !== undefined;
  } catch {
    return false;
  }
}
