/** Both sides of the comparison use these prompts, answers and permissions. */

export interface Workload {
  readonly name: string;
  readonly tasks: number;
  /** All at once, or one after the other. */
  readonly order: "parallel" | "sequence";
}

/** `cold` is one task through the command line, as it is shipped; the others go through the library. */
export const workloads: readonly Workload[] = [
  { name: "cold", tasks: 1, order: "sequence" },
  { name: "parallel-50", tasks: 50, order: "parallel" },
  { name: "parallel-200", tasks: 200, order: "parallel" },
  { name: "sequence-50", tasks: 50, order: "sequence" },
];

export const modelId = "bench";
export const prompt = "Read README.md and say what it is about.";

export interface Sample {
  /** CPU time without the runtime's; milliseconds. */
  readonly ownCpu: number;
  /** Peak resident memory of the runtime; bytes. */
  readonly runtimeMemory: number;
}

export function workloadOf(name: string | undefined): Workload {
  const found = workloads.find((workload) => workload.name === name);
  if (found === undefined) throw new Error(`There is no workload ${name}.`);
  return found;
}

export function median(list: readonly number[]): number {
  const sorted = list.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.floor(half)] ?? 0) + (sorted[Math.ceil(half) - 1] ?? 0)) / 2;
}
