/**
 * The runner cancels with SIGINT, 7.5 s later SIGTERM, 2.5 s later a kill; we take five seconds at most.
 * Both signals cancel the run; `onLastCall` is what has to be done even if the run does not come to its end.
 */
const PATIENCE_MS = 4_000;
/** For the last call itself. */
const LAST_MS = 500;

export interface Cancellation {
  readonly signal: AbortSignal;
  /** Aborts just before the process exits by force. */
  readonly lastCall: AbortSignal;
  /** Set by whoever has something to save; never rejects. */
  onLastCall: (() => Promise<void>) | undefined;
  dispose(): void;
}

export function cancelOnSignals(exitCode: number): Cancellation {
  const controller = new AbortController();
  const lastCall = new AbortController();
  let patience: NodeJS.Timeout | undefined;
  const exitNow = (): void => {
    const exit = (): never => {
      lastCall.abort();
      process.exit(exitCode);
    };
    setTimeout(exit, LAST_MS);
    void (cancellation.onLastCall?.() ?? Promise.resolve()).finally(exit);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) return;
    patience = setTimeout(exitNow, PATIENCE_MS);
    controller.abort(`canceled by ${signal}`);
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  const cancellation: Cancellation = {
    signal: controller.signal,
    lastCall: lastCall.signal,
    onLastCall: undefined,
    dispose() {
      clearTimeout(patience);
      process.off("SIGINT", onSignal);
      process.off("SIGTERM", onSignal);
    },
  };
  return cancellation;
}
