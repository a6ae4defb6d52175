/** Runs a program with a time limit. An abort signal ends it, with all processes that it started. */
import { spawn } from "node:child_process";
import { errorMessage } from "./system-error.ts";

export type ProgramOutcome =
  | { readonly kind: "exited"; readonly code: number; readonly stderr: string }
  | { readonly kind: "killed"; readonly signal: NodeJS.Signals | undefined }
  | { readonly kind: "not-started"; readonly reason: string }
  /** `signal` aborted; the program and its children are gone. */
  | { readonly kind: "aborted" };

export interface ProgramOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** As much of the standard error as is kept, from its end. */
const keptCharacters = 16_384;
/** A killed process may take a moment to exit. This is the longest wait for it. */
const graceMilliseconds = 2000;

/** Without a shell, without standard input; the standard output is read and dropped. Never rejects. */
export function runToEnd(
  command: string,
  args: readonly string[],
  { cwd, env, signal }: ProgramOptions,
): Promise<ProgramOutcome> {
  if (signal.aborted) return Promise.resolve({ kind: "aborted" });
  // Its own process group, so that its children can be ended with it.
  const grouped = process.platform !== "win32";
  const child = spawn(command, args, {
    cwd,
    env,
    detached: grouped,
    windowsHide: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  // Where no file or process is left, it has no pipes either, and a signal to it would reach others.
  if (child.pid === undefined) {
    return new Promise((resolve) => {
      child.once("error", (error) => resolve({ kind: "not-started", reason: errorMessage(error) }));
    });
  }
  let stderr = "";
  child.stdout.resume();
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-keptCharacters);
  });
  return new Promise((resolve) => {
    let grace: NodeJS.Timeout | undefined;
    const finish = (outcome: ProgramOutcome): void => {
      clearTimeout(grace);
      signal.removeEventListener("abort", abort);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(signal.aborted ? { kind: "aborted" } : outcome);
    };
    const abort = (): void => {
      try {
        if (grouped && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
        else child.kill("SIGKILL");
      } catch {
        // Gone already.
      }
      grace = setTimeout(() => finish({ kind: "aborted" }), graceMilliseconds);
    };
    signal.addEventListener("abort", abort, { once: true });
    child.once("error", (error) => finish({ kind: "not-started", reason: errorMessage(error) }));
    child.once("exit", (code, by) => {
      const outcome: ProgramOutcome =
        code === null
          ? { kind: "killed", signal: by ?? undefined }
          : { kind: "exited", code, stderr: "" };
      // The last of its output is read after `exit`; a child that holds the pipe open is not waited for.
      const ended = (): void =>
        finish(outcome.kind === "exited" ? { ...outcome, stderr } : outcome);
      child.once("close", ended);
      grace ??= setTimeout(ended, 500);
    });
  });
}
