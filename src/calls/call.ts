/** One call of something outside: bounded in time, cancelable, and settled exactly once. */
import type { Clock } from "../events/clock.ts";
import type { CallContext, ToolOutcome, ToolProgress } from "./tool.ts";

export type CallEnd = ToolOutcome | { readonly kind: "cancelled"; readonly reason: string };

export interface CallBounds {
  readonly clock: Clock;
  readonly seconds: number;
  /** How long a call may take to settle after it was aborted. */
  readonly graceSeconds: number;
  readonly onProgress?: (progress: ToolProgress) => void;
}

export interface RunningCall {
  readonly ended: Promise<CallEnd>;
  /** Aborts the call. `ended` resolves when it has settled, or after the grace period. */
  readonly cancel: (reason: string) => void;
}

export function startCall(
  run: (context: CallContext) => Promise<ToolOutcome>,
  { clock, seconds, graceSeconds, onProgress }: CallBounds,
): RunningCall {
  const controller = new AbortController();
  const timers = new AbortController();
  let stopped: CallEnd | undefined;
  let settled = false;
  let resolve: (end: CallEnd) => void = () => {};
  const ended = new Promise<CallEnd>((done) => (resolve = done));
  const settle = (end: CallEnd): void => {
    settled = true;
    timers.abort();
    resolve(end);
  };
  const stop = (end: CallEnd): void => {
    if (settled || stopped !== undefined) return;
    stopped = end;
    controller.abort(end.kind);
    void clock.sleep(graceSeconds * 1000, timers.signal).then(() => settle(end));
  };
  let left = seconds * 1000;
  let paused = 0;
  /** Runs while the time limit does. */
  let limit = new AbortController();
  let since = 0;
  const startLimit = (): void => {
    const current = new AbortController();
    limit = current;
    since = clock.now();
    void clock.sleep(left, AbortSignal.any([timers.signal, current.signal])).then(() => {
      if (!timers.signal.aborted && !current.signal.aborted) stop({ kind: "timed_out" });
    });
  };
  const pauseTimeLimit = (): (() => void) => {
    paused += 1;
    if (paused === 1) {
      limit.abort();
      left = Math.max(0, left - (clock.now() - since));
    }
    let resumed = false;
    return () => {
      if (resumed) return;
      resumed = true;
      paused -= 1;
      if (paused === 0 && !settled) startLimit();
    };
  };
  startLimit();
  const context: CallContext = {
    signal: controller.signal,
    onProgress: (progress) => {
      if (!settled && stopped === undefined) onProgress?.(progress);
    },
    pauseTimeLimit,
  };
  Promise.resolve()
    .then((): ToolOutcome | Promise<ToolOutcome> =>
      stopped === undefined ? run(context) : { kind: "timed_out" },
    )
    .then(
      (outcome) => settle(stopped ?? outcome),
      (error: unknown) => settle(stopped ?? { kind: "failed", reason: messageOf(error) }),
    );
  return { ended, cancel: (reason) => stop({ kind: "cancelled", reason }) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
