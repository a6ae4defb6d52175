/** The sides of the comparison, each in a process of its own, against one model server on loopback. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findRuntime } from "../../src/runtime/find-runtime.ts";
import { startModelServer, type Reply } from "../../test/rig/model-server.ts";
import { cpuOfEndedChildren } from "./meter.ts";
import {
  modelId,
  prompt,
  type ConfinedSample,
  type Difference,
  type Sample,
  type Workload,
} from "./workload.ts";

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

/** Removed by `close`. */
export const temporary = await mkdtemp(join(tmpdir(), "agent-jobs-bench-"));
const folder = join(temporary, "workspace");
/** Made by `bundleCommandLine`. */
export const commandLine = join(temporary, "dist", "cli", "index.js");
await mkdir(join(folder, ".git"), { recursive: true });
await writeFile(join(folder, "README.md"), "# A project\n\nIt exists to be measured.\n");
await writeFile(join(folder, ".env"), "KEY=secret\n");

export interface Measured<Said = Sample> {
  /** From the start of the process to its end; milliseconds, as the CPU times. */
  readonly wall: number;
  /** Of the process and of the runtime below it. */
  readonly cpu: number;
  /** Absent for the command line, which measures nothing. */
  readonly sample?: Said;
}

export async function run<Said = Sample>(
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

export const bare = (workload: Workload, ...changed: Difference[]): Promise<Measured> =>
  run([join(import.meta.dirname, "bare.js"), workload.name, server.baseUrl, folder, ...changed]);

export function runner(workload: Workload): Promise<Measured> {
  return workload.name === "cold"
    ? run([commandLine, "run", "entry.json", "--quiet", "--provider-base-url", server.baseUrl])
    : run([join(import.meta.dirname, "runner.js"), workload.name, server.baseUrl, folder]);
}

export function confined(mode: "off" | "required" | "hosts"): Promise<Measured<ConfinedSample>> {
  return run([join(import.meta.dirname, "confined.js"), mode, server.baseUrl, folder]);
}

/** Messages of one task between the SDK and the runtime, by method. */
export async function wire(script: string): Promise<Map<string, number>> {
  const path = join(temporary, `${script}.sh`);
  const result = join(temporary, `${script}.txt`);
  const runtime = findRuntime({ environment: {} });
  const command = [process.execPath, join(import.meta.dirname, "wire.js"), runtime, result];
  const line = command.map((part) => `'${part}'`).join(" ");
  await writeFile(path, `#!/bin/sh\nexec ${line} "$@"\n`, { mode: 0o755 });
  await run([join(import.meta.dirname, script), "cold", server.baseUrl, folder], path);
  const counts = new Map<string, number>();
  for (const name of (await readFile(result, "utf8")).trimEnd().split("\n"))
    counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** What a user starts: not the many files of the build. */
export async function bundleCommandLine(): Promise<void> {
  const root = join(import.meta.dirname, "..", "..", "..");
  await promisify(execFile)(
    process.execPath,
    [join(root, "scripts", "bundle.mjs"), "--out", temporary, "cli"],
    { cwd: root, timeout: 180_000 },
  );
  await cp(join(root, "dist", "web"), join(temporary, "dist", "web"), { recursive: true });
  const entry = {
    models: { driving: modelId },
    permissions: { sandbox: "off" },
    tasks: { task: { prompt, model: { category: "driving" } } },
    jobs: { job: { work: { kind: "Ref", taskId: "task" } } },
  };
  await writeFile(join(temporary, "entry.json"), JSON.stringify(entry));
}

export async function close(): Promise<void> {
  await server.close();
  await rm(temporary, { recursive: true, force: true });
}
