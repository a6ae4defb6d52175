/**
 * Runs the command line: `runCli` in this process, which saves the start of another one; `startCli` as a child
 * process, the way a person does, for tests of signals, pipes, and how the process ends.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { exitCode, ioOf } from "../../src/cli/process.ts";
import { runProgram } from "../../src/cli/program.ts";
import { tolerateAsTheProductDoes } from "./broken-pipes.ts";
import { commandLine } from "./dist.ts";
import { outputOf, type Output } from "./output.ts";
import { inThisProcess } from "./this-process.ts";

export interface CliOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** The program, instead of the command line's. */
  readonly main?: string;
}

/** With spaces between the arguments, or a list if one contains a space. */
type Args = string | readonly string[];

const listOf = (args: Args): readonly string[] =>
  typeof args === "string" ? args.split(" ") : args;

export interface CliResult extends Output {
  readonly code: number | null;
}

export interface CliChild {
  readonly pid: number;
  readonly output: Output;
  readonly ended: Promise<CliResult>;
  /** Resolves when the output holds `text`; rejects if the process ends first. */
  printed(text: string): Promise<void>;
  closeOutput(): void;
  /** Reads nothing of the standard output until `resumeOutput`. */
  pauseOutput(): void;
  resumeOutput(): void;
  /** When the process has ended, whether or not its output was read. */
  readonly exited: Promise<number | null>;
  /** To the process alone. */
  signal(signal: NodeJS.Signals): void;
  /** To the whole process group, as Ctrl-C in a terminal does. */
  signalGroup(signal: NodeJS.Signals): void;
  /** Ends the whole process group, if it has not ended. */
  kill(): void;
}

/** In process groups of their own, they outlive a suite that is stopped. Only SIGKILL leaves them behind. */
const running = new Set<CliChild>();
process.once("exit", () => running.forEach((child) => child.kill()));
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const)
  process.once(signal, () => process.exit(1));

/** Starts `agent-jobs ARGS` in a process group of its own, with nothing of our environment but PATH and HOME. */
export function startCli(args: Args, options: CliOptions): CliChild {
  const { cwd, env = {}, stdin, main = commandLine } = options;
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [main, ...listOf(args)], {
    cwd,
    env: { PATH, HOME, ...env },
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const { output, closed, printed } = outputOf(child);
  child.stdin.on("error", () => {}).end(stdin ?? "");
  const ended = closed.then((code): CliResult => ({ code, ...output }));
  const exited = new Promise<number | null>((resolve) => child.on("exit", resolve));
  const pid = child.pid ?? 0;
  const started: CliChild = {
    pid,
    output,
    ended,
    printed,
    exited,
    closeOutput: () => void child.stdout.destroy(),
    pauseOutput: () => void child.stdout.pause(),
    resumeOutput: () => void child.stdout.resume(),
    signal: (signal) => void process.kill(pid, signal),
    signalGroup: (signal) => void process.kill(-pid, signal),
    kill() {
      if (child.exitCode === null && child.signalCode === null) process.kill(-pid, "SIGKILL");
    },
  };
  if (pid !== 0) running.add(started);
  void exited.then(() => running.delete(started));
  return started;
}

/** `agent-jobs ARGS`, with nothing of our environment but PATH and HOME. Ends when the command has ended. */
export function runCli(
  args: Args,
  { cwd, env = {}, stdin = "" }: Omit<CliOptions, "main">,
): Promise<CliResult> {
  return inThisProcess(cwd, env, async () => {
    tolerateAsTheProductDoes();
    const output = { stdout: "", stderr: "" };
    const into = (name: keyof Output): Writable =>
      new Writable({
        decodeStrings: false,
        write(text: string, _encoding, done) {
          output[name] += text;
          done();
        },
      });
    const io = ioOf({
      stdin: Readable.from([stdin]),
      stdout: into("stdout"),
      stderr: into("stderr"),
    });
    const code = await runProgram(listOf(args), io);
    const lost = await io.output.end(60_000);
    return { code: lost === undefined ? code : exitCode.failed, ...output };
  });
}

/** `runCli` that must exit with `code`. */
export async function cliExits(
  code: number,
  ...args: Parameters<typeof runCli>
): Promise<CliResult> {
  const result = await runCli(...args);
  assert.equal(result.code, code, result.stdout + result.stderr);
  return result;
}
