/** This process: what it prints, the signals that cancel it, how it ends. */
import { cancelOnSignals, type Cancellation } from "../app/cancellation.ts";
import { createOutput } from "../app/output.ts";

/** Everything that the command line prints. */
export const output = createOutput(process.stdout, process.stderr, process.env);

/** Documented in docs/cli.md. */
export const exitCode = {
  success: 0,
  /** The job, or a rehearsal, failed. */
  failed: 1,
  /** Wrong usage, a missing user input, an invalid entry. */
  usage: 2,
  canceled: 130,
} as const;

export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

/** Ctrl-C, SIGTERM and a closed terminal cancel the run. It ends within five seconds, including its report. */
export function cancelFromTerminal(): Cancellation {
  return cancelOnSignals({
    signals: ["SIGINT", "SIGTERM", "SIGHUP"],
    exitCode: exitCode.canceled,
    patienceMs: 4_500,
    secondExits: true,
  });
}
