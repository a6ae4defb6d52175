import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { basename } from "node:path";
import { Readable, type Writable } from "node:stream";
import {
  onAbort,
  readYielding,
  startTimeLimit,
  type Occasion,
  withGracePeriod,
  within,
} from "./waiting.ts";
import { systemClock } from "./system-clock.ts";
import { endText, isHandle, signalGroup } from "./processes.ts";
import { resolveCommand } from "./search-path.ts";
import { errorCode, errorMessage } from "./system-error.ts";

export type ProgramEnd =
  | { readonly kind: "exited"; readonly code: number; readonly stderr: string }
  | { readonly kind: "killed"; readonly signal: NodeJS.Signals | undefined }
  | {
      readonly kind: "not-started";
      readonly reason: string;
      readonly code?: string | undefined;
    };

export type ProgramOutcome = ProgramEnd | { readonly kind: "aborted" };

export interface StartOptions {
  /** Absolute: the file of a program that was looked up before. Default: the command is looked up. */
  readonly path?: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Files or named pipes that exist. Default: stdout is dropped, and the end of stderr is kept. */
  readonly output?: { readonly stdout: string; readonly stderr: string };
  /** For standard input, which a program need not read: a text, bytes or an open file. Default: it is empty. */
  readonly input?: string | Uint8Array | number | undefined;
  /** Its standard input stays open after `input`, for `stdin` of the started program. */
  readonly conversation?: boolean;
  readonly sandbox?: { readonly enter: string } | undefined;
  /** Whether this process goes on for as long as the program runs. Default: true. */
  readonly keepsRunning?: boolean;
  /** Receives what the program prints, as it comes. Not with `output`. */
  readonly onOutput?: (piece: Buffer, stream: OutputStream) => void;
  readonly messages?: boolean;
  /** The program ends for us when its pipes are closed, so no output is lost, however busy this process is. Default: false. */
  readonly wholeOutput?: boolean;
}

export type OutputStream = "stdout" | "stderr" | "messages";

export interface ProgramOptions extends StartOptions {
  readonly signal: AbortSignal;
}

export interface StartedProgram {
  readonly pid: number | undefined;
  readonly ended: Promise<ProgramEnd>;
  readonly stdin?: Writable | undefined;
  signal(signal: NodeJS.Signals): void;
}

const keptCharacters = 16_384;
/** A killed process may take a moment to exit. This is the longest wait for it. */
const graceMilliseconds = 2000;
/** After so long without output, the output of an exited program is complete. */
const quietMilliseconds = 500;

/** Uses no shell. A bare name is looked up in the `PATH` of `env`, never in the folder in which the program starts. */
export function startProgram(
  command: string,
  args: readonly string[],
  options: StartOptions,
): StartedProgram {
  const { cwd, env, output, input, conversation = false, keepsRunning = true } = options;
  const { onOutput, messages = false, wholeOutput = false } = options;
  // Its own process group, so that its children can be ended with it.
  const grouped = process.platform !== "win32";
  const files: number[] = [];
  const hasInput = conversation || input !== undefined;
  const stdin0 = typeof input === "number" ? input : hasInput ? "pipe" : "ignore";
  const stdio: (number | "pipe" | "ignore")[] = [stdin0];
  let child: ChildProcess;
  const { path = resolveCommand(command, cwd, env) } = options;
  if (path === undefined) return notStarted(Promise.resolve(notFound(command)));
  try {
    for (const path of output === undefined ? [] : [output.stdout, output.stderr]) {
      files.push(openSync(path, constants.O_WRONLY | constants.O_APPEND));
    }
    stdio.push(files[0] ?? "pipe", files[1] ?? "pipe");
    if (messages) stdio.push("pipe");
    const { sandbox } = options;
    child = spawn(sandbox?.enter ?? path, sandbox === undefined ? args : [path, ...args], {
      cwd,
      env,
      // A program may look at its own name, as the system would pass it on.
      argv0: sandbox === undefined ? command : undefined,
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
  const third = child.stdio[3];
  if (onOutput === undefined) {
    stdout?.resume();
    errors?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-keptCharacters);
    });
  } else {
    const read = (stream: Readable | null, name: OutputStream): void => {
      if (stream === null) return;
      readYielding(stream, (piece) => {
        lastOutput = performance.now();
        onOutput(piece, name);
      });
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
  if (typeof input !== "number") {
    if (!conversation) stdin?.end(input);
    else if (input !== undefined) stdin?.write(input);
  }
  if (!keepsRunning)
    for (const part of [child, stdin, stdout, errors]) if (isHandle(part)) part.unref();
  const ended = new Promise<ProgramEnd>((resolve) => {
    const finish = (end: ProgramEnd): void => {
      for (const stream of [stdin, stdout, errors, third]) stream?.destroy();
      resolve(end);
    };
    child.once("error", (error) => finish(failedStart(error)));
    child.once("exit", (code, by) => {
      const closed = new Promise<void>((done) => child.once("close", () => done()));
      void (wholeOutput ? closed : drained(closed, () => lastOutput)).then(() => {
        if (code === null) finish({ kind: "killed", signal: by ?? undefined });
        else finish({ kind: "exited", code, stderr });
      });
    });
  });
  return {
    pid,
    ended,
    stdin: conversation && stdin !== null ? stdin : undefined,
    signal: (signal) => (grouped ? signalGroup(pid, signal) : void child.kill(signal)),
  };
}

/** The last output is read after the exit. A child that holds the pipes open is waited for briefly. */
async function drained(closed: Promise<unknown>, lastOutput: () => number): Promise<void> {
  const exited = performance.now();
  for (;;) {
    const now = performance.now();
    const quiet = now - Math.max(lastOutput(), exited);
    if (quiet >= quietMilliseconds || now - exited >= graceMilliseconds) return;
    if ((await within(closed, quietMilliseconds - quiet, systemClock)) !== undefined) return;
  }
}

function notFound(command: string): Error {
  return Object.assign(new Error(`spawn ${command} ENOENT`), { code: "ENOENT" });
}

function notStarted(cause: Promise<unknown>): StartedProgram {
  return { pid: undefined, ended: cause.then(failedStart), signal: () => {} };
}

function failedStart(error: unknown): ProgramEnd {
  return { kind: "not-started", reason: errorMessage(error), code: errorCode(error) };
}

/** Runs a program. An abort signal ends it, with all processes of its group. Never rejects. */
export async function runToEnd(
  command: string,
  args: readonly string[],
  { signal, ...options }: ProgramOptions,
): Promise<ProgramOutcome> {
  if (signal.aborted) return { kind: "aborted" };
  const program = startProgram(command, args, options);
  const killed: Occasion = (listener) =>
    onAbort(signal, () => {
      program.signal("SIGKILL");
      listener();
    });
  const end = await withGracePeriod(program.ended, killed, graceMilliseconds, systemClock);
  if (end === undefined) return { kind: "aborted" };
  return signal.aborted && end.value.kind !== "not-started" ? { kind: "aborted" } : end.value;
}

const longestRunMs = 30_000;
const longestOutput = 256 * 1024 * 1024;

/** Returns what a program prints. Rejects if it fails, runs for more than 30 seconds, or prints more than 256 MB. */
export async function outputOf(
  command: string,
  args: readonly string[],
  options: Omit<StartOptions, "output" | "onOutput">,
): Promise<Buffer> {
  const printed: Buffer[] = [];
  let size = 0;
  let errors = "";
  const tooMuch = new AbortController();
  const { signal, end } = startTimeLimit(systemClock, longestRunMs, tooMuch.signal);
  const ended = await runToEnd(command, args, {
    ...options,
    signal,
    wholeOutput: true,
    onOutput(piece, stream) {
      if (stream === "stderr") errors = (errors + piece.toString()).slice(-10_000);
      else printed.push(piece);
      size += piece.length;
      if (size > longestOutput) tooMuch.abort();
    },
  });
  end();
  if (ended.kind === "exited" && ended.code === 0) return Buffer.concat(printed);
  const how =
    ended.kind === "not-started"
      ? ended.reason
      : `it ended with ${ended.kind === "exited" ? endText(ended.code, null) : "SIGKILL"}`;
  throw new ProgramError(`${basename(command)}: ${errors.trim().slice(-500) || how}`, how);
}

/** The message quotes what the program has printed to stderr. */
export class ProgramError extends Error {
  /** The end of the program, in our words. */
  readonly end: string;

  constructor(message: string, end: string) {
    super(message);
    this.end = end;
  }
}
