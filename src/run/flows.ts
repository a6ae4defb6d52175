/** The workflows of a run. What reads and runs them is in `workflow-run.ts`, which is loaded with the first one. */
import type { Diagnostic } from "../document/diagnostic.ts";
import { suggestion } from "../document/suggest.ts";
import type { FlowSpec } from "../engine/flow.ts";
import type { ResolvedLimits } from "../engine/limits.ts";
import type { ToolSource } from "../engine/ports.ts";
import type { LoadedEntry } from "../entry/load-entry.ts";
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
import type { TextStream } from "../redaction/text-stream.ts";
import type { Script } from "../rehearsal/format/script.ts";
import type { Confinement } from "../sessions/confinement.ts";
import type { WorkflowFiles } from "../workflow/files.ts";
import type { Workflow } from "../workflow/model.ts";
import type { Answers, Asker } from "../workflow/run/ask.ts";
import type { Executor } from "../workflow/run/executor.ts";
import type { FlowResult } from "../workflow/run/run-flow.ts";
import { type Params, UsageError, type WriteName } from "./options.ts";
import type { ContinueOptions } from "./resume-job.ts";
import { hasSecretName } from "./secrets.ts";
import { allowedForPrograms } from "./variables.ts";
import { isWorkflowFile } from "./workflow-files.ts";
import type * as WorkflowRun from "./workflow-run.ts";

export type Flows = Readonly<Record<string, LoadedFlow>>;

export interface LoadedFlow {
  readonly workflow: Workflow;
  readonly files: WorkflowFiles;
  readonly warnings: readonly Diagnostic[];
  /** In place of the model that it names. */
  readonly modelOverride?: string;
  /** What runs it. */
  readonly code: Pick<
    typeof WorkflowRun,
    "flowSpec" | "modelOfParameters" | "promptsModels" | "startWorkflow"
  >;
}

export interface FlowReading {
  /** What the run may read of the environment, by name. */
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
  /** Those that are given, before any defaults. They are not prompts: a dollar is a dollar. */
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

/** None of a job that isn't there. */
export function leavesOfJob(entry: PreparedEntry, jobName: string): readonly LeafWork<number>[] {
  const work = entry.jobs[jobName]?.work;
  return work === undefined ? [] : leafWorks(work);
}

export function readingOf(
  {
    env,
    permissions,
  }: { readonly env?: readonly string[]; readonly permissions?: PermissionPreset },
  script: Script | undefined,
): FlowReading {
  return { environment: env, permissions: permissions ?? script?.permissions };
}

export interface WorkflowRunOptions {
  /** For an entry that is a workflow. */
  readonly params?: Params;
  /** Come before those of a rehearsal and of the front matter. */
  readonly answers?: Answers;
  /** Names of the environment that workflows may read, and that tools and MCP servers may be given. Default: none. */
  readonly env?: readonly string[];
  /** The journal of an earlier run of the job or workflow, which is to be continued. */
  readonly resume?: string;
  /** With `resume`: tasks that had not started may have changed. */
  readonly resumeAnyway?: boolean;
  /** With `resume`: reruns commands that were interrupted. */
  readonly rerun?: boolean;
  /** Asks a person what `answers` doesn't answer. Default: such an ASK fails. */
  readonly asker?: Asker;
  /** Run code fences of further tags, or those that there are in another way. */
  readonly executors?: readonly Executor[];
  readonly onResult?: (result: FlowResult) => void;
}

export function checkEntryOptions(
  entryFile: string,
  options: WorkflowRunOptions &
    ContinueOptions & { readonly jobName?: string; readonly record?: string | undefined },
  write: WriteName,
): void {
  const { params = {}, resume, resumeAnyway, rerun, jobName, record } = options;
  const isPart = options.plan === true || (options.shard ?? options.journals) !== undefined;
  const isWorkflow = isWorkflowFile(entryFile);
  const problems: readonly (readonly [applies: boolean, problem: string])[] = [
    [isWorkflow && isPart, `${entryFile} is a workflow, which can't be split into shards.`],
    [isWorkflow && jobName !== undefined, "A workflow has no jobs. Name only the file."],
    [
      !isWorkflow && Object.keys(params).length > 0,
      `Only a workflow (*.wf.md) has parameters, but ${write("param")} is given for the entry ${entryFile}.`,
    ],
    [rerun === true && resume === undefined, `${write("rerun")} requires ${write("resume")}.`],
    [
      resumeAnyway === true && resume === undefined,
      `${write("resume-anyway")} requires ${write("resume")}.`,
    ],
    [
      resume !== undefined && record !== undefined,
      `${write("record")} can't be combined with ${write("resume")}: a recording needs the run from its beginning.`,
    ],
  ];
  const [, problem] = problems.find(([applies]) => applies) ?? [];
  if (problem !== undefined) throw new UsageError(problem);
}

export function checkFlowOptions(
  entry: PreparedEntry,
  jobName: string,
  { answers = {}, history }: WorkflowRunOptions & { readonly history?: string | undefined },
  write: WriteName,
): void {
  const option = Object.keys(answers).length > 0 ? "answer" : "history";
  if ((option === "history" && history === undefined) || hasFlow(entry, jobName)) return;
  throw new UsageError(
    `${write(option)} is only for workflows, and the job ${JSON.stringify(jobName)} has none.`,
  );
}

export function hasFlow(entry: PreparedEntry, jobName: string): boolean {
  return leavesOfJob(entry, jobName).some(({ kind }) => kind === "Flow");
}

/** `unread`: those that no workflow reads, so that they can't end up in prompts. */
export function environmentWarnings(
  names: readonly string[] = [],
  environment: Readonly<Record<string, string | undefined>>,
  unread: readonly string[],
): readonly Diagnostic[] {
  return names.flatMap((name): Diagnostic[] => {
    const warning = { codePath: "", severity: "warning" } as const;
    if (environment[name] === undefined) {
      const set = Object.keys(environment).filter((other) => environment[other] !== undefined);
      const reason = `The environment has no variable ${JSON.stringify(name)}.`;
      return [{ ...warning, reason, ...suggestion(name, set) }];
    }
    if (unread.includes(name) || !hasSecretName(name)) return [];
    const reason = `Workflows may read ${name}, which has the name of a secret. A prompt that contains it goes to the model.`;
    return [{ ...warning, reason }];
  });
}
