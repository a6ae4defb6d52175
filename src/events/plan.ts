/** The plan of a run: reported once, by `run.started`, for everything that shows the run later. */
import {
  onCrashes,
  type FlowWork,
  type ItemSource,
  type Limits,
  type Model,
  type PermissionRules,
  type Permissions,
  type RunWork,
  type TaskWork,
  type Work,
} from "../entry/model.ts";
import { conditionIds, leafWorks } from "../entry/work.ts";
import { flowChart, type FlowChart } from "./flow.ts";
import { origin, outputs } from "./output-shapes.ts";
import {
  amount,
  anything,
  count,
  dictionary,
  either,
  flag,
  list,
  nameOf,
  natural,
  nested,
  nullable,
  optional,
  pair,
  partial,
  positive,
  record,
  tagged,
  text,
  words,
  yes,
  type ObjectOf,
  type Shape,
  type TypeOf,
} from "./shape.ts";

/** Which piece of work an event belongs to. */
export const workRef = record({
  workId: count,
  /** The task, or the file of a workflow as the entry names it. */
  taskId: text,
  /** Counts the starts of this work in the run, from 1. */
  iteration: natural,
  /** Of the innermost `Each` that it runs in. */
  item: optional(text),
  /** The number of the item, from 0. */
  itemIndex: optional(count),
  /** The items of the other `Each` around it, the outermost first. */
  outerItems: optional(list(text)),
});
export type WorkRef = TypeOf<typeof workRef>;

/** Null: none. `source`: the option, input or field that set it, or `default`. */
const fraction = record({ value: nullable(positive), source: text });
const whole = record({ value: nullable(natural), source: text });
/** A limit may be absent if it only concerns workflows, or in a journal of a version that did not have it. */
const limits = {
  jobMinutes: fraction,
  tokens: whole,
  cost: optional(fraction),
  taskMinutes: fraction,
  modelCalls: whole,
  turnMinutes: fraction,
  idleMinutes: fraction,
  loopIterations: whole,
  parallel: whole,
  activityHits: optional(whole),
  activities: optional(whole),
  callDepth: optional(whole),
  promptCharacters: optional(whole),
  outputCharacters: optional(whole),
  commandMinutes: optional(fraction),
  commandIdleMinutes: optional(fraction),
} satisfies Readonly<Record<keyof Limits, unknown>>;
const plannedLimits = record(limits);
export const limitName = nameOf(limits);
export type PlannedLimits = TypeOf<typeof plannedLimits>;
export type PlannedLimit = TypeOf<typeof whole>;

const model: Shape<Model> = either(record({ category: text }), record({ id: text }));

const command = {
  run: either(text, list(text)),
  minutes: optional(positive),
  name: optional(text),
  env: optional(list(text)),
};
const onCrash = optional(words(...onCrashes));
const items: Shape<ItemSource> = either(
  either(record({ values: list(anything) }), record({ lines: either(text, list(text)) })),
  either(
    either(record({ files: list(text) }), record({ changedFiles: list(text) })),
    either(record(command), record({ result: text, path: optional(text) })),
  ),
);

const tree: Shape<PlannedTree> = nested(() => anyTree);
const condition = pair(flag, tree);
const anyTree = tagged("kind", {
  Ref: { workIdInJob: count, taskId: text, modelId: text, modelOverride: optional(model) },
  Flow: {
    workIdInJob: count,
    file: text,
    taskId: text,
    params: dictionary(text),
    modelId: text,
    chart: flowChart,
    restoredSteps: optional(count),
  },
  Run: { workIdInJob: count, ...command, taskId: text },
  Seq: { works: list(tree) },
  Par: { works: list(tree), onCrash },
  Each: {
    items,
    work: tree,
    parallel: optional(flag),
    atMost: optional(natural),
    sample: optional(flag),
    onCrash,
  },
  Loop: {
    preCondition: optional(condition),
    body: tree,
    postCondition: optional(condition),
    atMost: optional(natural),
    atMostReached: optional(words("fail", "succeed")),
  },
  Alt: { condition: tree, trueWork: optional(tree), falseWork: optional(tree) },
} satisfies Readonly<Record<Work["kind"], object>>);

const preset = words("read-only", "workspace", "all");
const permissions: Shape<Permissions> = either(
  preset,
  partial({
    preset: optional(preset),
    read: optional(list(text)),
    write: optional(list(text)),
    shell: optional(either(yes, list(text))),
    url: optional(list(text)),
    hosts: optional(list(text)),
    tools: optional(list(text)),
    sandbox: optional(words("auto", "required", "off")),
  } satisfies Readonly<Record<keyof PermissionRules, unknown>>),
);

export const fileStatus = words(
  "added",
  "modified",
  "deleted",
  "renamed",
  "copied",
  "type-changed",
  "unmerged",
);

const changedFile = record({
  /** With slashes, relative to the root of the repository. */
  path: text,
  status: fileStatus,
  /** Lines; null in a binary file. */
  additions: nullable(count),
  deletions: nullable(count),
  /** Of a file that was renamed or copied. */
  previousPath: optional(text),
  isSubmodule: optional(yes),
});
export type ChangedFile = TypeOf<typeof changedFile>;

const change = record({
  /** A commit, or the empty tree of a first commit. */
  base: text,
  /** A commit. With `uncommitted`, what the working tree adds to it. */
  head: text,
  uncommitted: optional(yes),
  /** The path of its diff while the run lasts. */
  diffFile: text,
  /** Of all files. */
  count,
  /** The first ones. */
  files: list(changedFile),
});
export type PlannedChange = TypeOf<typeof change>;

export const plan = {
  /** Of agent-jobs. */
  version: text,
  /** SHA-256 of the prepared entry, in hex; the same however the file is formatted. */
  entryFingerprint: text,
  /** The model id of every category, after overrides. */
  models: dictionary(text),
  limits: plannedLimits,
  /** What every task of the job may do. A task in a borrowed session is not here: its lender decides. */
  permissions: dictionary(permissions),
  userInput: text,
  /** Tasks with the action protocol. Also those that the job only reaches by delegation. */
  actionTasks: optional(list(text)),
  /** What the job is about, if it uses that. */
  change: optional(change),
  /** What the job publishes, as its entry says. */
  outputs: optional(outputs),
  /** Where on GitHub it belongs. */
  origin: optional(origin),
  /** What it was given by name. */
  inputs: optional(dictionary(text)),
  /** What must be the same for the run to be resumed. */
  fingerprints: optional(
    record({
      /** Of the tree of works, without its models. */
      work: text,
      /** Of each task that the job may run, without its model, and of each workflow. */
      tasks: dictionary(text),
    }),
  ),
  /** The part of the job that it is: `plan`, one of its shards, or the merge of them. */
  part: optional(
    tagged("kind", {
      plan: {},
      shard: { index: natural, count: natural, plan: text },
      merge: { shards: natural },
    }),
  ),
  /** What it keeps between its runs, as it was found. */
  memory: optional(record({ file: text, max: natural, text, isKept: flag })),
  /** Its span, with telemetry: what continues it on another machine belongs to the same trace. */
  traceparent: optional(text),
  /** The run that it resumes, and what was spent until then, also by runs before that one. */
  resumed: optional(
    record({
      runId: text,
      /** How many works are taken over. */
      works: count,
      tokens: count,
      cost: amount,
      milliseconds: count,
    }),
  ),
  /** The job's tree. */
  work: tree,
};
export type RunPlan = ObjectOf<typeof plan>;
export type JobFingerprints = NonNullable<RunPlan["fingerprints"]>;

export type PlannedTree = Work<number, PlannedLeaf>;
export type PlannedLeaf = PlannedRef | PlannedFlow | PlannedRun;

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

export type PlannedRun = RunWork<number> & {
  /** What it is called. No task has the name. */
  readonly taskId: string;
};

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
