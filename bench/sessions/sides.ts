/** The sides of the comparison, each in a process of its own, against one model server on loopback. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findRuntime } from "../../src/runtime/find-runtime.ts";
import { startModelServer } from "../../test/rig/model-server.ts";
import { cpuOfEndedChildren } from "./meter.ts";
import { modelId, prompt, type Sample, type Workload } from "./workload.ts";

const answer = "It is about a small project that exists for the sake of being measured. ".repeat(2);
const server = await startModelServer(
  ({ toolResults }) =>
    toolResults.length === 0
      ? { toolCalls: [{ name: "view", arguments: { path: join(folder, "README.md") } }] }
      : { text: answer },
  { keep: false },
);

/** Removed by `close`. */
export const temporary = await mkdtemp(join(tmpdir(), "agent-jobs-bench-"));
const folder = join(temporary, "workspace");
/** Made by `bundleCommandLine`. */
export const commandLine = join(temporary, "dist", "cli", "index.js");
await mkdir(join(folder, ".git"), { recursive: true });
await writeFile(join(folder, "README.md"), "# A project\n\nIt exists to be measured.\n");
await writeFile(join(folder, ".env"), "KEY=secret\n");

export interface Measured {
  /** From the start of the process to its end; milliseconds, as the CPU times. */
  readonly wall: number;
  readonly cpu: number;
  /** Absent for the command line, which measures nothing. */
  readonly sample?: Sample;
}

export async function run(args: readonly string[]): Promise<Measured> {
  const runtime = findRuntime({ environment: {} });
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
  const sample: Sample = JSON.parse(last);
  return { ...measured, sample };
}

export const bare = (workload: Workload): Promise<Measured> =>
  run([join(import.meta.dirname, "bare.js"), workload.name, server.baseUrl, folder]);

export function runner(workload: Workload): Promise<Measured> {
  return workload.name === "cold"
    ? run([commandLine, "run", "entry.json", "--quiet", "--provider-base-url", server.baseUrl])
    : run([
        join(import.meta.dirname, "runner.js"),
        workload.name,
        server.baseUrl,
        folder,
        join(commandLine, "..", "library.js"),
      ]);
}

/** The bundle that a user starts, not the many files of the build. */
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
