/** The workflows of a run. `workflow-run.ts` is loaded with the first one. */
import type { FlowSpec } from "../engine/plan.ts";
import type { LeafWork, ModelLimits, PreparedEntry } from "../entry/model.ts";
import { leafWorks } from "../entry/work.ts";
import { UsageError } from "./options.ts";
import { allowedForPrograms } from "./variables.ts";
import type { FlowOptions, Flows } from "./workflow-run.ts";

export type { FlowReading, Flows, ReadEntry } from "./workflow-run.ts";

export function flowSpecs(flows: Flows, options: FlowOptions): Readonly<Record<string, FlowSpec>> {
  const specs: Record<string, FlowSpec> = Object.create(null);
  const environment = allowedForPrograms(options.entry, options, flows);
  for (const [name, flow] of Object.entries(flows)) specs[name] = flow.spec(environment, options);
  return specs;
}

/** The limits of models that the entry and its workflows set, by id. */
export function modelLimitsOf(
  { models }: Pick<PreparedEntry, "models">,
  flows: Flows,
): Readonly<Record<string, ModelLimits>> {
  const all = [...Object.values(flows).map(({ workflow }) => workflow.settings.models), models];
  const named = all.flatMap((one = {}) => Object.values(one));
  const limits = named.flatMap((model): [string, ModelLimits][] =>
    typeof model === "string" ? [] : [[model.id, model]],
  );
  return Object.fromEntries(limits);
}

/**
 * Whether a job sends prompts. Commands and workflows without prompts need no model. `params`: of a workflow. Throws a
 * `UsageError` for a workflow that has no model for its prompts.
 */
export function asksModels(
  entry: PreparedEntry,
  jobName: string,
  flows: Flows,
  params?: Readonly<Record<string, string>>,
): boolean {
  // Not `some`: each workflow is checked.
  const asking = leavesOfJob(entry, jobName).filter((leaf) => {
    if (leaf.kind !== "Flow") return leaf.kind === "Ref";
    const flow = flows[leaf.file];
    if (flow === undefined || !flow.promptsModels) return false;
    if (flow.modelIn(entry, params) !== "") return true;
    throw new UsageError(
      `${flow.workflow.file} names no model. Write one into its front matter (model: ID), or give one with --model driving=ID.`,
    );
  });
  return asking.length > 0;
}

export function leavesOfJob(entry: PreparedEntry, jobName: string): readonly LeafWork<number>[] {
  const work = entry.jobs[jobName]?.work;
  return work === undefined ? [] : leafWorks(work);
}
