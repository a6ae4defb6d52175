/** The plan of a run: reported once, by `run.started`, for everything that shows the run later. */
import type { Limits, WorkflowLimit, Permissions, TaskWork, Work } from "../entry/model.ts";
import { conditionIds, taskWorks } from "../entry/work.ts";

export interface RunPlan {
  /** Of agent-jobs. */
  readonly version: string;
  /** SHA-256 of the prepared entry, in hex; the same however the file is formatted. */
  readonly entryFingerprint: string;
  /** The model id of every category, after overrides. */
  readonly models: Readonly<Record<string, string>>;
  readonly limits: PlannedLimits;
  /** What every task of the job may do. A task in a borrowed session is not here: its lender decides. */
  readonly permissions: Readonly<Record<string, Permissions>>;
  readonly userInput: string;
  /** The job's tree. */
  readonly work: PlannedTree;
}

/** A limit may be absent if it only concerns workflows, or in a journal of a version that did not have it. */
export type PlannedLimits = {
  readonly [Name in Exclude<keyof Limits, LaterLimit>]-?: PlannedLimit;
} & { readonly [Name in LaterLimit]?: PlannedLimit };

type LaterLimit = "cost" | WorkflowLimit;

export interface PlannedLimit {
  /** Null: none. */
  readonly value: number | null;
  /** The option, input or field that set it, or `default`. */
  readonly source: string;
}

export type PlannedTree = Work<number, PlannedRef>;

export type PlannedRef = TaskWork<number> & {
  /** Of the task session. */
  readonly modelId: string;
};

/** A `Ref` of the tree, with its place in the job. */
export interface PlannedWork {
  readonly workId: number;
  readonly taskId: string;
  readonly modelId: string;
  /** It is a condition, or a part of one: its failure is an answer. */
  readonly condition: boolean;
}

/** Every `Ref` of a planned tree, in the order of the ids. */
export function plannedWorks(tree: PlannedTree): readonly PlannedWork[] {
  const conditions = conditionIds(tree);
  return taskWorks<number, PlannedRef>(tree).map(({ workIdInJob, taskId, modelId }) => ({
    workId: workIdInJob,
    taskId,
    modelId,
    condition: conditions.has(workIdInJob),
  }));
}
