/** What the soak measures: memory of this process and of the runtimes, and what was left behind. */
import { readdirSync, readFileSync } from "node:fs";

const MB = 1024 * 1024;

export interface Sample {
  readonly done: number;
  readonly seconds: number;
  /** All memory in MB. */
  readonly heap: number;
  readonly rss: number;
  readonly runtimes: number;
  readonly runtimeCount: number;
  /** Open file descriptors of this process. */
  readonly descriptors: number;
}

export function sample(done: number, start: number, pids: readonly number[]): Sample {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return {
    done,
    seconds: (performance.now() - start) / 1000,
    heap: heapUsed / MB,
    rss: rss / MB,
    runtimes: pids.reduce((sum, pid) => sum + residentOf(pid), 0),
    runtimeCount: pids.length,
    descriptors: readdirSync("/proc/self/fd").length,
  };
}

/** 0 for a process that has just ended. */
function residentOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

export const heading =
  "| jobs done | seconds | node heap MB | node RSS MB | runtimes | runtimes RSS MB | open files |\n" +
  "| --------: | ------: | -----------: | ----------: | -------: | --------------: | ---------: |";

export function row(one: Sample): string {
  const cells = [
    String(one.done).padStart(9),
    one.seconds.toFixed(0).padStart(7),
    one.heap.toFixed(1).padStart(12),
    one.rss.toFixed(0).padStart(11),
    String(one.runtimeCount).padStart(8),
    one.runtimes.toFixed(0).padStart(15),
    String(one.descriptors).padStart(10),
  ];
  return `| ${cells.join(" | ")} |`;
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** The processes that carry one of the marks in their environment: `NAME=value`. */
export function processesWith(marks: ReadonlySet<string>): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        const environment = readFileSync(`/proc/${name}/environ`, "latin1");
        return environment.split("\0").some((entry) => marks.has(entry));
      } catch {
        // Gone, or not ours.
        return false;
      }
    })
    .map(Number);
}
