/** Ctrl-C, a polite kill and a closed terminal cancel the run; it then has five seconds, report included. */
import { exitCode } from "./exit-code.ts";

const PATIENCE_MS = 4_500;

export interface Cancellation {
  readonly signal: AbortSignal;
  /** Aborts when there is no time left: what still runs must be gone when its listeners return. */
  readonly lastCall: AbortSignal;
  dispose(): void;
}

export function cancelOnSignals(): Cancellation {
  const controller = new AbortController();
  let impatient: NodeJS.Timeout | undefined;
  const lastCall = new AbortController();
  const exitNow = (): never => {
    lastCall.abort();
    process.exit(exitCode.canceled);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    // A second one means: now.
    if (controller.signal.aborted) exitNow();
    impatient = setTimeout(exitNow, PATIENCE_MS);
    impatient.unref();
    controller.abort(`canceled by ${signal}`);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
  return {
    signal: controller.signal,
    lastCall: lastCall.signal,
    dispose() {
      clearTimeout(impatient);
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(signal, onSignal);
    },
  };
}
