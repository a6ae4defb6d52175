/**
 * The runner beside a bare script on the SDK: the same prompts, answers and permissions, in pairs of processes one after
 * the other. Prints medians, and the ratio with its least and greatest. Linux only.
 *
 *   npm run bench sessions [-- --pairs 5] [-- WORKLOAD...]
 */
import { parseArgs } from "node:util";
import { bare, bundleCommandLine, close, runner, type Measured } from "./sessions/sides.ts";
import { median, workloadOf, workloads } from "./sessions/workload.ts";

export type Pair = readonly [ours: Measured, theirs: Measured];

export async function pairsOf(name: string, count: number): Promise<readonly Pair[]> {
  const workload = workloadOf(name);
  const samples: Pair[] = [];
  for (let pair = 0; pair < count; pair += 1) {
    // The sides take turns in being the first.
    if (pair % 2 === 0) samples.push([await runner(workload), await bare(workload)]);
    else {
      const theirs = await bare(workload);
      samples.push([await runner(workload), theirs]);
    }
  }
  return samples;
}

const figures: Readonly<Record<string, (measured: Measured) => number>> = {
  "wall time, s": ({ wall }) => wall / 1000,
  "CPU time, s": ({ cpu }) => cpu / 1000,
  "… of the runtime, s": ({ cpu, sample }) => (cpu - (sample?.ownCpu ?? Number.NaN)) / 1000,
  "runtime memory, MB": ({ sample }) => (sample?.runtimeMemory ?? Number.NaN) / 1e6,
};

export async function main(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { pairs: { type: "string", default: "5" } },
  });
  const names = positionals.length > 0 ? positionals : workloads.map(({ name }) => name);
  try {
    await bundleCommandLine();
    for (const name of names) {
      const pairs = await pairsOf(name, Number(values.pairs));
      for (const [title, figure] of Object.entries(figures)) {
        const [ours, theirs] = [0, 1].map((side) =>
          median(pairs.map((pair) => figure(pair[side]!))),
        );
        const ratios = pairs.map(([one, other]) => figure(one) / figure(other));
        if (ratios.some(Number.isNaN)) continue;
        const [ratio, least, greatest] = [median(ratios), Math.min(...ratios), Math.max(...ratios)];
        console.log(
          `${name}, ${title}: ${ours?.toFixed(2)}, bare ${theirs?.toFixed(2)}: ${ratio.toFixed(2)} × (${least.toFixed(2)}–${greatest.toFixed(2)})`,
        );
      }
    }
  } finally {
    await close();
  }
}
