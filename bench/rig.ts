/** What rows share: a temporary folder, a model server on loopback, and commands whose resources are measured. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { findRuntime } from "../src/runtime/find-runtime.ts";
import { startModelServer, type Script } from "../test/rig/model-server.ts";
import { modelId } from "./sessions/workload.ts";

/** Name, with its unit → value. */
export type Figures = Readonly<Record<string, number>>;

export interface Side {
  readonly name: string;
  /** Gets the folder of the bundles, `dist`. */
  readonly run: (dist: string) => Promise<Figures>;
}

export interface Row {
  readonly name: string;
  /** The first is compared with the second. */
  readonly sides: readonly [Side, Side];
  /** The goals: the largest ratio of a figure. */
  readonly most?: Figures;
  /** The goals that compare with nothing: the largest figure of the first side. */
  readonly atMost?: Figures;
}

export const temporary = await mkdtemp(join(tmpdir(), "agent-jobs-bench-"));

export const removeTemporary = (): Promise<void> => rm(temporary, { recursive: true, force: true });

export function writeJson(name: string, value: unknown): Promise<void> {
  return writeFile(join(temporary, name), JSON.stringify(value));
}

/** An entry with one task and a job of it, without a sandbox: a script on the SDK has none. */
export function entryOf(prompt: string, work: object, limits: object = {}): object {
  return {
    models: { driving: modelId },
    permissions: { sandbox: "off" },
    limits,
    tasks: { task: { prompt, model: { category: "driving" } } },
    jobs: { job: { work } },
  };
}

export const ref = { kind: "Ref", taskId: "task" } as const;
export const cli = (dist: string): string => join(dist, "cli", "index.js");

interface Model {
  readonly baseUrl: string;
  /** Seconds from `start`, as `Command` has it, to the first request. */
  readonly firstRequest: (start: number) => number;
}

export async function withModel<T>(answer: Script, body: (model: Model) => Promise<T>): Promise<T> {
  let first = Number.NaN;
  const server = await startModelServer(
    (request) => {
      if (Number.isNaN(first)) first = performance.now();
      return answer(request);
    },
    { keep: false },
  );
  try {
    const { baseUrl } = server;
    return await body({ baseUrl, firstRequest: (start) => (first - start) / 1000 });
  } finally {
    await server.close();
  }
}

export interface Command {
  /** As `performance.now()` has it. */
  readonly start: number;
  readonly "wall time, s": number;
  /** Includes that of the runtime. */
  readonly "CPU time, s": number;
  /** The peak of the resident memory of all its processes. Memory that they share counts for each. */
  readonly "memory, MB": number;
  readonly runtimes: number;
  /** The CPU time of its own process; only programs that call `printOwnCpu` tell it. */
  readonly ownCpuMs: number;
}

/** Runs a program of Node in the temporary folder. Throws if it fails, unless it may. Reads /proc: Linux only. */
export async function command(
  args: readonly string[],
  { env = {}, mayFail = false }: { env?: Readonly<Record<string, string>>; mayFail?: boolean } = {},
): Promise<Command> {
  const { PATH, HOME } = process.env;
  const runtime = findRuntime({ environment: {} });
  const start = performance.now();
  const cpu = cpuOfEndedChildren();
  const child = spawn(process.execPath, args, {
    cwd: temporary,
    env: { PATH, HOME, COPILOT_CLI_PATH: runtime, ...env },
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 600_000,
  });
  let [memory, runtimes] = [0, 0];
  const timer = setInterval(() => {
    const all = child.pid === undefined ? [] : processesFrom(child.pid);
    memory = Math.max(memory, sum(all.map(memoryOf)));
    runtimes = Math.max(runtimes, all.length - 1);
  }, 50);
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  clearInterval(timer);
  if (code !== 0 && !mayFail) throw new Error(`Failed: node ${args.join(" ")}`);
  const [, own = "NaN"] = /^own CPU (\S+)$/m.exec(printed) ?? [];
  return {
    start,
    "wall time, s": (performance.now() - start) / 1000,
    "CPU time, s": cpuOfEndedChildren() - cpu,
    "memory, MB": memory / 1e6,
    runtimes,
    ownCpuMs: Number(own),
  };
}

export const sum = (list: readonly number[]): number => list.reduce((all, one) => all + one, 0);

export function median(list: readonly number[]): number {
  const sorted = list.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.floor(half)] ?? 0) + (sorted[Math.ceil(half) - 1] ?? 0)) / 2;
}

/** CPU time of all children that have ended, and of theirs; seconds. A tick of /proc is 10 ms. */
function cpuOfEndedChildren(): number {
  const fields = read("/proc/self/stat")
    .replace(/^.*\) /, "")
    .split(" ");
  return sum(fields.slice(13, 15).map(Number)) / 100;
}

function processesFrom(pid: number): readonly number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean);
  return [pid, ...children.flatMap((child) => processesFrom(Number(child)))];
}

function memoryOf(pid: number): number {
  const [, kilobytes = "0"] = /^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`)) ?? [];
  return Number(kilobytes) * 1024;
}

/** Empty if the process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
