/** What commands have of the process: its streams, whether they show colors, exit codes, and cancellation by signals. */
import type { Readable } from "node:stream";
import type { ReadStream } from "node:tty";
import { cancelOnSignals, type Cancellation } from "../run/cancellation.ts";
import { redactedValue, createRedactor } from "../redaction/redactor.ts";
import { systemClock } from "../platform/system-clock.ts";
import { BoundedOutput, type OutputStream } from "../reports/terminal/bounded-output.ts";
import {
  breakOldMarker,
  withoutCommands,
  harmless,
  unsafeCharacters,
  unicodeEscape,
} from "../text/harmless-text.ts";
import type { TerminalStream } from "../reports/terminal/terminal-reporter.ts";
import { knownSecrets } from "../run/secrets.ts";

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

/* All that the command line prints: secrets are masked, no control sequence is left, no line is a command. */

export interface Looks {
  readonly colors: boolean;
  readonly live: boolean;
}

export type Output = ReturnType<typeof createOutput>;

export function createOutput(
  stdout: OutputStream,
  stderr: { write(text: string): unknown },
  environment: Readonly<Record<string, string | undefined>>,
) {
  const inActions = (environment["GITHUB_ACTIONS"] ?? "") !== "";
  const shown = (lines: string): string => (inActions ? withoutCommands(lines) : lines);
  const bounded = new BoundedOutput(stdout);
  let redactor: ReturnType<typeof createRedactor> | undefined;
  const masked = (text: string): string => {
    redactor ??= createRedactor(knownSecrets({ environment }));
    return redactor.text(text);
  };
  const lines = (text: string): string => shown(`${harmless(masked(text))}\n`);
  /** Reporters draw on it with whole lines, each with its LF. */
  const terminal: TerminalStream = {
    write: (lines) => bounded.write(shown(lines)),
    get isTTY() {
      return stdout.isTTY;
    },
    get columns() {
      return stdout.columns;
    },
    get rows() {
      return stdout.rows;
    },
  };
  return {
    terminal,
    looks: looksOf(stdout.isTTY === true, environment),
    print(text: string): void {
      bounded.write(lines(text));
    },
    /** A text for programs. Its control characters are kept, except on a terminal. */
    printData(text: string): void {
      bounded.write(stdout.isTTY === true ? lines(text) : shown(`${masked(text)}\n`));
    },
    /** Makes workflow commands and control characters harmless. */
    printJson(value: unknown): void {
      const text = JSON.stringify(redactedValue(value, masked), null, 2).replace(
        unsafeCharacters,
        (one) => (one === "\n" ? one : escaped(one)),
      );
      bounded.write(`${inActions ? breakOldMarker(text, "\\u005b") : text}\n`);
    },
    /** A file's content in parts, to the byte; nothing else should be printed. Waits for the reader. */
    async printFile(parts: Iterable<string>): Promise<void> {
      for (const part of parts) {
        if (stdout.destroyed) return;
        const piece = stdout.isTTY === true ? harmless(part) : part;
        await new Promise<void>((done) => stdout.write(piece, () => done()));
      }
    },
    /** Prints a command for the runner, escaped. */
    printCommand(command: string): void {
      bounded.write(`${breakOldMarker(harmless(masked(command)))}\n`);
    },
    printError(text: string): void {
      stderr.write(lines(text));
    },
    /** Waits until everything printed has been read. Resolves with the reason if something was lost. */
    end: (patienceMs: number): Promise<string | undefined> => bounded.end(patienceMs, systemClock),
  };
}

function escaped(character: string): string {
  return character.split("").map(unicodeEscape).join("");
}

/** `FORCE_COLOR` decides where it is set, as in Node; `TERM=dumb` can neither color nor move the cursor. */
function looksOf(tty: boolean, environment: Readonly<Record<string, string | undefined>>): Looks {
  const { FORCE_COLOR: forced, NO_COLOR: none = "", CI: ci = "", TERM: term } = environment;
  const dumb = term === "dumb";
  const wanted = tty && !dumb && none === "";
  return {
    colors: forced === undefined ? wanted : !["0", "false"].includes(forced),
    live: tty && !dumb && ["", "0", "false"].includes(ci),
  };
}

/** Columns for people, as wide as their widest cell. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const widths = head.map((title, column) =>
    rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), title.length),
  );
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
