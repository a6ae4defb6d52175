/**
 * The runner beside a bare script on the SDK: the same prompts, answers and permissions, in pairs of
 * processes one after the other. Prints the ratios (median, least and greatest), and what a turn costs on the
 * wire between the SDK and the runtime. Then the runner with a sandbox beside itself without one. Linux only.
 *
 *   npm run bench -- [--pairs 5] [--differences] [WORKLOAD... | sandbox]
 *
 * `--differences` compares the bare script with itself, one thing changed at a time, in place of the runner.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { findRuntime } from "../src/runtime/find-runtime.ts";
import { startModelServer, type Reply } from "../test/rig/model-server.ts";
import { cpuOfEndedChildren } from "./sessions/meter.ts";
import {
  differences,
  median,
  modelId,
  prompt,
  workloads,
  type ConfinedSample,
  type Difference,
  type Sample,
  type Workload,
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
const sides = join(import.meta.dirname, "sessions");
const answer = "It is about a small project that exists for the sake of being measured. ".repeat(2);
const server = await startModelServer(
  ({ prompt: asked, toolResults }) =>
    asked.startsWith("Run ")
      ? runCommands(Number.parseInt(asked.slice(4)), toolResults)
      : toolResults.length === 0
        ? { toolCalls: [{ name: "view", arguments: { path: join(folder, "README.md") } }] }
        : { text: answer },
  { keep: false },
);

function runCommands(count: number, results: readonly string[]): Reply {
  // A command that did not run costs nothing.
  if (results.some((result) => !result.startsWith("ran"))) return { status: 400 };
  if (results.length === count) return { text: answer };
  const call = { name: "bash", arguments: { command: "echo ran", description: "A command" } };
  return { toolCalls: [call] };
}

const temporary = await mkdtemp(join(tmpdir(), "agent-jobs-bench-"));
const folder = join(temporary, "workspace");
const commandLine = join(temporary, "dist", "cli", "index.js");
await mkdir(join(folder, ".git"), { recursive: true });
await writeFile(join(folder, "README.md"), "# A project\n\nIt exists to be measured.\n");
await writeFile(join(folder, ".env"), "KEY=secret\n");

interface Measured<Said = Sample> {
  /** From the start of the process to its end; milliseconds, as the CPU times. */
  readonly wall: number;
  /** Of the process and of the runtime below it. */
  readonly cpu: number;
  /** Absent for the command line, which measures nothing. */
  readonly sample?: Said;
}

async function run<Said = Sample>(
  args: readonly string[],
  runtime: string = findRuntime({ environment: {} }),
): Promise<Measured<Said>> {
  const { PATH, HOME } = process.env;
  const options = {
    cwd: temporary,
    env: { PATH, HOME, COPILOT_CLI_PATH: runtime },
    timeout: 180_000,
  };
  const start = performance.now();
  const before = cpuOfEndedChildren();
  const { stdout } = await promisify(execFile)(process.execPath, args, options);
  const measured = { wall: performance.now() - start, cpu: cpuOfEndedChildren() - before };
  const last = stdout.trimEnd().split("\n").at(-1) ?? "";
  if (!last.startsWith("{")) return measured;
  const sample: Said = JSON.parse(last);
  return { ...measured, sample };
}

const bare = (workload: Workload, ...changed: Difference[]): Promise<Measured> =>
  run([join(sides, "bare.js"), workload.name, server.baseUrl, folder, ...changed]);

function runner(workload: Workload): Promise<Measured> {
  return workload.name === "cold"
    ? run([commandLine, "run", "entry.json", "--quiet", "--provider-base-url", server.baseUrl])
    : run([join(sides, "runner.js"), workload.name, server.baseUrl, folder]);
}

function confined(mode: "off" | "required" | "hosts"): Promise<Measured<ConfinedSample>> {
  return run([join(sides, "confined.js"), mode, server.baseUrl, folder]);
}

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

/** Messages of one task between the SDK and the runtime, by method. */
async function wire(script: string): Promise<Map<string, number>> {
  const path = join(temporary, `${script}.sh`);
  const result = join(temporary, `${script}.txt`);
  const runtime = findRuntime({ environment: {} });
  const command = [process.execPath, join(sides, "wire.js"), runtime, result];
  const line = command.map((part) => `'${part}'`).join(" ");
  await writeFile(path, `#!/bin/sh\nexec ${line} "$@"\n`, { mode: 0o755 });
  await run([join(sides, script), "cold", server.baseUrl, folder], path);
  const counts = new Map<string, number>();
  for (const name of (await readFile(result, "utf8")).trimEnd().split("\n"))
    counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** What a user starts: not the many files of the build. */
async function bundleCommandLine(): Promise<void> {
  const root = join(import.meta.dirname, "..", "..");
  await promisify(execFile)(
    process.execPath,
    [join(root, "scripts", "bundle.mjs"), "--out", temporary, "cli"],
    { cwd: root, timeout: 180_000 },
  );
  const entry = {
    models: { driving: modelId },
    permissions: { sandbox: "off" },
    tasks: { task: { prompt, model: { category: "driving" } } },
    jobs: { job: { work: { kind: "Ref", taskId: "task" } } },
  };
  await writeFile(join(temporary, "entry.json"), JSON.stringify(entry));
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
  await server.close();
  await rm(temporary, { recursive: true, force: true });
}
