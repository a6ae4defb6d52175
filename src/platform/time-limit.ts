export interface TimeLimit {
  /** Aborts when the time is over, or when the outer signal does. */
  readonly signal: AbortSignal;
  /** True when it was the time. */
  readonly isOver: boolean;
  /** To be called when what was limited has ended. */
  end(): void;
}

/**
 * A bound on something, from now. `AbortSignal.any` with `AbortSignal.timeout` would be shorter, but on
 * Node 20 the timeout may be collected before it fires.
 */
export function startTimeLimit(milliseconds: number, outer: AbortSignal): TimeLimit {
  const controller = new AbortController();
  let isOver = false;
  const forward = (): void => controller.abort(outer.reason);
  const timer = setTimeout(() => {
    isOver = !controller.signal.aborted;
    controller.abort();
  }, milliseconds);
  if (outer.aborted) forward();
  else outer.addEventListener("abort", forward, { once: true });
  return {
    signal: controller.signal,
    get isOver() {
      return isOver;
    },
    end() {
      clearTimeout(timer);
      outer.removeEventListener("abort", forward);
    },
  };
}
