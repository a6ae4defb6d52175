import type { Environment } from "../../platform/environment.ts";
import { PipeReader, makeNamedPipes } from "../../platform/named-pipes.ts";
import { exitCodeOf } from "../../platform/processes.ts";
import { type ProgramEnd, runToEnd } from "../../platform/programs.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { findProgram } from "../../platform/search-path.ts";
import { shellQuoted } from "../value.ts";

/** Executors run the scripts of EXECUTE, by the tag of their code fence. `docs/workflows.md` has the rules. */

/** Runs the code fences with certain tags. */
export interface Executor {
  /** The tags of the code fences that it runs. Upper and lower case are the same. */
  readonly tags: readonly string[];
  /** The shell command that `permissions.shell` decides about. Absent: the host vouches for everything that it runs. */
  readonly command?: (code: string) => string;
  /** Runs a script to its end, or until `signal` aborts. A rejection fails the activity. */
  readonly run: (code: string, context: ScriptContext) => Promise<ScriptEnd>;
}

/** Where a script runs. */
export interface ScriptContext {
  /** Aborts for a cancellation and for an exceeded limit. What was started must end then. */
  readonly signal: AbortSignal;
  /** Where the shell of the run is. Absolute. */
  readonly workingDirectory: string;
  /** The variables that the shell of the run exports. */
  readonly environment: Readonly<Record<string, string>>;
  /** Passes on output, as it comes. */
  readonly write: (output: {
    readonly stream: "stdout" | "stderr";
    readonly bytes: Uint8Array;
  }) => void;
}

/** How a script has ended. */
export type ScriptEnd =
  | { readonly kind: "exited"; readonly exitCode: number }
  /** It was ended by a signal that it did not expect. */
  | { readonly kind: "killed"; readonly signal: string; readonly exitCode: number }
  /** It did not run, or nobody knows how it ended. */
  | { readonly kind: "failed"; readonly reason: string };

export interface PythonOptions {
  readonly folder: string;
  readonly environment: Environment;
  readonly sandbox?: (() => Promise<Sandbox | undefined>) | undefined;
}

/** The system takes no longer argument. */
const longestScript = 100_000;

export const pythonTags: readonly string[] = ["python", "python3", "py"];

export function pythonExecutor({ folder, environment, sandbox }: PythonOptions): Executor {
  let scripts = 0;
  return {
    tags: pythonTags,
    command: (code) => `python3 -c ${shellQuoted(code)}`,
    async run(code, { signal, workingDirectory, environment: env, write }) {
      const python = findProgram("python3", environment);
      if (python === undefined) {
        return { kind: "failed", reason: "There is no python3 in PATH outside the checkout." };
      }
      if (code.includes("\0")) return { kind: "failed", reason: "The script has a NUL character." };
      if (Buffer.byteLength(code) > longestScript) {
        return { kind: "failed", reason: `The script is longer than ${longestScript} bytes.` };
      }
      scripts += 1;
      const pipe = `${folder}/python-${scripts}.output`;
      await makeNamedPipes([pipe], environment);
      const reader = new PipeReader(pipe, (bytes) => write({ stream: "stdout", bytes }));
      try {
        const entered = await sandbox?.();
        const output = { stdout: pipe, stderr: pipe };
        const options = { cwd: workingDirectory, env, signal, output, sandbox: entered };
        // Unbuffered: what it has printed is there, and in order, also when it is ended.
        const end = await runToEnd(python, ["-u", "-c", code], options);
        return end.kind === "aborted"
          ? { kind: "failed", reason: "The script was ended." }
          : endOfScript(end);
      } finally {
        await reader.finish();
        reader.close();
      }
    },
  };
}

/** Maps the end of a program to what a shell reports. */
export function endOfScript(end: ProgramEnd): ScriptEnd {
  switch (end.kind) {
    case "exited":
      return { kind: "exited", exitCode: end.code };
    case "killed": {
      const signal = end.signal ?? "SIGKILL";
      return { kind: "killed", signal, exitCode: exitCodeOf(signal) };
    }
    case "not-started":
      return { kind: "failed", reason: `It can't be started: ${end.reason}.` };
  }
}
