/**
 * A wait that is over leaves no listener and no timer behind; a promise that is no longer waited for rejects unnoticed;
 * the time is that of the clock which is passed in.
 */
import { setMaxListeners } from "node:events";
import type { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "./clock.ts";

/** Stops listening, or cancels a timer. Idempotent. */
export type Release = () => void;

/** Something that happens at most once: calls the listener when it does, or at once if it already has. */
export type Occasion = (listener: () => void) => Release;

const nothing: Release = () => {};

/** A reason saves `abort` from creating an error with a stack each time. */
const over = "over";

/** Signals that may have any number of listeners: to say so takes longer than to listen. */
const unlimited = new WeakSet<AbortSignal>();

/** One signal may serve hundreds of sessions: Node's warning about many listeners reports no leak here. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): Release {
  if (signal === undefined) return nothing;
  if (signal.aborted) {
    listener();
    return nothing;
  }
  if (!unlimited.has(signal)) setMaxListeners(0, signal);
  unlimited.add(signal);
  signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}

export function startTimer(clock: Clock, milliseconds: number, listener: () => void): Release {
  if (clock.after !== undefined) return clock.after(milliseconds, listener);
  const timer = new AbortController();
  void clock.sleep(milliseconds, timer.signal).then(() => {
    if (!timer.signal.aborted) listener();
  });
  return () => timer.abort(over);
}

/** The process may end meanwhile, if the clock is that of the system. */
export function startBackgroundTimer(
  clock: Clock,
  milliseconds: number,
  listener: () => void,
): Release {
  return clock.background?.(milliseconds, listener) ?? startTimer(clock, milliseconds, listener);
}

/** Waits for `promise`: the value in a box, or undefined at the first of the occasions. The others build on it. */
export async function unless<T>(
  promise: Promise<T>,
  ...occasions: readonly Occasion[]
): Promise<{ readonly value: T } | undefined> {
  const releases: Release[] = [];
  const givenUp = new Promise<undefined>((resolve) => {
    for (const occasion of occasions) releases.push(occasion(() => resolve(undefined)));
  });
  try {
    return await Promise.race([promise.then((value) => ({ value })), givenUp]);
  } finally {
    for (const release of releases) release();
  }
}

/** At most `milliseconds`. A rejection in time is passed on. */
export function within<T>(
  promise: Promise<T>,
  milliseconds: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<{ readonly value: T } | undefined> {
  return unless(
    promise,
    (giveUp) => startTimer(clock, milliseconds, giveUp),
    (giveUp) => onAbort(signal, giveUp),
  );
}

export function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
): Promise<{ readonly value: T } | undefined> {
  return unless(promise, (giveUp) => onAbort(signal, giveUp));
}

/** Resolves with undefined if the promise hasn't settled `graceMs` after the stop. */
export function withGracePeriod<T>(
  promise: Promise<T>,
  stop: Occasion,
  graceMs: number,
  clock: Clock,
): Promise<{ readonly value: T } | undefined> {
  return unless(promise, (giveUp) => {
    let cancel = nothing;
    const release = stop(() => (cancel = startTimer(clock, graceMs, giveUp)));
    return () => {
      release();
      cancel();
    };
  });
}

/** A step of a shutdown. Whatever goes wrong, the next step follows. `late`: it was not done in time. */
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

export interface LinkedSignal {
  /** Aborts with the first of the others, for its reason. */
  readonly signal: AbortSignal;
  /** To be called when nobody needs the signal any more: the others may live much longer. */
  readonly end: Release;
}

/** `AbortSignal.any` would be shorter, but what it makes stays with the others for as long as they live. */
export function linkSignals(signals: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const controller = new AbortController();
  const releases = signals.map((one) => onAbort(one, () => controller.abort(one?.reason)));
  return {
    signal: controller.signal,
    end: () => {
      for (const release of releases) release();
    },
  };
}

/** `AbortSignal.timeout` takes no clock, and on Node 20 it may be collected before it fires. */
export function startTimeLimit(
  clock: Clock,
  milliseconds: number,
  outer?: AbortSignal,
): LinkedSignal & { readonly isOver: boolean } {
  const late = new AbortController();
  const { signal, end } = linkSignals([outer, late.signal]);
  let isOver = false;
  const cancel = startTimer(clock, milliseconds, () => {
    isOver = !signal.aborted;
    late.abort();
  });
  return {
    signal,
    get isOver() {
      return isOver;
    },
    end: () => {
      cancel();
      end();
    },
  };
}

export async function yieldToEventLoop(): Promise<void> {
  await setImmediate();
}

const longestBlockMs = 10;

/** Yields to the event loop after each 10 ms of work. */
export class EventLoopYielder {
  #since = performance.now();

  async yieldIfDue(): Promise<void> {
    if (performance.now() - this.#since < longestBlockMs) return;
    await yieldToEventLoop();
    this.#since = performance.now();
  }
}

/** By itself, a stream passes on megabytes at once, and a cancellation takes many rounds of the event loop. */
export function readYielding(stream: Readable, onPiece: (piece: Buffer) => void): void {
  stream.on("data", (piece: Buffer) => {
    onPiece(piece);
    stream.pause();
    void yieldToEventLoop().then(() => stream.resume());
  });
}
