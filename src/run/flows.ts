/** The workflows of a run. What reads and runs them is in `workflow-run.ts`, which is loaded with the first one. */
import type { Diagnostic } from "../document/diagnostic.ts";
import type { FlowSpec } from "../engine/flow.ts";
import type { ResolvedLimits } from "../engine/limits.ts";
import type { PastRun } from "../engine/past.ts";
import type { ToolSource } from "../engine/ports.ts";
import type { LoadedEntry } from "../entry/prepare.ts";
import {
  idOf,
  type LeafWork,
  type ModelLimits,
  type PermissionPreset,
  type PreparedEntry,
} from "../entry/model.ts";
import { leafWorks } from "../entry/work.ts";
import type { Clock } from "../platform/clock.ts";
import type { Environment } from "../platform/environment.ts";
import type { TextStream } from "../redaction/secret-search.ts";
import type { Confinement } from "../sessions/confinement.ts";
import type { Answers, Asker, Workflow, WorkflowFiles } from "../workflow/model.ts";
import type { Executor } from "../workflow/run/executors.ts";
import type { FlowResult } from "../workflow/run/run-flow.ts";
import { type Params, UsageError, type WriteName } from "./options.ts";
import { allowedForPrograms, type AllowedVariables } from "./variables.ts";

export type Flows = Readonly<Record<string, LoadedFlow>>;

export interface LoadedFlow {
  readonly workflow: Workflow;
  readonly files: WorkflowFiles;
  readonly warnings: readonly Diagnostic[];
  /** In place of the model that it names. */
  readonly modelOverride?: string;
  readonly code: FlowCode;
}

interface FlowCode {
  flowSpec(
    this: void,
    flow: LoadedFlow,
    environment: Readonly<Record<string, string>>,
    options: FlowOptions,
  ): FlowSpec;
  modelOfParameters(this: void, workflow: Workflow, params?: Params): string;
  promptsModels(this: void, workflow: Workflow): boolean;
  startWorkflow(
    this: void,
    flow: LoadedFlow,
    options: WorkflowStart,
  ): { readonly whole: WholeFlow; readonly warnings: readonly Diagnostic[] };
}

export interface WorkflowStart extends AllowedVariables {
  readonly params: Params;
  readonly userInput: string;
  readonly resumed:
    | { readonly params: Params | undefined; readonly isOver: boolean; readonly past: PastRun }
    | undefined;
  readonly onResult?: WholeFlow["onResult"];
  readonly executors?: readonly Executor[] | undefined;
  /** With overridden models. */
  readonly entry: PreparedEntry;
  readonly limits: ResolvedLimits;
  readonly resume?: string | undefined;
  readonly write?: WriteName | undefined;
}

export interface FlowReading {
  /** Names of environment variables that the run may read. */
  readonly environment?: readonly string[] | undefined;
  /** Default permissions, and an upper bound for all others. */
  readonly permissions?: PermissionPreset | undefined;
}

export type ReadEntry = Extract<LoadedEntry, { kind: "loaded" }> & {
  readonly flows: Flows;
  /** The file is this workflow, not an entry. */
  readonly whole?: string;
};

export interface ProgramSettings {
  readonly environment: Environment;
  readonly env?: readonly string[] | undefined;
  readonly mark?: string | undefined;
  readonly confinement?: Confinement | undefined;
  /** Folders that they may read in any case. Absolute. */
  readonly readable?: readonly string[];
  readonly redact: () => TextStream;
  readonly clock: Clock;
}

export interface FlowInputs {
  readonly entry: PreparedEntry;
  readonly limits: ResolvedLimits;
  readonly permissions: PermissionPreset | undefined;
  readonly answers?: Answers | undefined;
  readonly ask?: Asker | undefined;
  readonly executors?: readonly Executor[] | undefined;
  /** The job is this workflow and nothing else. */
  readonly whole?: WholeFlow | undefined;
}

export interface FlowOptions extends FlowInputs, ProgramSettings {
  readonly toolSourceOf: (flow: LoadedFlow) => ToolSource | undefined;
}

export interface WholeFlow {
  /** The given parameters, before any defaults. They are not prompts: a dollar is a dollar. */
  readonly params: Readonly<Record<string, string>>;
  readonly onResult?: ((result: FlowResult) => void) | undefined;
}

export function flowSpecs(flows: Flows, options: FlowOptions): Readonly<Record<string, FlowSpec>> {
  const specs: Record<string, FlowSpec> = Object.create(null);
  const environment = allowedForPrograms(options.entry, options, flows);
  for (const [name, flow] of Object.entries(flows))
    specs[name] = flow.code.flowSpec(flow, environment, options);
  return specs;
}

/** The model of its agents: its own, or the driving model, or what a parameter names. `params`: those that are given. */
export function modelOfFlow(
  { workflow, modelOverride, code }: LoadedFlow,
  entry: PreparedEntry,
  params?: Readonly<Record<string, string>>,
): string {
  if (modelOverride !== undefined) return modelOverride;
  const { model, models = {} } = workflow.settings;
  const driving = idOf(entry.models.driving);
  if (model === undefined) return driving || code.modelOfParameters(workflow, params);
  if ("id" in model) return model.id;
  return idOf(entry.models[model.category] ?? models[model.category] ?? driving);
}

export function withModelOfFlows(flows: Flows, modelOverride: string): Flows {
  return Object.fromEntries(
    Object.entries(flows).map(([name, flow]) => [name, { ...flow, modelOverride }]),
  );
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
    if (flow === undefined || !flow.code.promptsModels(flow.workflow)) return false;
    if (modelOfFlow(flow, entry, params) !== "") return true;
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
