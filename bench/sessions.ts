/**
 * The runner beside a bare script on the SDK: the same prompts, answers and permissions, in pairs of
 * processes one after the other. Prints the ratios (median, least and greatest), and what a turn costs on the
 * wire between the SDK and the runtime. Then the runner with a sandbox beside itself without one. Linux only.
 *
 *   npm run bench -- [--pairs 5] [--differences] [WORKLOAD... | sandbox]
 *
 * `--differences` compares the bare script with itself, one thing changed at a time, in place of the runner.
 */
import { parseArgs } from "node:util";
import {
  bare,
  bundleCommandLine,
  close,
  confined,
  runner,
  wire,
  type Measured,
} from "./sessions/sides.ts";
import {
  differences,
  median,
  workloads,
  type ConfinedSample,
  type Sample,
} from "./sessions/workload.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    pairs: { type: "string", default: "5" },
    differences: { type: "boolean", default: false },
  },
});
const pairs = Number(values.pairs);
const chosen = workloads.filter(
  ({ name }) => positionals.length === 0 || positionals.includes(name),
);
type Figures<Said> = Readonly<Record<string, (measured: Measured<Said>) => number>>;

const figures: Figures<Sample> = {
  "wall time, s": ({ wall }) => wall / 1000,
  "CPU time, s": ({ cpu }) => cpu / 1000,
  "… of the runtime, s": ({ cpu, sample }) => (cpu - (sample?.ownCpu ?? Number.NaN)) / 1000,
  "runtime memory, MB": ({ sample }) => (sample?.runtimeMemory ?? Number.NaN) / 1e6,
};

const confinedFigures: Figures<ConfinedSample> = {
  "first task, ms": ({ sample }) => sample?.first ?? Number.NaN,
  "further task, ms": ({ sample }) => sample?.task ?? Number.NaN,
  "command, ms": ({ sample }) => sample?.command ?? Number.NaN,
};

async function compare<Said>(
  title: string,
  figuresOf: Figures<Said>,
  first: () => Promise<Measured<Said>>,
  second: () => Promise<Measured<Said>>,
): Promise<void> {
  const samples: (readonly [Measured<Said>, Measured<Said>])[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    // Whoever comes first must not always be the same.
    if (pair % 2 === 0) samples.push([await first(), await second()]);
    else {
      const other = await second();
      samples.push([await first(), other]);
    }
  }
  for (const [name, figure] of Object.entries(figuresOf)) {
    const mine = samples.map(([one]) => figure(one));
    const theirs = samples.map(([, one]) => figure(one));
    const ratios = mine.map((value, index) => value / (theirs[index] ?? Number.NaN));
    if (mine.some(Number.isNaN)) continue;
    row([
      title,
      name,
      median(mine).toFixed(2),
      median(theirs).toFixed(2),
      `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`,
    ]);
  }
}

function row(cells: readonly string[]): void {
  console.log(`| ${cells.join(" | ")} |`);
}

function head(cells: readonly string[]): void {
  console.log("");
  row(cells);
  row(cells.map(() => "---"));
}

try {
  if (values.differences) {
    head(["workload", "", "changed", "bare script", "changed ÷ bare"]);
    for (const workload of chosen) {
      for (const difference of differences) {
        await compare(
          `${workload.name}, ${difference}`,
          figures,
          () => bare(workload, difference),
          () => bare(workload),
        );
      }
    }
  } else if (chosen.length > 0) {
    const [ours, theirs] = [await wire("runner.js"), await wire("bare.js")];
    head(["message of one task", "runner", "bare script"]);
    for (const name of [...new Set([...ours.keys(), ...theirs.keys()])].sort()) {
      row([name, String(ours.get(name) ?? 0), String(theirs.get(name) ?? 0)]);
    }
    if (chosen.some(({ name }) => name === "cold")) await bundleCommandLine();
    head(["workload", "", "runner", "bare script", "runner ÷ bare"]);
    for (const workload of chosen) {
      await compare(
        workload.name,
        figures,
        () => runner(workload),
        () => bare(workload),
      );
    }
  }
  if (!values.differences && (positionals.length === 0 || positionals.includes("sandbox"))) {
    head(["sandbox", "", "with", "without", "with ÷ without"]);
    for (const [title, mode] of [
      ["no network", "required"],
      ["a list of hosts", "hosts"],
    ] as const) {
      await compare(
        title,
        confinedFigures,
        () => confined(mode),
        () => confined("off"),
      );
    }
  }
} finally {
  await close();
}
