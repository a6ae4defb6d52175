import pLimit from "p-limit";
import { onAbort } from "../platform/waiting.ts";
import type { TurnGate } from "../engine/ports.ts";

/** A turn that waits for the first gate occupies no place in the second. */
export function inTurn(first: TurnGate, second: TurnGate | undefined): TurnGate {
  if (second === undefined) return first;
  return { run: (turn, signal) => first.run(() => second.run(turn, signal), signal) };
}

/** `parallel` may change at any time; turns that have begun go on. */
export function createGate(parallel: number): TurnGate & { parallel: number } {
  const limit = pLimit(parallel);
  return {
    get parallel() {
      return limit.concurrency;
    },
    set parallel(count) {
      limit.concurrency = count;
    },
    run: <T>(turn: () => Promise<T>, signal: AbortSignal) =>
      new Promise<T | undefined>((resolve, reject) => {
        // A turn that waits for a slot leaves at once. A turn that has begun ends in its own way.
        const release = onAbort(signal, () => resolve(undefined));
        limit(async () => {
          release();
          return signal.aborted ? undefined : turn();
        }).then(resolve, reject);
      }),
  };
}
