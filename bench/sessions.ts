/** agent-jobs beside a script on the SDK that does the least for the same work: same prompts, answers, permissions. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Script } from "../test/rig/model-server.ts";
import { prompt } from "./sessions/workload.ts";
import {
  cli,
  command,
  entryOf,
  ref,
  temporary,
  withModel,
  writeJson,
  type Command,
  type Row,
  type Side,
} from "./rig.ts";

const folder = join(temporary, "workspace");
await mkdir(join(folder, ".git"), { recursive: true });
await writeFile(join(folder, "README.md"), "# A project\n\nIt exists to be measured.\n");
await writeJson("entry.json", entryOf(prompt, ref));
await writeFile(join(temporary, "event.json"), "{}");

const answer: Script = ({ toolResults }) =>
  toolResults.length === 0
    ? { toolCalls: [{ name: "view", arguments: { path: join(folder, "README.md") } }] }
    : { text: "It is about a small project that exists for the sake of being measured." };

type Run = (baseUrl: string, dist: string) => Promise<Command>;
type Order = "Par" | "Seq";

const bare =
  (tasks: number, order: Order): Run =>
  (baseUrl) =>
    command([join(import.meta.dirname, "sessions", "bare.js"), `${tasks}`, order, baseUrl, folder]);

const library =
  (tasks: number, order: Order): Run =>
  (baseUrl, dist) => {
    const program = join(import.meta.dirname, "sessions", "runner.js");
    return command([program, `${tasks}`, order, baseUrl, folder, join(dist, "cli", "library.js")]);
  };

const commandLine: Run = (baseUrl, dist) =>
  command([cli(dist), "run", "entry.json", "--quiet", "--provider-base-url", baseUrl]);

const action: Run = (baseUrl, dist) =>
  command([join(dist, "action", "run.js")], {
    env: {
      INPUT_ENTRY: "entry.json",
      "INPUT_PROVIDER-BASE-URL": baseUrl,
      GITHUB_WORKSPACE: temporary,
      GITHUB_EVENT_NAME: "push",
      GITHUB_EVENT_PATH: join(temporary, "event.json"),
      GITHUB_REPOSITORY: "org/repo",
      RUNNER_TEMP: temporary,
    },
  });

function side(name: string, run: Run): Side {
  return {
    name,
    run: (dist) =>
      withModel(answer, async ({ baseUrl, firstRequest }) => {
        const { start, runtimes: _one, ownCpuMs: _own, ...figures } = await run(baseUrl, dist);
        return { ...figures, "first request, s": firstRequest(start) };
      }),
  };
}

/** The CPU time of a task in our process excludes the start, which all tasks share. */
function parallel(name: string, run: (tasks: number, order: Order) => Run): Side {
  const all = (tasks: number, dist: string): Promise<Command> =>
    withModel(answer, ({ baseUrl }) => run(tasks, "Par")(baseUrl, dist));
  return {
    name,
    run: async (dist) => {
      const [few, many] = [await all(50, dist), await all(200, dist)];
      return {
        "50 tasks, wall time, s": few["wall time, s"],
        "50 tasks, CPU time, s": few["CPU time, s"],
        "200 tasks, wall time, s": many["wall time, s"],
        "200 tasks, CPU time, s": many["CPU time, s"],
        "200 tasks, memory, MB": many["memory, MB"],
        "own CPU of a task, ms": (many.ownCpuMs - few.ownCpuMs) / 150,
      };
    },
  };
}

export const rows: readonly Row[] = [
  {
    name: "one cold job",
    sides: [side("the command line", commandLine), side("bare SDK", bare(1, "Seq"))],
    most: { "CPU time, s": 1.25 },
  },
  {
    name: "start of the action",
    sides: [side("the action", action), side("bare SDK", bare(1, "Seq"))],
    most: { "first request, s": 1.6 },
  },
  {
    name: "parallel tasks",
    sides: [parallel("the library", library), parallel("bare SDK", bare)],
    most: {
      "50 tasks, wall time, s": 1.1,
      "50 tasks, CPU time, s": 1.2,
      "200 tasks, wall time, s": 1.1,
      "200 tasks, CPU time, s": 1.2,
      "own CPU of a task, ms": 1.9,
    },
  },
  {
    name: "50 tasks in sequence",
    sides: [side("the library", library(50, "Seq")), side("bare SDK", bare(50, "Seq"))],
  },
];
