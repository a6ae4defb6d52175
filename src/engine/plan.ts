/** What to run, and the plan of it in `run.started`. */
import {
  workflowLimits,
  type Limits,
  type Model,
  type Permissions,
  type PreparedEntry,
  type Work,
} from "../entry/model.ts";
import { mapRefs, taskWorks } from "../entry/work.ts";
import type {
  PlannedLimit,
  PlannedLimits,
  PlannedRef,
  PlannedTree,
  RunPlan,
} from "../events/plan.ts";
import type { ResolvedLimits } from "./limits.ts";

/** What to run, and within which bounds: the same for a job and for a single task. */
export interface RunSpec {
  readonly entry: PreparedEntry;
  /** Of agent-jobs. */
  readonly version: string;
  /** SHA-256 of the entry. */
  readonly entryFingerprint: string;
  /** The entry file as the user named it. */
  readonly entryFile?: string;
  readonly userInput: string;
  /** Absolute. */
  readonly workingDirectory: string;
  readonly limits: ResolvedLimits;
  readonly permissionsOf: (taskId: string) => Permissions;
}

/** Of a job. */
export function planOf(spec: RunSpec, work: Work<number>): RunPlan {
  const tree = mapRefs<number, number, PlannedRef>(work, (ref) => ({
    ...ref,
    modelId: modelOf(spec.entry, ref.taskId, ref.modelOverride),
  }));
  const tasks = taskWorks(work).map(({ taskId }) => taskId);
  return { ...common(spec, tree), permissions: permissionsOf(spec, tasks) };
}

/** Of a task on its own: a job of one work with the id 0. */
export function planOfTask(
  spec: RunSpec,
  taskId: string,
  modelId: string,
  borrowed: boolean,
): RunPlan {
  const tree = { kind: "Ref", workIdInJob: 0, taskId, modelId } as const;
  return { ...common(spec, tree), permissions: permissionsOf(spec, borrowed ? [] : [taskId]) };
}

function common(spec: RunSpec, work: PlannedTree): Omit<RunPlan, "permissions"> {
  const { version, entryFingerprint, entry, limits, userInput } = spec;
  const { models } = entry;
  return { version, entryFingerprint, models, limits: limitsOf(limits, false), userInput, work };
}

function permissionsOf(spec: RunSpec, tasks: readonly string[]): RunPlan["permissions"] {
  return Object.fromEntries(tasks.map((taskId) => [taskId, spec.permissionsOf(taskId)]));
}

/** Those that only concern workflows, only if they are set or the job has one. */
function limitsOf(limits: ResolvedLimits, hasWorkflow: boolean): PlannedLimits {
  const planned = (name: keyof Limits): PlannedLimit => ({
    value: Number.isFinite(limits[name]) ? limits[name] : null,
    source: limits.setBy?.[name] ?? "default",
  });
  const ofWorkflows = workflowLimits.filter(
    (name) => hasWorkflow || limits.setBy?.[name] !== undefined,
  );
  return {
    jobMinutes: planned("jobMinutes"),
    tokens: planned("tokens"),
    cost: planned("cost"),
    taskMinutes: planned("taskMinutes"),
    modelCalls: planned("modelCalls"),
    turnMinutes: planned("turnMinutes"),
    idleMinutes: planned("idleMinutes"),
    loopIterations: planned("loopIterations"),
    parallel: planned("parallel"),
    ...Object.fromEntries(ofWorkflows.map((name) => [name, planned(name)])),
  };
}

/** Statement 9 of docs/engine.md: the override of the work, else the task's own model, else the driving model. */
export function modelOf(entry: PreparedEntry, taskId: string, override: Model | undefined): string {
  const model = override ?? entry.tasks[taskId]?.model;
  if (model === undefined) return entry.models.driving;
  return "id" in model ? model.id : (entry.models[model.category] ?? entry.models.driving);
}
