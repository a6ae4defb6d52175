/** The plan of a run: reported once, by `run.started`, for everything that shows the run later. */
import type {
  FlowWork,
  Limits,
  Permissions,
  TaskWork,
  Work,
  WorkflowLimit,
} from "../entry/model.ts";
import { conditionIds, leafWorks } from "../entry/work.ts";

/** Which piece of work an event belongs to. `iteration` counts the starts of this work in the run, from 1. */
export interface WorkRef {
  readonly workId: number;
  /** The task, or the file of a workflow as the entry names it. */
  readonly taskId: string;
  readonly iteration: number;
}

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
  /** Tasks with the action protocol. Also those that the job only reaches by delegation. */
  readonly actionTasks?: readonly string[];
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

export type PlannedTree = Work<number, PlannedLeaf>;
export type PlannedLeaf = PlannedRef | PlannedFlow;

export type PlannedRef = TaskWork<number> & {
  /** Of the task session. */
  readonly modelId: string;
};

export type PlannedFlow = Omit<FlowWork<number>, "params"> & {
  /** Its file, as the entry names it. */
  readonly taskId: string;
  /** Those that are given. */
  readonly params: Readonly<Record<string, string>>;
  /** Of its agents. */
  readonly modelId: string;
  readonly chart: FlowChart;
  /** So many steps are taken over from the journal of an earlier run before anything is done. */
  readonly restoredSteps?: number;
};

/** The flowcharts of a workflow. */
export interface FlowChart {
  /** The id of the file that runs first. */
  readonly main: string;
  /** SHA-256 of what the workflow does, in hex; the same wherever it is, and whatever its front matter says. */
  readonly fingerprint?: string;
  /** By id. */
  readonly files: Readonly<Record<string, FlowFile>>;
}

export interface FlowFile {
  /** As diagnostics name it. */
  readonly file: string;
  readonly title?: string;
  readonly parameters: readonly { readonly name: string; readonly default?: string }[];
  /** In the order of the file. */
  readonly activities: readonly FlowNode[];
}

export interface FlowNode {
  readonly id: string;
  readonly kind: FlowNodeKind;
  /** The text of the node, without its caption. */
  readonly label: string;
  readonly line: number;
  /** Where it goes on; without it, the workflow succeeds. */
  readonly next?: string;
  /** Where it goes on after a failure; without it, the workflow fails. */
  readonly other?: string;
  /** The id of the file that it calls. */
  readonly calls?: string;
}

export type FlowNodeKind =
  | "start"
  | "set"
  | "assign"
  | "check"
  | "prompt"
  | "ask"
  | "execute"
  | "call"
  | "success"
  | "failed"
  | "on";

/** A leaf of the tree, with its place in the job. */
export interface PlannedWork {
  readonly workId: number;
  readonly taskId: string;
  readonly modelId: string;
  /** It is a condition, or a part of one: its failure is an answer. */
  readonly condition: boolean;
  /** Of a workflow. */
  readonly chart?: FlowChart;
}

/** Every leaf of a planned tree, in the order of the ids. */
export function plannedWorks(tree: PlannedTree): readonly PlannedWork[] {
  const conditions = conditionIds(tree);
  return leafWorks<number, PlannedLeaf>(tree).map((leaf) => ({
    workId: leaf.workIdInJob,
    taskId: leaf.taskId,
    modelId: leaf.modelId,
    condition: conditions.has(leaf.workIdInJob),
    ...(leaf.kind === "Flow" ? { chart: leaf.chart } : {}),
  }));
}
