import type { ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";

export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

export function outputOf(child: ChildProcessByStdio<Writable | null, Readable, Readable>): {
  readonly output: Output;
  readonly closed: Promise<number | null>;
  /** Resolves when the output holds `text`, behind the first `after`; rejects if the process ends first. */
  readonly printed: (text: string, after?: string) => Promise<void>;
} {
  const output = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
      for (const look of waiting) look();
    });
  }
  const closed = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  const printed = (text: string, after = ""): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const all = output.stdout + output.stderr;
        const start = all.indexOf(after);
        if (start === -1 || !all.includes(text, start + after.length)) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
      void closed.then(() =>
        reject(new Error(`It ended before it printed ${text}:\n${output.stdout}${output.stderr}`)),
      );
    });
  return { output, closed, printed };
}
