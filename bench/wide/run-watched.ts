/** A command, whatever its exit code, and the memory of all processes below it. Linux only: it reads /proc. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { findRuntime } from "../../src/runtime/find-runtime.ts";

export interface Watched {
  /** As `performance.now()` has it. */
  readonly start: number;
  readonly "memory, MB": number;
  readonly "wall time, s": number;
  readonly runtimes: number;
}

export async function runWatched(args: readonly string[], cwd: string): Promise<Watched> {
  const { PATH, HOME } = process.env;
  const runtime = findRuntime({ environment: {} });
  const start = performance.now();
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH, HOME, COPILOT_CLI_PATH: runtime },
    stdio: ["ignore", "ignore", "inherit"],
  });
  let [memory, runtimes] = [0, 0];
  const timer = setInterval(() => {
    const below = child.pid === undefined ? [] : processesFrom(child.pid);
    memory = Math.max(
      memory,
      below.map(memoryOf).reduce((sum, one) => sum + one, 0),
    );
    runtimes = Math.max(runtimes, below.length - 1);
  }, 50);
  await once(child, "close");
  clearInterval(timer);
  const wall = (performance.now() - start) / 1000;
  return { start, "memory, MB": memory / 1e6, "wall time, s": wall, runtimes };
}

function processesFrom(pid: number): readonly number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean);
  return [pid, ...children.flatMap((child) => processesFrom(Number(child)))];
}

/** Resident memory; bytes. What processes share is counted for each. */
function memoryOf(pid: number): number {
  const [, kilobytes = "0"] = /^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`)) ?? [];
  return Number(kilobytes) * 1024;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
