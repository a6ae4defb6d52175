/** Resources of the runtime below this process. Linux only: it reads /proc. */
import { readFileSync } from "node:fs";
import type { Sample } from "./workload.ts";

const ticksPerSecond = 100;

/** Prints a `Sample` when the process ends. */
export async function measure(work: () => Promise<void>): Promise<void> {
  const peaks = new Map<string, number>();
  const timer = setInterval(() => watch(peaks), 20);
  await work().finally(() => clearInterval(timer));
  process.once("exit", () => {
    const { user, system } = process.cpuUsage();
    const sample: Sample = {
      ownCpu: (user + system) / 1000,
      runtimeMemory: [...peaks.values()].reduce((sum, peak) => sum + peak, 0),
    };
    console.log(JSON.stringify(sample));
  });
}

/** The largest peak of memory of a child of this process while `work` lasts; bytes. */
export async function peakMemory(work: () => Promise<unknown>): Promise<number> {
  const peaks = new Map<string, number>();
  const timer = setInterval(() => watch(peaks), 20);
  await work().finally(() => clearInterval(timer));
  return Math.max(...peaks.values());
}

/** CPU time of all children that have ended, and of theirs; milliseconds. */
export function cpuOfEndedChildren(): number {
  const fields = read("/proc/self/stat")
    .replace(/^.*\) /, "")
    .split(" ");
  const [user = "0", system = "0"] = fields.slice(13, 15);
  return ((Number(user) + Number(system)) * 1000) / ticksPerSecond;
}

function watch(peaks: Map<string, number>): void {
  for (const pid of read(`/proc/self/task/${process.pid}/children`).split(" ")) {
    const [, kilobytes] = /^VmHWM:\s+(\d+)/m.exec(read(`/proc/${pid}/status`)) ?? [];
    if (kilobytes !== undefined) peaks.set(pid, Number(kilobytes) * 1024);
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
