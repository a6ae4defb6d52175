import type { Readable } from "node:stream";
import type { ReadStream } from "node:tty";
import { cancelOnSignals, type Cancellation } from "../run/cancellation.ts";
import { createOutput, type Output } from "./output.ts";

export interface Io {
  readonly stdin: Readable | ReadStream;
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly output: Output;
}

/** The working directory and the environment are those of the process, whatever the streams are. */
export function ioOf(
  streams: Pick<Io, "stdin" | "stderr"> & { readonly stdout: Parameters<typeof createOutput>[0] },
): Io {
  return {
    // A process opens its own only for the commands that read it.
    get stdin() {
      return streams.stdin;
    },
    stderr: streams.stderr,
    output: createOutput(streams.stdout, streams.stderr, process.env),
  };
}

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

/**
 * Ctrl-C, SIGTERM and a closed terminal cancel a run. By default it ends within five seconds, including its report.
 * `patienceMs`: after them the process ends, whatever still goes on.
 */
export function cancelFromTerminal(patienceMs = 4_500): Cancellation {
  return cancelOnSignals({
    signals: ["SIGINT", "SIGTERM", "SIGHUP"],
    exitCode: exitCode.canceled,
    patienceMs,
    secondExits: true,
  });
}
