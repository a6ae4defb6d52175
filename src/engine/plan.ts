/** What the engine is given to run (`JobSpec`, `TaskSpec`), and the plan that `run.started` contains. */
import {
  idOf,
  workflowLimits,
  type FlowWork,
  type LeafWork,
  type Limits,
  type Model,
  type ModelLimits,
  type Outputs,
  type Permissions,
  type PreparedEntry,
  type ProviderSettings,
  type Work,
} from "../entry/model.ts";
import { promptText } from "../entry/prompt.ts";
import { leafName, leafWorks, mapLeaves } from "../entry/work.ts";
import {
  factsOf,
  type ChangedFile,
  type JobFingerprints,
  type PlannedChange,
  type PlannedInstructions,
  type PlannedLeaf,
  type PlannedLimit,
  type PlannedLimits,
  type RunFacts,
  type RunPlan,
} from "../events/plan.ts";
import type { Conversation, PreviousFinding } from "../events/output-shapes.ts";
import type { DialogueSpec } from "./dialogue.ts";
import type { FanOut } from "./fan-out.ts";
import type { FlowSpec } from "./flow.ts";
import type { ResolvedLimits } from "./limits.ts";
import type { PastRun } from "./past.ts";
import type { OutputChecks, Session, ToolSource, Workspace } from "./ports.ts";
import { Variables } from "./variables.ts";

export interface RunSpec extends RunFacts {
  readonly entry: PreparedEntry;
  readonly version: string;
  readonly entryFingerprint: string;
  readonly entryFile?: string;
  readonly userInput: string;
  /** Runtime variables, by name without `$`. */
  readonly values?: Readonly<Record<string, string>>;
  readonly change?: RunChange;
  readonly instructions?: PlannedInstructions;
  /** Instructions of the repository for a task. */
  readonly instructionsOf?: (taskId: string) => string | undefined;
  readonly conversation?: Conversation;
  /** The earlier findings that tools may name. */
  readonly previous?: readonly PreviousFinding[];
  readonly workingDirectory: string;
  readonly limits: ResolvedLimits;
  /** By the ids of models. */
  readonly modelLimits?: Readonly<Record<string, ModelLimits>>;
  /** With the values of its headers. */
  readonly modelServer?: ProviderSettings;
  readonly permissionsOf: (taskId: string) => Permissions;
  readonly flows?: Readonly<Record<string, FlowSpec>>;
  readonly workspace?: Workspace;
  readonly resultChecks?: Readonly<Record<string, (value: unknown) => Promise<readonly string[]>>>;
  readonly outputs?: Outputs;
  /** Absent: neither findings nor proposals can be handed in. */
  readonly outputChecks?: OutputChecks;
  readonly toolSource?: ToolSource;
  readonly fingerprintsOf?: (jobName: string) => JobFingerprints;
  readonly past?: PastRun;
  readonly fanOut?: FanOut;
  readonly dialogues?: Readonly<Record<string, DialogueSpec>>;
}

export interface JobSpec extends RunSpec {
  readonly jobName: string;
}

export interface TaskSpec extends RunSpec {
  readonly taskName: string;
  readonly modelOverride?: string;
  readonly borrowed?: Session;
  readonly ignorePrerequisiteCheck: boolean;
}

export interface RunChange {
  readonly planned: PlannedChange;
  readonly files: readonly ChangedFile[];
  /** Holds the diff; all sessions and programs of the run may read it. */
  readonly folder: string;
}

export function toolSourcesOf({ toolSource, flows = {} }: RunSpec): readonly ToolSource[] {
  const all = [toolSource, ...Object.values(flows).map((flow) => flow.toolSource)];
  return [...new Set(all)].filter((source) => source !== undefined);
}

export function openedBy(spec: RunSpec): readonly Pick<ToolSource, "close">[] {
  const { workspace } = spec;
  return [...toolSourcesOf(spec), ...(workspace === undefined ? [] : [workspace])];
}

export function planOf(spec: JobSpec | TaskSpec, work: Work<number>): RunPlan {
  const { entry, version, entryFingerprint, limits, userInput, past, flows } = spec;
  const { models } = entry;
  const leaves = leafWorks(work);
  const borrowed = "borrowed" in spec ? spec.borrowed : undefined;
  // Whoever lends a session decides what it may do.
  const agents = borrowed === undefined ? leaves.filter(({ kind }) => kind !== "Run") : [];
  const ids = Object.entries(models).map(([category, model]) => [category, idOf(model)]);
  const actionTasks = Object.keys(spec.dialogues ?? {});
  return {
    ...factsOf(spec),
    version,
    entryFingerprint,
    models: { ...Object.fromEntries(ids), driving: idOf(models.driving) },
    limits: limitsOf(
      limits,
      leaves.some(({ kind }) => kind === "Flow"),
    ),
    userInput,
    ...(actionTasks.length === 0 ? {} : { actionTasks }),
    outputs: spec.outputs,
    change: spec.change?.planned,
    instructions: spec.instructions,
    conversation: spec.conversation,
    work: mapLeaves<number, number, PlannedLeaf>(work, (leaf) => plannedLeaf(spec, leaf)),
    fingerprints: "jobName" in spec ? spec.fingerprintsOf?.(spec.jobName) : undefined,
    part: spec.fanOut?.part,
    resumed: past && resumedOf(past),
    permissions: Object.fromEntries(
      agents
        .map(leafName)
        .map((name) => [name, flows?.[name]?.permissions ?? spec.permissionsOf(name)]),
    ),
  };
}

function resumedOf({ runId, works, events, ...spent }: PastRun): RunPlan["resumed"] {
  const { tokens, cost, milliseconds } = spent;
  const { count = 0 } = events ?? {};
  return { runId, works: works.length, tokens, cost, milliseconds, events: count };
}

function plannedLeaf(spec: JobSpec | TaskSpec, leaf: LeafWork<number>): PlannedLeaf {
  const modelId = modelOfLeaf(spec, leaf);
  if (leaf.kind === "Ref") return { ...leaf, modelId };
  if (leaf.kind === "Run") return { ...leaf, taskId: leafName(leaf) };
  // Nothing has run yet: the plan shows such a variable itself.
  const ofJob = (name: string): string => spec.values?.[name] ?? `$${name}`;
  const known = { userInput: spec.userInput, previousResult: "$previous-result", ofJob };
  const variables = new Variables(spec.entry, { ...known, taskModel: modelId });
  const { chart } = flowOf(spec, leaf);
  const params = paramsOf(spec, leaf, variables);
  return { ...leaf, taskId: leaf.file, params, modelId, chart };
}

/** Throws if it has not been loaded: whoever makes a spec loads all workflows of the entry. */
export function flowOf({ flows = {} }: RunSpec, { file }: FlowWork<number>): FlowSpec {
  const flow = Object.hasOwn(flows, file) ? flows[file] : undefined;
  if (flow === undefined) throw new Error(`The workflow ${file} has not been loaded.`);
  return flow;
}

export function paramsOf(
  spec: RunSpec,
  leaf: FlowWork<number>,
  variables: Variables,
): Record<string, string> {
  const own = Object.entries(leaf.params ?? {}).map(([name, prompt]): [string, string] => [
    name,
    variables.expand([promptText(prompt)]),
  ]);
  return { ...Object.fromEntries(own), ...flowOf(spec, leaf).params };
}

function limitsOf(limits: ResolvedLimits, hasWorkflow: boolean): PlannedLimits {
  const planned = (name: keyof Limits): PlannedLimit => ({
    value: Number.isFinite(limits[name]) ? limits[name] : null,
    source: limits.setBy?.[name] ?? "default",
  });
  const isSet = (name: keyof Limits): boolean => limits.setBy?.[name] !== undefined;
  const ofWorkflows = workflowLimits.filter((name) => hasWorkflow || isSet(name));
  const others = (["runsPerDay", "runsPerActorPerDay", "rateLimitMinutes"] as const).filter(isSet);
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
    ...Object.fromEntries([...ofWorkflows, ...others].map((name) => [name, planned(name)])),
  };
}

/** Everything runs in a session that was lent, whatever the task would have had. A command has no model. */
export function modelOfLeaf(spec: JobSpec | TaskSpec, leaf: LeafWork<number>): string {
  if (leaf.kind === "Run") return "";
  if (leaf.kind === "Flow") return flowOf(spec, leaf).modelId;
  const lent = "borrowed" in spec ? spec.borrowed?.modelId : undefined;
  return lent ?? modelOf(spec.entry, leaf.taskId, leaf.modelOverride);
}

/** Statement 9 of docs/internals/engine.md: the override of the work, else the task's own model, else the driving model. */
export function modelOf(entry: PreparedEntry, taskId: string, override: Model | undefined): string {
  const model = override ?? entry.tasks[taskId]?.model;
  if (model !== undefined && "id" in model) return model.id;
  return idOf(entry.models[model?.category ?? "driving"] ?? entry.models.driving);
}
