/**
 * Our side: a job with one task for each session, through the library.
 *
 *   node runner.js WORKLOAD BASE-URL FOLDER LIBRARY
 */
import type * as AgentJobs from "agent-jobs";
import { measure } from "./meter.ts";
import { modelId, prompt, workloadOf } from "./workload.ts";

const [, , name, baseUrl = "", folder = "", library = ""] = process.argv;
const { JobHost }: typeof AgentJobs = await import(library);
const { tasks, order } = workloadOf(name);
const works = Array.from({ length: tasks }, () => ({ kind: "Ref" as const, taskId: "task" }));
const entry: AgentJobs.Entry = {
  models: { driving: modelId },
  // The bare script has none.
  permissions: { sandbox: "off" },
  limits: { parallel: tasks },
  tasks: { task: { prompt, model: { category: "driving" } } },
  jobs: { job: { work: { kind: order === "parallel" ? "Par" : "Seq", works } } },
};

await measure(async () => {
  const host = new JobHost({ provider: { baseUrl } });
  await host.installJobsEntry(entry);
  const result = await host.runJob("job", { workingDirectory: folder });
  await host.close();
  if (result.outcome.kind !== "succeeded") throw new Error(JSON.stringify(result.outcome));
});
