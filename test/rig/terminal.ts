/** Runs a program on a terminal of its own: the pseudo terminal of `script` (util-linux). */
import { spawn, spawnSync } from "node:child_process";
import { outputOf, type Output } from "./output.ts";

/** Why there is no such terminal here; undefined: there is one. */
export const noTerminal: string | undefined =
  process.platform === "linux" &&
  /util-linux/.test(String(spawnSync("script", ["--version"]).stdout))
    ? undefined
    : "needs script of util-linux";

export interface TerminalChild {
  readonly output: Output;
  printed(text: string, after?: string): Promise<void>;
  type(text: string): void;
  /** With the exit code of the program. */
  readonly ended: Promise<Output & { readonly code: number | null }>;
}

export function startOnTerminal(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): TerminalChild {
  const { PATH = "", HOME = "" } = process.env;
  const command = [process.execPath, program, ...args].map(quoted).join(" ");
  const child = spawn("script", ["-q", "-e", "-f", "-c", `exec ${command}`, "/dev/null"], {
    cwd: options.cwd,
    env: { PATH, HOME, SHELL: "/bin/sh", TERM: "xterm", ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => {});
  const { output, closed, printed } = outputOf(child);
  return {
    output,
    printed,
    type: (text) => void child.stdin.write(text),
    ended: closed.then((code) => ({ code, ...output })),
  };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
