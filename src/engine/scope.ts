/**
 * Cancellation, in one place. A scope owns an `AbortSignal` and the reason of its stop; stopping it
 * stops its children, disposing it lets go of its parent, so that nothing grows with the number of
 * works done. The first reason wins.
 */
import { crashText, type Crash } from "../events/crash.ts";
import { limitText, type CrossedLimit } from "../events/decision.ts";
import type { Clock } from "../events/clock.ts";

export type StopReason =
  | { readonly kind: "canceled"; readonly reason: string }
  | { readonly kind: "task-crashed"; readonly taskId: string; readonly crash: Crash }
  | LimitStop;

export interface LimitStop extends CrossedLimit {
  readonly kind: "limit";
  readonly limit: StoppingLimit;
}

export type StoppingLimit = "jobMinutes" | "tokens" | "taskMinutes" | "modelCalls";

export class Scope {
  readonly #controller = new AbortController();
  readonly #children = new Set<Scope>();
  readonly #release: () => void;
  #stopped: StopReason | undefined;

  private constructor(release: (scope: Scope) => void) {
    this.#release = () => release(this);
  }

  /** A scope of its own, stopped as `canceled` when `signal` aborts. */
  static root(signal: AbortSignal | undefined): Scope {
    const scope = new Scope(() => signal?.removeEventListener("abort", onAbort));
    const onAbort = (): void =>
      scope.stop({ kind: "canceled", reason: cancelText(signal?.reason) });
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
    return scope;
  }

  child(): Scope {
    const child = new Scope((scope) => this.#children.delete(scope));
    if (this.#stopped === undefined) this.#children.add(child);
    else child.stop(this.#stopped);
    return child;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get stopped(): StopReason | undefined {
    return this.#stopped;
  }

  stop(reason: StopReason): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = reason;
    this.#controller.abort(reason);
    for (const child of this.#children) child.stop(reason);
    this.#children.clear();
  }

  /** Must be called when the work of this scope is over. */
  dispose(): void {
    this.#release();
  }
}

/** How long a stopped run still waits for what it stopped; a cancel must be over within 5 seconds. */
export const STOP_GRACE_MS = 2_000;

/** A reason of our own: without one, `abort` makes an error with a stack, each time. */
const over = "over";

/** Stops `scope` after `milliseconds`, unless the returned function is called first. */
export function stopAfter(
  clock: Clock,
  scope: Scope,
  milliseconds: number,
  reason: StopReason,
): () => void {
  if (!Number.isFinite(milliseconds)) return () => {};
  const timer = new AbortController();
  void clock.sleep(milliseconds, timer.signal).then(() => {
    if (!timer.signal.aborted) scope.stop(reason);
  });
  return () => timer.abort(over);
}

/**
 * Waits for `promise`, but no longer than `graceMs` after `scope` has stopped; then undefined. What
 * a session does is bounded by contract: this is the bound for one that breaks it.
 */
export async function unlessStopped<T>(
  scope: Scope,
  clock: Clock,
  graceMs: number,
  promise: Promise<T>,
): Promise<T | undefined> {
  // Made only when it is needed: a loop of many works passes here for each of them.
  let timer: AbortController | undefined;
  let begin = (): void => {};
  const grace = new Promise<undefined>((resolve) => {
    begin = () => {
      timer = new AbortController();
      void clock.sleep(graceMs, timer.signal).then(() => resolve(undefined));
    };
  });
  if (scope.signal.aborted) begin();
  else scope.signal.addEventListener("abort", begin, { once: true });
  try {
    return await Promise.race([promise, grace]);
  } finally {
    scope.signal.removeEventListener("abort", begin);
    timer?.abort(over);
  }
}

/** The sentence for people about why something was stopped. */
export function stopText(reason: StopReason): string {
  switch (reason.kind) {
    case "canceled":
      return reason.reason;
    case "task-crashed":
      return `task "${reason.taskId}" crashed: ${crashText(reason.crash)}`;
    case "limit":
      return `exceeded ${limitText(reason)}`;
  }
}

function cancelText(reason: unknown): string {
  return typeof reason === "string" && reason !== "" ? reason : "canceled";
}
