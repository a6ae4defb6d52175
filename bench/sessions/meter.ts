/** Measures this process and its child, the runtime. Linux only: it reads /proc. */
import { readFileSync } from "node:fs";
import type { Sample } from "./workload.ts";

const ticksPerSecond = 100;

/** Prints a `Sample` when the process ends: then the runtime has ended too, and its CPU time is known. */
export async function measure(work: () => Promise<void>): Promise<void> {
  const peaks = new Map<string, number>();
  const timer = setInterval(() => watch(peaks), 20);
  await work().finally(() => clearInterval(timer));
  process.once("exit", () => {
    const { user, system } = process.cpuUsage();
    const sample: Sample = {
      ownCpu: (user + system) / 1000,
      runtimeCpu: cpuOfEndedChildren(),
      runtimeMemory: [...peaks.values()].reduce((sum, peak) => sum + peak, 0),
    };
    console.log(JSON.stringify(sample));
  });
}

function watch(peaks: Map<string, number>): void {
  for (const pid of read(`/proc/self/task/${process.pid}/children`).split(" ")) {
    const [, kilobytes] = /^VmHWM:\s+(\d+)/m.exec(read(`/proc/${pid}/status`)) ?? [];
    if (kilobytes !== undefined) peaks.set(pid, Number(kilobytes) * 1024);
  }
}

function cpuOfEndedChildren(): number {
  const fields = read("/proc/self/stat")
    .replace(/^.*\) /, "")
    .split(" ");
  const [user = "0", system = "0"] = fields.slice(13, 15);
  return ((Number(user) + Number(system)) * 1000) / ticksPerSecond;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
