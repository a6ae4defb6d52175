/** Starts programs in process groups of their own, with or without a time limit. */
import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { Readable } from "node:stream";
import { readCalmly, type CalmReading } from "./breath.ts";
import { signalGroup } from "./processes.ts";
import { errorCode, errorMessage } from "./system-error.ts";

export type ProgramEnd =
  | { readonly kind: "exited"; readonly code: number; readonly stderr: string }
  | { readonly kind: "killed"; readonly signal: NodeJS.Signals | undefined }
  | {
      readonly kind: "not-started";
      readonly reason: string;
      /** Of the system error, such as `ENOENT`. */
      readonly code?: string;
    };

export type ProgramOutcome =
  | ProgramEnd
  /** `signal` aborted; the program and its children are gone. */
  | { readonly kind: "aborted" };

export interface StartOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Files or named pipes that exist. Default: stdout is dropped, and the end of stderr is kept. */
  readonly output?: { readonly stdout: string; readonly stderr: string };
  /** For standard input. A program that doesn't read it is no error. Default: it has no standard input. */
  readonly input?: string;
  /** Receives what the program prints, as it comes. Not with `output`. */
  readonly onOutput?: (piece: Buffer, stream: OutputStream) => void;
  /** Whether the program has a third stream for output, which is file descriptor 3. Requires `onOutput`. */
  readonly messages?: boolean;
}

export type OutputStream = "stdout" | "stderr" | "messages";

export interface ProgramOptions extends StartOptions {
  readonly signal: AbortSignal;
}

export interface StartedProgram {
  /** Of the process and its group. Undefined if it was not started. */
  readonly pid: number | undefined;
  /** Never rejects. */
  readonly ended: Promise<ProgramEnd>;
  /** To the program and its process group. */
  signal(signal: NodeJS.Signals): void;
}

/** As much of the standard error as is kept, from its end. */
const keptCharacters = 16_384;
/** A killed process may take a moment to exit. This is the longest wait for it. */
const graceMilliseconds = 2000;
/** Of an exited program: after so long without output, there is no more. */
const quietMilliseconds = 500;

/** Without a shell. */
export function startProgram(
  command: string,
  args: readonly string[],
  { cwd, env, output, input, onOutput, messages = false }: StartOptions,
): StartedProgram {
  // Its own process group, so that its children can be ended with it.
  const grouped = process.platform !== "win32";
  const files: number[] = [];
  const stdio: (number | "pipe" | "ignore")[] = [input === undefined ? "ignore" : "pipe"];
  let child: ChildProcess;
  try {
    for (const path of output === undefined ? [] : [output.stdout, output.stderr]) {
      files.push(openSync(path, constants.O_WRONLY | constants.O_APPEND));
    }
    stdio.push(files[0] ?? "pipe", files[1] ?? "pipe");
    if (messages) stdio.push("pipe");
    child = spawn(command, args, {
      cwd,
      env,
      detached: grouped,
      windowsHide: true,
      stdio,
    });
  } catch (error) {
    return notStarted(Promise.resolve(error));
  } finally {
    for (const file of files) closeSync(file);
  }
  const { pid, stdout, stderr: errors, stdin } = child;
  // Where no file or process is left, it has no pipes either, and a signal to it would reach others.
  if (pid === undefined) {
    return notStarted(new Promise((resolve) => child.once("error", resolve)));
  }
  let stderr = "";
  let lastOutput = -Infinity;
  const readings: CalmReading[] = [];
  const third = child.stdio[3];
  if (onOutput === undefined) {
    stdout?.resume();
    errors?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-keptCharacters);
    });
  } else {
    const read = (stream: Readable | null, name: OutputStream): void => {
      if (stream === null) return;
      const reading = readCalmly(stream, (piece) => {
        lastOutput = performance.now();
        onOutput(piece, name);
      });
      readings.push(reading);
    };
    read(stdout, "stdout");
    read(errors, "stderr");
    if (third instanceof Readable) {
      read(third, "messages");
      third.on("error", () => {});
    }
  }
  // EPIPE of a program that has closed it, or that has ended.
  stdin?.on("error", () => {});
  stdin?.end(input);
  const ended = new Promise<ProgramEnd>((resolve) => {
    const finish = (end: ProgramEnd): void => {
      for (const reading of readings) reading.stop();
      for (const stream of [stdin, stdout, errors, third]) stream?.destroy();
      resolve(end);
    };
    child.once("error", (error) => finish(failedStart(error)));
    child.once("exit", (code, by) => {
      // The last of its output is read after `exit`. A child that holds the pipe open is not waited for, unless it
      // prints, and then not for long.
      const exited = performance.now();
      const check = (): void => {
        const now = performance.now();
        const quiet = now - Math.max(lastOutput, exited);
        if (quiet >= quietMilliseconds || now - exited >= graceMilliseconds) done();
        else wait = setTimeout(check, quietMilliseconds - quiet);
      };
      const done = (): void => {
        clearTimeout(wait);
        finish(
          code === null
            ? { kind: "killed", signal: by ?? undefined }
            : { kind: "exited", code, stderr },
        );
      };
      let wait = setTimeout(check, quietMilliseconds);
      child.once("close", () => {
        clearTimeout(wait);
        void Promise.all(readings.map(async (one) => one.drained())).then(() => done());
      });
    });
  });
  return {
    pid,
    ended,
    signal: (signal) => (grouped ? signalGroup(pid, signal) : void child.kill(signal)),
  };
}

function notStarted(cause: Promise<unknown>): StartedProgram {
  return { pid: undefined, ended: cause.then(failedStart), signal: () => {} };
}

function failedStart(error: unknown): ProgramEnd {
  const code = errorCode(error);
  return {
    kind: "not-started",
    reason: errorMessage(error),
    ...(code === undefined ? {} : { code }),
  };
}

/** Runs a program. An abort signal ends it, with all processes of its group. Never rejects. */
export function runToEnd(
  command: string,
  args: readonly string[],
  { signal, ...options }: ProgramOptions,
): Promise<ProgramOutcome> {
  if (signal.aborted) return Promise.resolve({ kind: "aborted" });
  const program = startProgram(command, args, options);
  return new Promise((resolve) => {
    let grace: NodeJS.Timeout | undefined;
    const finish = (outcome: ProgramOutcome): void => {
      clearTimeout(grace);
      signal.removeEventListener("abort", abort);
      const failed = outcome.kind === "not-started";
      resolve(signal.aborted && !failed ? { kind: "aborted" } : outcome);
    };
    const abort = (): void => {
      program.signal("SIGKILL");
      grace = setTimeout(() => finish({ kind: "aborted" }), graceMilliseconds);
    };
    signal.addEventListener("abort", abort, { once: true });
    void program.ended.then(finish);
  });
}
