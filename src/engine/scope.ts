/** A tree of cancellation: the first reason wins. A disposed scope lets go of its parent, so that nothing grows. */
import { crashText, type Crash } from "../events/crash.ts";
import { limitText, type ExceededLimit } from "../events/exceeded-limit.ts";
import type { Clock } from "../platform/clock.ts";
import { onAbort, withGracePeriod, type Release } from "../platform/waiting.ts";
import type { WorkOutcome } from "../events/event.ts";

export type StopReason =
  | { readonly kind: "canceled"; readonly reason: string }
  | { readonly kind: "task-crashed"; readonly taskId: string; readonly crash: Crash }
  | { readonly kind: "work-stopped"; readonly reason: string }
  | { readonly kind: "budget-failed"; readonly reason: string }
  | (ExceededLimit & {
      readonly kind: "limit";
      readonly limit:
        "jobMinutes" | "tokens" | "cost" | "taskMinutes" | "modelCalls" | "rateLimitMinutes";
    });

export class Scope {
  readonly #listeners = new Set<(reason: StopReason) => void>();
  /** Made on first use of the signal: many scopes need none, and a controller is the most expensive part of a scope. */
  #controller: AbortController | undefined;
  #release: Release = () => {};
  #stopped: StopReason | undefined;

  private constructor() {}

  static root(signal: AbortSignal | undefined): Scope {
    const scope = new Scope();
    scope.#release = onAbort(signal, () =>
      scope.stop({ kind: "canceled", reason: cancelText(signal?.reason) }),
    );
    return scope;
  }

  child(): Scope {
    const child = new Scope();
    const { stopped } = this;
    if (stopped !== undefined) child.stop(stopped);
    else child.#release = this.onStop((reason) => child.stop(reason));
    return child;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#stopped !== undefined) this.#controller.abort(this.#stopped);
    }
    return this.#controller.signal;
  }

  get stopped(): StopReason | undefined {
    return this.#stopped;
  }

  onStop(listener: (reason: StopReason) => void): Release {
    if (this.#stopped !== undefined) {
      listener(this.#stopped);
      return () => {};
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  stop(reason: StopReason): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners) listener(reason);
    this.#listeners.clear();
  }

  dispose(): void {
    this.#release();
  }
}

/** How long a stopped run still waits for what it stopped; a cancel must be over within 5 seconds. */
const STOP_GRACE_MS = 2_000;

/** Sessions end their work in bounded time by contract; this bound covers one that doesn't. */
export async function unlessStopped<T>(
  scope: Scope,
  clock: Clock,
  promise: Promise<T>,
): Promise<T | undefined> {
  const ended = await withGracePeriod(promise, (stop) => scope.onStop(stop), STOP_GRACE_MS, clock);
  return ended?.value;
}

export function stopText(reason: StopReason): string {
  switch (reason.kind) {
    case "canceled":
    case "work-stopped":
    case "budget-failed":
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

export function reasonOf(outcome: Exclude<WorkOutcome, { kind: "succeeded" }>): string {
  return outcome.kind === "crashed" ? crashText(outcome.crash) : outcome.reason;
}

/** A check that fails has answered; what a limit, a crash or a stop ended has not. */
export function failedAs(reason: string, isAnswer: boolean): WorkOutcome {
  return { kind: "failed", reason, ...(isAnswer ? {} : { unanswered: true }) };
}

/** By whoever stops this work alone, or with more. */
export function stoppedAs(stopped: StopReason | undefined): WorkOutcome {
  if (stopped?.kind === "work-stopped") return failedAs(stopText(stopped), false);
  return { kind: "canceled", reason: stopped === undefined ? "canceled" : stopText(stopped) };
}

export function stopOf({ stopped }: Scope, lastError: string | undefined): StopReason | undefined {
  return stopped?.kind === "limit" ? { ...stopped, ...(lastError && { lastError }) } : stopped;
}

/** The last error of each work under way, by its scope: what stood in the way if a limit ends it. */
export class LastErrors {
  readonly #errors = new Map<Scope, string>();
  readonly #awaited: () => string | undefined;

  constructor({
    awaited = () => undefined,
  }: {
    readonly awaited?: (() => string | undefined) | undefined;
  }) {
    this.#awaited = awaited;
  }

  /** Undefined: a model has answered since. */
  note(scope: Scope, error: string | undefined): void {
    this.#errors.delete(scope);
    if (error !== undefined) this.#errors.set(scope, error);
  }

  of(scope: Scope): string | undefined {
    return this.#unreachable() ?? this.#errors.get(scope);
  }

  latest(): string | undefined {
    return this.#unreachable() ?? [...this.#errors.values()].at(-1);
  }

  #unreachable(): string | undefined {
    const server = this.#awaited();
    return server === undefined ? undefined : `can't connect to ${server}`;
  }
}
