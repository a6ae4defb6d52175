/** Signals cancel a run, which then has some seconds to end. Imports nothing, so that an edge can load it first. */

export interface CancellationOptions {
  readonly signals: readonly NodeJS.Signals[];
  readonly exitCode: number;
  /** Milliseconds from the first signal to the exit by force. */
  readonly patienceMs: number;
  /** A second signal means: now. Else it is ignored, as the runner of GitHub sends two. */
  readonly secondExits: boolean;
}

export interface Cancellation {
  readonly signal: AbortSignal;
  /** Aborts just before the exit by force: what still runs must be gone when its listeners return. */
  readonly lastCall: AbortSignal;
  /** Saves what is known before the exit by force, within half a second. Must not reject. */
  onLastCall: (() => Promise<void>) | undefined;
  cancel(reason: string): void;
  dispose(): void;
}

const LAST_MS = 500;

export function cancelOnSignals(options: CancellationOptions): Cancellation {
  const controller = new AbortController();
  const lastCall = new AbortController();
  let patience: NodeJS.Timeout | undefined;
  const exit = (): never => {
    lastCall.abort();
    process.exit(options.exitCode);
  };
  const exitByForce = (): void => {
    if (cancellation.onLastCall === undefined) exit();
    setTimeout(exit, LAST_MS);
    void cancellation.onLastCall?.().finally(exit);
  };
  const cancel = (reason: string): void => {
    if (controller.signal.aborted) return;
    patience = setTimeout(exitByForce, options.patienceMs);
    controller.abort(reason);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted && options.secondExits) exit();
    cancel(`canceled by ${signal}`);
  };
  for (const signal of options.signals) process.on(signal, onSignal);
  const cancellation: Cancellation = {
    signal: controller.signal,
    lastCall: lastCall.signal,
    onLastCall: undefined,
    cancel,
    dispose() {
      clearTimeout(patience);
      for (const signal of options.signals) process.off(signal, onSignal);
    },
  };
  return cancellation;
}
