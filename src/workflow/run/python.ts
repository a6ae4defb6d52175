/** Runs code fences with the tag `python`, each in a process of its own, where the shell of the run is. */
import type { Environment } from "../../platform/environment.ts";
import { makeNamedPipes, PipeReader } from "../../platform/named-pipes.ts";
import { runToEnd } from "../../platform/programs.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { findProgram } from "../../platform/search-path.ts";
import { endOfScript } from "./bash-shell.ts";
import type { Executor } from "./executor.ts";
import { shellQuoted } from "../value.ts";

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
