/** Every wait for the runtime goes through here: it has no deadlines (docs/runtime-notes.md#deadlines). */
import { setMaxListeners } from "node:events";
import type { Clock } from "../events/clock.ts";

/**
 * Calls the listener once when the signal aborts, at once if it has. Returns the way to unsubscribe.
 * One signal may serve a whole job of hundreds of sessions: Node's warning about many listeners is no leak here.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => undefined;
  }
  setMaxListeners(0, signal);
  signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}

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
  const unsubscribe = signal === undefined ? undefined : onAbort(signal, () => timer.abort(true));
  try {
    return await Promise.race([
      promise.then((value) => ({ value })),
      clock.sleep(milliseconds, timer.signal).then(() => undefined),
    ]);
  } finally {
    // Without a reason Node makes an error with a stack.
    timer.abort(true);
    unsubscribe?.();
    // After the deadline, the result no longer matters.
    promise.catch(() => undefined);
  }
}

/** A step of an ending: whatever goes wrong, we go on. `late`: it did not answer in time. */
export async function bestEffort(
  step: () => Promise<unknown>,
  milliseconds: number,
  clock: Clock,
): Promise<"done" | "failed" | "late"> {
  try {
    return (await within(step(), milliseconds, clock)) === undefined ? "late" : "done";
  } catch {
    return "failed";
  }
}
