import type { PreparedEntry } from "../entry/model.ts";
import { taskWorks } from "../entry/work.ts";
import { modelOf } from "../engine/plan.ts";

export interface JobDescription {
  readonly name: string;
  readonly requireUserInput: boolean;
  /** In reading order, each once. */
  readonly tasks: readonly string[];
  /** The models of the task sessions, and the driving model where a task uses it. */
  readonly models: readonly string[];
}

export function describeJobs(entry: PreparedEntry): readonly JobDescription[] {
  return Object.entries(entry.jobs).map(([name, job]) => {
    const works = [...taskWorks(job.work)];
    const models = works.flatMap(({ taskId, modelOverride }) => {
      const own = modelOf(entry, taskId, modelOverride);
      const driven = entry.tasks[taskId]?.criteria?.runConditionInSameSession === false;
      return driven ? [own, entry.models.driving] : [own];
    });
    return {
      name,
      requireUserInput: job.requireUserInput,
      tasks: [...new Set(works.map(({ taskId }) => taskId))],
      models: [...new Set(models)],
    };
  });
}
