import {
  onCrashes,
  type ItemSource,
  type Limits,
  type Model,
  permissionsSchema,
  type Permissions,
  type Work,
} from "../entry/model.ts";
import { conditionIds, leafWorks } from "../entry/work.ts";
import { conversation, origin, outputs } from "./output-shapes.ts";
import { flowChart, type FlowChart } from "./flow.ts";
import * as is from "../document/describe.ts";
import type { ObjectOf, Described, Tagged, TypeOf } from "../document/describe.ts";
import { plural } from "../text/numbers.ts";
import { truncate } from "../text/truncate.ts";

export const workRef = is.record({
  workId: is.count,
  /** The task, or the file of a workflow as the entry names it. */
  taskId: is.text,
  iteration: is.natural,
  /** The item of the innermost `Each`. */
  item: is.optional(is.text),
  /** The number of the item, from 0. */
  itemIndex: is.optional(is.count),
  /** The items of the other `Each` around it, the outermost first, and their numbers. */
  outerItems: is.optional(is.list(is.text)),
  outerIndexes: is.optional(is.list(is.count)),
});
export type WorkRef = TypeOf<typeof workRef>;

/** Identifies an iteration of a work. Items of one work may run at the same time. */
export function workKey({ workId, iteration }: WorkRef): string {
  return `${workId}/${iteration}`;
}

/** The outermost first; none outside of an `Each`. */
export function itemsIn({ outerItems = [], item }: WorkRef): readonly string[] {
  return item === undefined ? [] : [...outerItems, item];
}

/** Where an item is in its list, with those around it, the outermost first. */
export function placeIn({ outerIndexes = [], itemIndex }: WorkRef): readonly number[] {
  return itemIndex === undefined ? [] : [...outerIndexes, itemIndex];
}

/** Sorts items in the order in which one machine would run them one by one. */
export function comparePlaces(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((index, level) => index !== b[level]);
  return at === -1 ? a.length - b.length : (a[at] ?? 0) - (b[at] ?? -1);
}

/** Null: none. `source`: the option, input or field that set it, or `default`. */
const fraction = is.record({ value: is.nullable(is.positive), source: is.text });
const whole = is.record({ value: is.nullable(is.natural), source: is.text });
/** A limit may be absent if it only concerns workflows, or in a journal of a version that did not have it. */
const limits = {
  jobMinutes: fraction,
  tokens: whole,
  cost: is.optional(fraction),
  runsPerDay: is.optional(whole),
  runsPerActorPerDay: is.optional(whole),
  taskMinutes: fraction,
  rateLimitMinutes: is.optional(fraction),
  modelCalls: whole,
  turnMinutes: fraction,
  idleMinutes: fraction,
  loopIterations: whole,
  parallel: whole,
  activityHits: is.optional(whole),
  activities: is.optional(whole),
  callDepth: is.optional(whole),
  promptCharacters: is.optional(whole),
  outputCharacters: is.optional(whole),
  commandMinutes: is.optional(fraction),
  commandIdleMinutes: is.optional(fraction),
} satisfies Readonly<Record<keyof Limits, unknown>>;
const plannedLimits = is.record(limits);
export const limitName = is.nameOf(limits);
export type PlannedLimits = TypeOf<typeof plannedLimits>;
export type PlannedLimit = TypeOf<typeof whole>;

const model: Described<Model> = is.either(
  is.record({ category: is.text }),
  is.record({ id: is.text }),
);

const command = {
  run: is.either(is.text, is.list(is.text)),
  minutes: is.optional(is.positive),
  name: is.optional(is.text),
  env: is.optional(is.list(is.text)),
};
const onCrash = is.optional(is.words(...onCrashes));
const items: Described<ItemSource> = is.either(
  is.record({ values: is.list(is.anything) }),
  is.record({ lines: is.either(is.text, is.list(is.text)) }),
  is.record({ files: is.list(is.text) }),
  is.record({ changedFiles: is.list(is.text) }),
  is.record(command),
  is.record({ result: is.text, path: is.optional(is.text) }),
);

const leaves = {
  /** `modelId`: of the task session. */
  Ref: {
    workIdInJob: is.count,
    taskId: is.text,
    modelId: is.text,
    modelOverride: is.optional(model),
  },
  Flow: {
    workIdInJob: is.count,
    file: is.text,
    /** Its file, as the entry names it. */
    taskId: is.text,
    /** Parameters that the entry passes. */
    params: is.dictionary(is.text),
    modelId: is.text,
    chart: flowChart,
  },
  /** `taskId`: what it is called. No task has the name. */
  Run: { workIdInJob: is.count, ...command, taskId: is.text },
};
export type PlannedLeaf = Tagged<"kind", typeof leaves>;
export type PlannedRef = Extract<PlannedLeaf, { kind: "Ref" }>;
export type PlannedFlow = Extract<PlannedLeaf, { kind: "Flow" }>;
export type PlannedTree = Work<number, PlannedLeaf>;

const tree = is.reference<PlannedTree>("work");
const condition = is.pair(is.flag, tree);
/** Referred to as `#/$defs/work`. */
export const plannedTree = is.tagged("kind", {
  ...leaves,
  Seq: { works: is.list(tree) },
  Par: { works: is.list(tree), onCrash },
  Each: {
    items,
    work: tree,
    parallel: is.optional(is.flag),
    atMost: is.optional(is.natural),
    sample: is.optional(is.flag),
    onCrash,
  },
  Loop: {
    preCondition: is.optional(condition),
    body: tree,
    postCondition: is.optional(condition),
    atMost: is.optional(is.natural),
    atMostReached: is.optional(is.words("fail", "succeed")),
  },
  Alt: { condition: tree, trueWork: is.optional(tree), falseWork: is.optional(tree) },
} satisfies Readonly<Record<Work["kind"], object>>);

const permissions = is.open<Permissions>(permissionsSchema);

export const fileStatus = is.words(
  "added",
  "modified",
  "deleted",
  "renamed",
  "copied",
  "type-changed",
  "unmerged",
);

const changedFile = is.record({
  /** Relative to the root of the repository, with slashes. */
  path: is.text,
  status: fileStatus,
  /** Lines; null in a binary file. */
  additions: is.nullable(is.count),
  deletions: is.nullable(is.count),
  /** Set if the file was renamed or copied. */
  previousPath: is.optional(is.text),
  isSubmodule: is.optional(is.yes),
  /** It may have changed, and a note says why its lines can't be shown. */
  isLeftOut: is.optional(is.yes),
});
export type ChangedFile = TypeOf<typeof changedFile>;

const change = is.record({
  /** A commit, or the empty tree of a first commit. */
  base: is.text,
  /** A commit. With `uncommitted`, what the working tree adds to it. */
  head: is.text,
  uncommitted: is.optional(is.yes),
  /** The path of its diff while the run lasts. */
  diffFile: is.text,
  count: is.count,
  /** The first ones. */
  files: is.list(changedFile),
  /** Sentences that say which parts are not shown, and why. */
  notes: is.optional(is.list(is.text)),
});
export type PlannedChange = TypeOf<typeof change>;

const instructions = is.record({
  /** Absent: they are files of a folder without git. */
  commit: is.optional(is.text),
  files: is.list(
    is.record({
      /** Relative to the root of the repository, with slashes. */
      path: is.text,
      /** The digest of the whole file, in hex. */
      sha256: is.text,
      /** The model gets only its beginning. */
      isCut: is.optional(is.yes),
    }),
  ),
});
export type PlannedInstructions = TypeOf<typeof instructions>;

/** What the plan only passes on, from whoever starts the run to whoever reads of it. */
const facts = {
  origin: is.optional(origin),
  inputs: is.optional(is.dictionary(is.text)),
  /** The notes of earlier runs, as they were found. */
  memory: is.optional(
    is.record({ file: is.text, max: is.natural, text: is.text, isKept: is.flag }),
  ),
  /** Its span, with telemetry: what continues it on another machine belongs to the same trace. */
  traceparent: is.optional(is.text),
  /** The spans of the run that it resumes, or of the shards that it merges. */
  links: is.optional(is.list(is.text)),
};
export type RunFacts = ObjectOf<typeof facts>;

export function factsOf(given: RunFacts): RunFacts;
export function factsOf(given: object): object {
  return Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(facts, name)));
}

export const plan = {
  ...facts,
  version: is.text,
  /** SHA-256 of the prepared entry, in hex; the same however the file is formatted. */
  entryFingerprint: is.text,
  /** A script played the model. */
  rehearsed: is.optional(is.yes),
  /** The model id of every category, after overrides. */
  models: is.dictionary(is.text),
  limits: plannedLimits,
  /** Permissions by task. A task in a borrowed session is absent: its lender decides. */
  permissions: is.dictionary(permissions),
  userInput: is.text,
  /** Tasks with the action protocol. Also those that the job only reaches by delegation. */
  actionTasks: is.optional(is.list(is.text)),
  /** The change that the job is about, if it uses it. */
  change: is.optional(change),
  /** Files of the repository that tasks got as instructions. */
  instructions: is.optional(instructions),
  /** The earlier findings of the job, if it uses them. */
  conversation: is.optional(conversation),
  outputs: is.optional(outputs),
  /** A resumed run must have the same. */
  fingerprints: is.optional(
    is.record({
      /** Covers the tree of works, without its models. */
      work: is.text,
      /** Covers each task that the job may run, without its model, and each workflow. */
      tasks: is.dictionary(is.text),
    }),
  ),
  /** The part of the job that it is: `plan`, one of its shards, or the merge of them. */
  part: is.optional(
    is.tagged("kind", {
      plan: { shards: is.optional(is.natural) },
      shard: { index: is.natural, count: is.natural, plan: is.text },
      /** `legs`: the runs of the merged shards. `planEvents`: the number of events of the plan. `earlier`: merges that it continues. */
      merge: {
        shards: is.natural,
        planEvents: is.count,
        legs: is.list(is.record({ leg: is.text, runId: is.text, finished: is.flag })),
        earlier: is.list(is.text),
      },
    }),
  ),
  /** The run that it resumes, with the spending until then. `events`: the number of copied events (`past`) that follow. */
  resumed: is.optional(
    is.record({
      runId: is.text,
      works: is.count,
      tokens: is.count,
      cost: is.amount,
      milliseconds: is.count,
      events: is.count,
    }),
  ),
  work: tree,
};
export type RunPlan = ObjectOf<typeof plan>;

/** Formats a shard as users write it: `2/4`. */
export function legName({ index, count }: { readonly index: number; readonly count: number }) {
  return `${index}/${count}`;
}
export type JobFingerprints = NonNullable<RunPlan["fingerprints"]>;

export interface PlannedWork {
  readonly workId: number;
  readonly taskId: string;
  /** A command has none. */
  readonly modelId: string | undefined;
  /** It is a condition, or a part of one: its failure is an answer. */
  readonly condition: boolean;
  readonly chart?: FlowChart;
}

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

/** The change in a few words: the number of files and both commits. */
export function changeText({ base, head, count, uncommitted }: PlannedChange): string {
  const [from, to] = [base, head].map((id) => truncate(id, 12));
  return `${plural(count, "changed file")} (${from}…${to}${uncommitted === true ? " and uncommitted work" : ""})`;
}

/** The change in one line, with what is not shown of it. */
export function andChange({ change }: { readonly change?: PlannedChange }): string {
  if (change === undefined) return "";
  const { notes = [] } = change;
  return [`, ${changeText(change)}`, ...notes].join(". ");
}

/** Each file with the SHA-256 of its content, and where they come from. Empty: there are none. */
export function instructionsText(
  { commit, files }: PlannedInstructions = { files: [] },
  digits = 64,
): string {
  if (files.length === 0) return "";
  const all = files.map(({ path, sha256 }) => `${path} (SHA-256 ${sha256.slice(0, digits)})`);
  return `${all.join(", ")} from ${commit === undefined ? "the working directory" : truncate(commit, 12)}`;
}

export function andInstructions({
  instructions,
}: {
  readonly instructions?: PlannedInstructions;
}): string {
  const text = instructionsText(instructions, 12);
  return text === "" ? "" : `. Instructions: ${text}`;
}
