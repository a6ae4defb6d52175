/** What both sides of the comparison do: the same prompts, answers, tools and permissions. */

export interface Workload {
  readonly name: string;
  readonly tasks: number;
  /** All at once, or one after the other. */
  readonly order: "parallel" | "sequence";
}

export const workloads: readonly Workload[] = [
  { name: "cold", tasks: 1, order: "sequence" },
  { name: "parallel-50", tasks: 50, order: "parallel" },
  { name: "parallel-200", tasks: 200, order: "parallel" },
  { name: "sequence-50", tasks: 50, order: "sequence" },
];

/** In what the bare script may differ from itself, one thing at a time. */
export const differences = [
  "a hook",
  "no streaming",
  "no deletion",
  "infinite sessions",
  "the default mode",
] as const;
export type Difference = (typeof differences)[number];

export const modelId = "bench";
export const prompt = "Read README.md and say what it is about.";

/** What one process measured of itself. */
export interface Sample {
  /** Of this process since it began, and of the runtime; milliseconds. */
  readonly ownCpu: number;
  readonly runtimeCpu: number;
  /** Peak resident memory of the runtime, in bytes. */
  readonly runtimeMemory: number;
}

export function workloadOf(name: string | undefined): Workload {
  const found = workloads.find((workload) => workload.name === name);
  if (found === undefined) throw new Error(`There is no workload ${name}.`);
  return found;
}
