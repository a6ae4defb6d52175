/** One call of something outside: bounded in time, cancelable, and settled exactly once. */
import { isRecord } from "../document/guards.ts";
import type { Clock } from "../events/clock.ts";
import type { CallContext, ToolOutcome, ToolProgress } from "./tool.ts";

export type CallEnd = ToolOutcome | { readonly kind: "cancelled"; readonly reason: string };

export interface CallBounds {
  readonly clock: Clock;
  readonly seconds: number;
  /** How long a call may take to settle after it was aborted. */
  readonly graceSeconds: number;
  /** Cancels the call, also if it has aborted before. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ToolProgress) => void;
}

/** Of a call whose tool has no time limit of its own. */
export const toolSeconds = 600;
/** How long a call that was aborted may take to settle. */
export const graceSeconds = 10;

export interface RunningCall {
  readonly ended: Promise<CallEnd>;
  /** Aborts the call. `ended` resolves when it has settled, or after the grace period. */
  readonly cancel: (reason: string) => void;
}

export function startCall(
  run: (context: CallContext) => Promise<ToolOutcome>,
  { clock, seconds, graceSeconds, signal, onProgress }: CallBounds,
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
    signal?.removeEventListener("abort", abort);
    resolve(end);
  };
  const stop = (end: CallEnd): void => {
    if (settled || stopped !== undefined) return;
    stopped = end;
    controller.abort(end.kind);
    void clock.sleep(graceSeconds * 1000, timers.signal).then(() => settle(end));
  };
  const cancel = (reason: string): void => stop({ kind: "cancelled", reason });
  const abort = (): void => cancel("It was canceled.");
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted === true) abort();
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
      // Canceled before it began: then it must not begin.
      stopped === undefined ? run(context) : { kind: "timed_out" },
    )
    .then(
      (outcome) => settle(stopped ?? checked(outcome)),
      (error: unknown) => settle(stopped ?? { kind: "failed", reason: messageOf(error) }),
    );
  return { ended, cancel };
}

/** What a host's tool returned, which may be written without types. */
function checked(outcome: unknown): ToolOutcome {
  const failed = (reason: string): ToolOutcome => ({ kind: "failed", reason });
  try {
    if (!isRecord(outcome)) return failed("The call returned no outcome.");
    const { kind, value, reason, tail } = outcome;
    switch (kind) {
      case "succeeded":
        return { kind, value };
      case "failed":
        return { ...failed(textOf(reason)), ...(typeof tail === "string" ? { tail } : {}) };
      case "timed_out":
        return { kind };
      default:
        return failed("The call returned no outcome.");
    }
  } catch (error) {
    return failed(messageOf(error));
  }
}

function messageOf(error: unknown): string {
  try {
    return textOf(error instanceof Error ? error.message : error);
  } catch {
    return "unknown error";
  }
}

function textOf(reason: unknown): string {
  return typeof reason === "string" && reason !== "" ? reason : `unknown error: ${String(reason)}`;
}
