/** The plan of a run: reported once, by `run.started`, for everything that shows the run later. */
import { conditionIds, leafWorks } from "../entry/work.ts";
import type { FlowChart, PlannedLeaf, PlannedTree } from "./plan-shapes.ts";

export { fileStatus } from "./plan-shapes.ts";
export type {
  ChangedFile,
  FlowChart,
  FlowFile,
  FlowNode,
  FlowNodeKind,
  JobFingerprints,
  PlannedChange,
  PlannedFlow,
  PlannedLeaf,
  PlannedLimit,
  PlannedLimits,
  PlannedRef,
  PlannedRun,
  PlannedTree,
  RunPlan,
  WorkRef,
} from "./plan-shapes.ts";

/** A leaf of the tree, with its place in the job. */
export interface PlannedWork {
  readonly workId: number;
  readonly taskId: string;
  /** A command has none. */
  readonly modelId: string | undefined;
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
    modelId: leaf.kind === "Run" ? undefined : leaf.modelId,
    condition: conditions.has(leaf.workIdInJob),
    ...(leaf.kind === "Flow" ? { chart: leaf.chart } : {}),
  }));
}
