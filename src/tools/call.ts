/**
 * One call of a tool, of whatever kind, also of an MCP server: its time limit, its cancellation and its end. It always
 * ends, at the latest after the grace period.
 */
import { isRecord, isText } from "../text/guards.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage } from "../platform/system-error.ts";
import {
  onAbort,
  startTimer,
  withGracePeriod,
  type Occasion,
  type Release,
} from "../platform/waiting.ts";
import { failed, type CallContext, type ToolOutcome, type ToolProgress } from "./tool.ts";

export type CallEnd = ToolOutcome | { readonly kind: "cancelled"; readonly reason: string };

export interface CallBounds {
  readonly clock: Clock;
  readonly seconds: number;
  readonly graceSeconds: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ToolProgress) => void;
}

export const toolSeconds = 600;
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
  let stopped: CallEnd | undefined;
  let settled = false;
  const stop = (end: CallEnd): void => {
    if (settled || stopped !== undefined) return;
    stopped = end;
    controller.abort(end.kind);
  };
  const cancel = (reason: string): void => stop({ kind: "cancelled", reason });
  const limit = pausableLimit(clock, seconds * 1000, () => stop({ kind: "timed_out" }));
  const release = onAbort(signal, () => cancel("It was canceled."));
  const context: CallContext = {
    signal: controller.signal,
    onProgress: (progress) => {
      if (!settled && stopped === undefined) onProgress?.(progress);
    },
    pauseTimeLimit: limit.pause,
  };
  const isStopped: Occasion = (listener) => onAbort(controller.signal, listener);
  const settle = async (): Promise<CallEnd> => {
    // The call begins once the caller can cancel it. A call that is canceled before must not begin.
    await Promise.resolve();
    const call = stopped === undefined ? outcomeOf(() => run(context)) : undefined;
    const ended = call && (await withGracePeriod(call, isStopped, graceSeconds * 1000, clock));
    settled = true;
    limit.end();
    release();
    return stopped ?? ended?.value ?? { kind: "timed_out" };
  };
  return { ended: settle(), cancel };
}

function pausableLimit(clock: Clock, milliseconds: number, onOver: () => void) {
  let left = milliseconds;
  let since = 0;
  let stop: Release | undefined;
  let hasEnded = false;
  const halt = (): void => {
    if (stop !== undefined) left -= clock.now() - since;
    stop?.();
    stop = undefined;
  };
  const run = (): void => {
    if (hasEnded || stop !== undefined) return;
    since = clock.now();
    stop = startTimer(clock, Math.max(0, left), onOver);
  };
  run();
  return {
    pause: (): Release => {
      halt();
      return run;
    },
    end: (): void => {
      hasEnded = true;
      halt();
    },
  };
}

async function outcomeOf(run: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  try {
    // A host's tool may be written without types.
    const outcome: unknown = await run();
    return isOutcome(outcome) ? outcome : failed("The call returned no outcome.");
  } catch (error) {
    return failed(errorMessage(error) || "unknown error");
  }
}

function isOutcome(outcome: unknown): outcome is ToolOutcome {
  if (!isRecord(outcome)) return false;
  const { kind, reason, tail } = outcome;
  return kind === "failed"
    ? isText(reason) && (tail === undefined || isText(tail))
    : kind === "succeeded" || kind === "timed_out";
}
