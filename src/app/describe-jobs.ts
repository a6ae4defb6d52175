import type { PreparedEntry } from "../entry/model.ts";
import { leafName, leafWorks } from "../entry/work.ts";
import { modelOf } from "../engine/plan.ts";
import { promptsModels } from "../workflow/describe.ts";
import { modelOfFlow, type Flows } from "./flows.ts";

export interface JobDescription {
  readonly name: string;
  readonly requireUserInput: boolean;
  /** With the files of workflows. In reading order, each once. */
  readonly tasks: readonly string[];
  /** The models of tasks and workflows, and the driving model where a task uses it. */
  readonly models: readonly string[];
}

export function describeJobs(entry: PreparedEntry, flows: Flows): readonly JobDescription[] {
  return Object.entries(entry.jobs).map(([name, job]) => {
    const leaves = leafWorks(job.work);
    const models = leaves.flatMap((leaf) => {
      if (leaf.kind === "Flow") {
        const workflow = flows[leaf.file]?.workflow;
        return workflow && promptsModels(workflow) ? [modelOfFlow(workflow, entry)] : [];
      }
      const { taskId, modelOverride } = leaf;
      const own = modelOf(entry, taskId, modelOverride);
      const driven = entry.tasks[taskId]?.criteria?.runConditionInSameSession === false;
      return driven ? [own, entry.models.driving] : [own];
    });
    return {
      name,
      requireUserInput: job.requireUserInput,
      tasks: [...new Set(leaves.map(leafName))],
      models: [...new Set(models)],
    };
  });
}
