/**
 * What a sandbox costs: the first task of a run, further ones, and commands. Prints milliseconds.
 *
 *   node confined.js off|required|hosts BASE-URL FOLDER
 */
import { JobHost, type Entry } from "agent-jobs";
import { confined, median, modelId, type ConfinedSample } from "./workload.ts";

const [, , mode = "", baseUrl = "", folder = ""] = process.argv;
const category = { category: "driving" } as const;
const entry: Entry = {
  models: { driving: modelId },
  permissions: {
    shell: true,
    write: ["out/**"],
    sandbox: mode === "off" ? "off" : "required",
    ...(mode === "hosts" ? { hosts: ["packages.example.com"] } : {}),
  },
  tasks: {
    one: { prompt: "Run 1 command.", model: category },
    many: { prompt: `Run ${confined.commands + 1} commands.`, model: category },
  },
  jobs: {
    job: {
      work: {
        kind: "Seq",
        works: [...Array.from({ length: confined.tasks + 1 }, () => "one"), "many"].map(
          (taskId) => ({ kind: "Ref", taskId }),
        ),
      },
    },
  },
};

const host = new JobHost({ provider: { baseUrl } });
await host.installJobsEntry(entry);
const start = Date.now();
const { outcome, works } = await host.runJob("job", { workingDirectory: folder });
await host.close();
if (outcome.kind !== "succeeded") throw new Error(JSON.stringify(outcome));
const times = works.map(({ finishedMs }) => finishedMs);
const task = median(times.slice(1, -1));
const sample: ConfinedSample = {
  first: (works[0]?.endedAt ?? Number.NaN) - start,
  task,
  command: ((times.at(-1) ?? Number.NaN) - task) / confined.commands,
};
console.log(JSON.stringify(sample));
