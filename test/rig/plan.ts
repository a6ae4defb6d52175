import type { PlannedLimits, PlannedRef, PlannedTree, RunPlan } from "../../src/events/plan.ts";

export const identity = { version: "0.0.0", entryFingerprint: "0".repeat(64) };

const limit = { value: 1, source: "default" };
const limits: PlannedLimits = {
  jobMinutes: limit,
  tokens: { value: null, source: "default" },
  cost: { value: null, source: "default" },
  taskMinutes: limit,
  modelCalls: limit,
  turnMinutes: limit,
  idleMinutes: limit,
  loopIterations: limit,
  parallel: limit,
};

/** The plan of a run that is told to a reporter; what matters of it is the tree. */
export function planned(work: PlannedTree): RunPlan {
  return {
    ...identity,
    models: { driving: "m1" },
    limits,
    permissions: {},
    userInput: "",
    work,
  };
}

/** A job of these tasks, one after the other, numbered from 0. */
export function plannedTasks(
  tasks: readonly (readonly [taskId: string, modelId: string])[],
): RunPlan {
  const works = tasks.map(([taskId, modelId], workIdInJob) => ref(workIdInJob, taskId, modelId));
  return planned({ kind: "Seq", works });
}

export function ref(workIdInJob: number, taskId: string, modelId = "gpt-5.4-mini"): PlannedRef {
  return { kind: "Ref", workIdInJob, taskId, modelId };
}
