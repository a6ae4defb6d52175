/**
 * The runner beside a bare script on the SDK: the same prompts, answers, tools and permissions, in pairs of
 * processes one after the other. Prints the ratios (median, least and greatest), and what a turn costs on the
 * wire between the SDK and the runtime. Linux only.
 *
 *   npm run bench -- [--pairs 5] [--differences] [WORKLOAD...]
 *
 * `--differences` compares the bare script with itself, one thing changed at a time, in place of the runner.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { findRuntime } from "../src/runtime/find-runtime.ts";
import { startModelServer } from "../test/rig/model-server.ts";
import { differences, workloads, type Sample, type Workload } from "./sessions/workload.ts";

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
const sides = import.meta.dirname + "/sessions";
const answer = "It is about a small project that exists for the sake of being measured. ".repeat(2);
const server = await startModelServer(
  ({ toolResults }) =>
    toolResults.length === 0
      ? { toolCalls: [{ name: "view", arguments: { path: join(folder, "README.md") } }] }
      : { text: answer },
  { keep: false },
);
const temporary = await mkdtemp(join(tmpdir(), "agent-jobs-bench-"));
const folder = join(temporary, "workspace");
await mkdir(join(folder, ".git"), { recursive: true });
await writeFile(join(folder, "README.md"), "# A project\n\nIt exists to be measured.\n");
await writeFile(join(folder, ".env"), "KEY=secret\n");

interface Measured extends Sample {
  /** From the start of the process to its end; milliseconds. */
  readonly wall: number;
}

async function run(
  script: string,
  workload: Workload,
  more: readonly string[] = [],
  runtime?: string,
): Promise<Measured> {
  const { PATH, HOME } = process.env;
  const start = performance.now();
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(sides, script), workload.name, server.baseUrl, folder, ...more],
    {
      env: { PATH, HOME, ...(runtime === undefined ? {} : { COPILOT_CLI_PATH: runtime }) },
      timeout: 180_000,
    },
  );
  const wall = performance.now() - start;
  const sample: Sample = JSON.parse(stdout);
  return { ...sample, wall };
}

const figures: Readonly<Record<string, (measured: Measured) => number>> = {
  "wall time, s": ({ wall }) => wall / 1000,
  "CPU time, s": ({ ownCpu, runtimeCpu }) => (ownCpu + runtimeCpu) / 1000,
  "… of the runtime, s": ({ runtimeCpu }) => runtimeCpu / 1000,
  "runtime memory, MB": ({ runtimeMemory }) => runtimeMemory / 1e6,
};

async function compare(
  title: string,
  workload: Workload,
  first: () => Promise<Measured>,
  second: () => Promise<Measured>,
): Promise<void> {
  const samples: (readonly [Measured, Measured])[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    // Whoever comes first must not always be the same.
    if (pair % 2 === 0) samples.push([await first(), await second()]);
    else {
      const other = await second();
      samples.push([await first(), other]);
    }
  }
  for (const [name, figure] of Object.entries(figures)) {
    const mine = samples.map(([one]) => figure(one));
    const theirs = samples.map(([, one]) => figure(one));
    const ratios = mine.map((value, index) => value / (theirs[index] ?? Number.NaN));
    row([
      `${workload.name}${title}`,
      name,
      median(mine).toFixed(2),
      median(theirs).toFixed(2),
      `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`,
    ]);
  }
}

function median(list: readonly number[]): number {
  const sorted = [...list].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.floor(half)] ?? 0) + (sorted[Math.ceil(half) - 1] ?? 0)) / 2;
}

function row(cells: readonly string[]): void {
  console.log(`| ${cells.join(" | ")} |`);
}

function head(cells: readonly string[]): void {
  console.log("");
  row(cells);
  row(cells.map(() => "---"));
}

/** Messages of one task between the SDK and the runtime, by method. */
async function wire(script: string): Promise<Map<string, number>> {
  const path = join(temporary, `${script}.sh`);
  const result = join(temporary, `${script}.json`);
  const command = [
    process.execPath,
    join(sides, "wire.js"),
    findRuntime({ environment: {} }),
    result,
  ];
  await writeFile(path, `#!/bin/sh\nexec ${command.map((part) => `'${part}'`).join(" ")} "$@"\n`, {
    mode: 0o755,
  });
  await run(script, { name: "cold", tasks: 1, order: "sequence" }, [], path);
  const counts: [string, number][] = JSON.parse(await readFile(result, "utf8"));
  return new Map(counts);
}

try {
  if (values.differences) {
    head(["workload", "", "changed", "bare script", "changed ÷ bare"]);
    for (const workload of chosen) {
      for (const difference of differences) {
        const changed = (): Promise<Measured> => run("bare.js", workload, [difference]);
        await compare(`, ${difference}`, workload, changed, () => run("bare.js", workload));
      }
    }
  } else {
    const [ours, theirs] = [await wire("runner.js"), await wire("bare.js")];
    head(["message of one task", "runner", "bare script"]);
    for (const name of [...new Set([...ours.keys(), ...theirs.keys()])].sort()) {
      row([name, String(ours.get(name) ?? 0), String(theirs.get(name) ?? 0)]);
    }
    head(["workload", "", "runner", "bare script", "runner ÷ bare"]);
    for (const workload of chosen) {
      const runner = (): Promise<Measured> => run("runner.js", workload);
      await compare("", workload, runner, () => run("bare.js", workload));
    }
  }
} finally {
  await server.close();
  await rm(temporary, { recursive: true, force: true });
}
