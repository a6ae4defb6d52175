/** A job, or a task on its own, from its first event to its last. */
import { defined } from "../document/guards.ts";
import { outputsOf } from "../entry/outputs.ts";
import type { RunOutcome } from "../events/event.ts";
import { treeOf } from "./fan-out.ts";
import { JobRun } from "./job-run.ts";
import { modelOf, planOf, planOfTask, type RunSpec } from "./plan.ts";
import type { EnginePorts, Session } from "./ports.ts";
import type { WorkResult } from "./run-work.ts";

export interface JobSpec extends RunSpec {
  readonly jobName: string;
}

/** A task on its own (`startTask`): it is reported as a job of one work with the id 0. */
export interface TaskSpec extends RunSpec {
  readonly taskName: string;
  readonly modelOverride?: string;
  /** Borrowing mode. */
  readonly borrowed?: Session;
  readonly ignorePrerequisiteCheck: boolean;
}

/** Never throws. `signal` cancels the job; its reason, if it is a string, is the reason shown. */
export async function runJob(
  spec: JobSpec,
  ports: EnginePorts,
  signal?: AbortSignal,
): Promise<RunOutcome> {
  const job = spec.entry.jobs[spec.jobName];
  if (job === undefined) throw new Error(`There is no job "${spec.jobName}" in the entry.`);
  const { entry, jobName } = spec;
  const own = { ...defined({ outputs: outputsOf(entry, jobName) }), ...spec };
  const run = new JobRun(own, ports, signal);
  const work = treeOf(job.work, spec.fanOut);
  return run.whole(jobName, planOf(own, work), () => run.tree(work));
}

/** Never throws; as `runJob`, for one task. */
export async function runSingleTask(
  spec: TaskSpec,
  ports: EnginePorts,
  signal?: AbortSignal,
): Promise<RunOutcome> {
  const { taskName: taskId, modelOverride, borrowed } = spec;
  const run = new JobRun(spec, ports, signal);
  const override = modelOverride === undefined ? undefined : { id: modelOverride };
  // Everything runs in the session that was lent, whatever the task would have had.
  const modelId = borrowed?.modelId ?? modelOf(spec.entry, taskId, override);
  const plan = planOfTask(spec, taskId, modelId, borrowed !== undefined);
  const task = (): Promise<WorkResult> =>
    run.task({
      workId: 0,
      taskId,
      modelId,
      availability: { previousTask: undefined, skip: spec.ignorePrerequisiteCheck },
      ...defined({ borrowed }),
    });
  return run.whole(taskId, plan, task, { lent: borrowed !== undefined });
}
