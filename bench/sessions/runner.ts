/** Our side: a job with one task for each session, through the library. */
import type * as AgentJobs from "agent-jobs";
import { modelId, printOwnCpu, prompt, workload } from "./workload.ts";

const { tasks, order, baseUrl, folder, library } = workload();
const { JobHost }: typeof AgentJobs = await import(library);
const works = Array.from({ length: tasks }, () => ({ kind: "Ref" as const, taskId: "task" }));

printOwnCpu();
const host = new JobHost({ provider: { baseUrl } });
await host.installJobsEntry({
  models: { driving: modelId },
  // The bare script has none.
  permissions: { sandbox: "off" },
  limits: { parallel: tasks },
  tasks: { task: { prompt, model: { category: "driving" } } },
  jobs: { job: { work: { kind: order, works } } },
});
const { outcome } = await host.runJob("job", { workingDirectory: folder });
await host.close();
if (outcome.kind !== "succeeded") throw new Error(JSON.stringify(outcome));
