/**
 * From the start of the process to the first prompt at the model server: the bundles of the action and of
 * the command line beside a bare script on the SDK, in turns, in one run. Prints medians, spreads, ratios.
 *
 *   npm run bench action        (after `npm run bundle`; takes about a minute)
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../test/rig/model-server.ts";

const ROUNDS = 9;
const root = join(import.meta.dirname, "..", "..");
const folder = await mkdtemp(join(tmpdir(), "agent-jobs-bench-"));
const entry = {
  // The bare script has none.
  permissions: { sandbox: "off" },
  models: { driving: "bench" },
  tasks: { hello: { prompt: "Say hello", model: { category: "driving" } } },
  jobs: { hello: { work: { kind: "Ref", taskId: "hello" } } },
};
await writeFile(join(folder, "entry.json"), JSON.stringify(entry));
await writeFile(join(folder, "event.json"), "{}");

let onPrompt = (): void => {};
const server = await startModelServer(() => {
  onPrompt();
  return { text: "hello" };
});

const { PATH = "", HOME = "" } = process.env;
const variants: Readonly<
  Record<string, { args: readonly string[]; env?: Readonly<Record<string, string>> }>
> = {
  "bare SDK": {
    args: [join(import.meta.dirname, "sessions", "bare.js"), "cold", server.baseUrl, folder],
  },
  "the action": {
    args: [join(root, "dist", "action", "run.js")],
    env: {
      INPUT_ENTRY: "entry.json",
      "INPUT_PROVIDER-BASE-URL": server.baseUrl,
      GITHUB_WORKSPACE: folder,
      GITHUB_EVENT_NAME: "push",
      GITHUB_EVENT_PATH: join(folder, "event.json"),
      GITHUB_REPOSITORY: "org/repo",
      RUNNER_TEMP: folder,
    },
  },
};

/** Milliseconds from the start of the process to the first prompt. */
async function measure(name: string): Promise<number> {
  const { args, env = {} } = variants[name] ?? { args: [] };
  const start = performance.now();
  let first = Number.NaN;
  onPrompt = () => {
    if (Number.isNaN(first)) first = performance.now() - start;
  };
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH, HOME, ...env },
    stdio: "ignore",
  });
  await new Promise((resolve) => child.on("close", resolve));
  if (Number.isNaN(first)) throw new Error(`${name} sent no prompt`);
  return first;
}

/** Milliseconds of each round, by variant. */
export async function firstPrompts(): Promise<ReadonlyMap<string, readonly number[]>> {
  const times = new Map<string, number[]>(Object.keys(variants).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, list] of times) list.push(await measure(name));
  }
  await server.close();
  await rm(folder, { recursive: true, force: true });
  return times;
}

export const at = (list: readonly number[], share: number): number =>
  list.toSorted((a, b) => a - b)[Math.round((list.length - 1) * share)] ?? Number.NaN;

export async function main(): Promise<void> {
  const times = await firstPrompts();
  const base = at(times.get("bare SDK") ?? [], 0.5);
  for (const [name, list] of times) {
    const [low, median, high] = [0.1, 0.5, 0.9].map((share) => at(list, share));
    console.log(
      `${name.padEnd(16)} median ${median?.toFixed(0)} ms (${low?.toFixed(0)}–${high?.toFixed(0)}), ${((median ?? 0) / base).toFixed(2)} × bare`,
    );
  }
}
