/** Reads, starts and runs workflows. Loaded with the first workflow of a process. */
import { defined } from "../text/guards.ts";
import { basename, isAbsolute, join, resolve } from "node:path";
import { type Diagnostic, DiagnosticsError } from "../document/diagnostic.ts";
import type { ToolSource } from "../engine/ports.ts";
import type { FlowSpec } from "../engine/plan.ts";
import { partLimits, type ResolvedLimits } from "../engine/limits.ts";
import type { PastRun } from "../engine/past.ts";
import { idOf, type PermissionPreset, type PreparedEntry } from "../entry/model.ts";
import type { LoadedEntry } from "../entry/prepare.ts";
import { allowsCommands } from "../permissions/rules.ts";
import { realPathOf, removeDirectory } from "../platform/files.ts";
import type { Clock } from "../platform/clock.ts";
import type { Environment } from "../platform/environment.ts";
import { makeRunFolder } from "../platform/run-folder.ts";
import { EventLoopYielder } from "../platform/waiting.ts";
import type { TextStream } from "../redaction/secret-search.ts";
import type { Confinement } from "../sessions/confinement.ts";
import { realFiles } from "../sessions/permission-handler.ts";
import { executes, flowChartOf, promptsModels } from "../workflow/describe.ts";
import type { Answers, Asker, Workflow, WorkflowFiles } from "../workflow/model.ts";
import { bindParameters, modelOfParameters, USER_INPUT } from "../workflow/parameters.ts";
import {
  type LoadedWorkflow,
  type LoadOptions,
  loadWorkflow as loadFrom,
} from "../workflow/read/load-workflow.ts";
import { beginRun, restoreRun } from "../workflow/run/machine.ts";
import type { Executor } from "../workflow/run/executors.ts";
import { type FlowResult, runFlow } from "../workflow/run/run-flow.ts";
import { ScriptRunner, scriptTags } from "../workflow/run/script-runner.ts";
import { permissionsOfFlow } from "./callers.ts";
import { workflowFingerprint } from "./fingerprint.ts";
import { refusing } from "./past-run.ts";
import type { Params, WriteName } from "./options.ts";
import { allowedForPrograms, type AllowedVariables } from "./variables.ts";
import { filesAround, readValue, warningChecks } from "./workflow-files.ts";

export type Flows = Readonly<Record<string, LoadedFlow>>;

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
  /** Gets the absolute path of each file that is looked for. */
  readonly seen?: ((path: string) => void) | undefined;
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

export type WorkflowOptions = Pick<
  LoadOptions,
  "environment" | "permissions" | "categories" | "declared"
>;

/**
 * The text of a workflow file, with all files that it calls and includes, checked and prepared, or every problem at
 * its line and column. Other files are read relative to `file`, which need not exist.
 */
export function loadWorkflow(
  text: string | Uint8Array,
  file: string,
  options: WorkflowOptions = {},
): LoadedWorkflow {
  const { id, files } = filesAround(file);
  return loadFrom(text, file, { ...options, id, files, checks: warningChecks });
}

/** The text of a workflow, checked with the permissions that its run will have. Throws `DiagnosticsError`. */
export function loadFlow(
  text: string | Uint8Array,
  file: string,
  entry: Pick<PreparedEntry, "permissions" | "models" | "tools" | "mcpServers"> | undefined,
  { environment = [], permissions, seen }: FlowReading,
): LoadedFlow {
  const { models = {}, ...declared } = entry ?? {};
  const { id, files } = filesAround(file, { seen });
  const loaded = loadFrom(text, file, {
    id,
    files,
    checks: warningChecks,
    environment,
    categories: Object.keys(models),
    declared,
    permissions: (settings) => permissionsOfFlow({ settings }, entry ?? {}, permissions),
  });
  if (loaded.kind === "rejected") throw new DiagnosticsError(loaded.diagnostics);
  const { workflow, warnings } = loaded;
  return new LoadedFlow(workflow, files, warnings);
}

/** Reads the workflows of all jobs. Problems are reported where a job names the file. Throws `DiagnosticsError`. */
export function loadFlows(
  { entry, leaves, file, locate }: Pick<ReadEntry, "entry" | "leaves"> & Partial<ReadEntry>,
  folder: string,
  reading: FlowReading,
): { readonly flows: Flows; readonly warnings: readonly Diagnostic[] } {
  const flows: Record<string, LoadedFlow> = Object.create(null);
  const known = new Set<string>();
  const found: Diagnostic[] = [];
  for (const { path, codePath, work } of leaves) {
    const name = work.file;
    const place = { ...defined({ file }), ...locate?.([...path, "file"]), codePath };
    if (!known.has(name)) {
      known.add(name);
      const read = readFlow(isAbsolute(name) ? name : join(folder, name), entry, reading);
      if ("workflow" in read) flows[name] = read;
      else found.push({ ...place, reason: read.reason });
      found.push(...read.warnings);
    }
    const flow = flows[name];
    if (flow === undefined) continue;
    // Which values they have is known when the job runs; the user input is always there.
    const names = [...Object.keys(work.params ?? {}), USER_INPUT];
    const values = Object.fromEntries(names.map((one) => [one, ""]));
    const bound = bindParameters(flow.workflow, values);
    if (bound.kind === "incomplete") {
      for (const { reason } of bound.diagnostics)
        found.push({ ...place, reason, hint: "add it to params" });
    } else for (const warning of bound.warnings) found.push({ ...warning, ...place });
  }
  const errors = found.filter(({ severity }) => severity !== "warning");
  if (errors.length > 0) throw new DiagnosticsError(errors);
  return { flows, warnings: found };
}

function readFlow(
  file: string,
  entry: PreparedEntry,
  reading: FlowReading,
): LoadedFlow | { readonly reason: string; readonly warnings: readonly Diagnostic[] } {
  const { id, files } = filesAround(file, reading);
  const found = files.read(basename(file), id);
  if (found.kind !== "found")
    return { reason: `Can't read the workflow: ${found.reason}`, warnings: [] };
  try {
    return loadFlow(found.content, file, entry, reading);
  } catch (error) {
    if (!(error instanceof DiagnosticsError)) throw error;
    const { diagnostics } = error;
    const count = diagnostics.length === 1 ? "an error" : `${diagnostics.length} errors`;
    return { reason: `The workflow has ${count}.`, warnings: diagnostics };
  }
}

export function entryOfWorkflow(flow: LoadedFlow, file: string): ReadEntry {
  const { workflow, warnings } = flow;
  const { model, models = {}, permissions, limits, tools, mcpServers } = workflow.settings;
  const { provider } = workflow.settings;
  const name = basename(file);
  const driving = models["driving"] ?? (model !== undefined && "id" in model ? model.id : "");
  const main = workflow.files[workflow.main];
  const at = main?.activities.get(main.start)?.at ?? { line: 1, column: 1 };
  return {
    kind: "loaded",
    entry: {
      models: { ...models, driving },
      tasks: {},
      jobs: {
        [name]: { requireUserInput: false, work: { kind: "Flow", workIdInJob: 0, file: name } },
      },
      ...defined({ provider, permissions, limits, tools, mcpServers }),
    },
    file,
    locate: () => at,
    locateTask: () => at,
    warnings,
    leaves: [],
    flows: { [name]: flow },
    whole: name,
  };
}

export class LoadedFlow {
  readonly workflow: Workflow;
  readonly files: WorkflowFiles;
  readonly warnings: readonly Diagnostic[];
  readonly #model: string | undefined;

  /** `model`: in place of the one that it names. */
  constructor(
    workflow: Workflow,
    files: WorkflowFiles,
    warnings: readonly Diagnostic[] = [],
    model?: string,
  ) {
    this.workflow = workflow;
    this.files = files;
    this.warnings = warnings;
    this.#model = model;
  }

  withModel(model: string): LoadedFlow {
    return new LoadedFlow(this.workflow, this.files, this.warnings, model);
  }

  /** The model of its agents: its own, or the driving model, or what a parameter names. `params`: those that are given. */
  modelIn(entry: PreparedEntry, params?: Params): string {
    if (this.#model !== undefined) return this.#model;
    const { model, models = {} } = this.workflow.settings;
    const driving = idOf(entry.models.driving);
    if (model === undefined) return driving || modelOfParameters(this.workflow, params);
    if ("id" in model) return model.id;
    return idOf(entry.models[model.category] ?? models[model.category] ?? driving);
  }

  get promptsModels(): boolean {
    return promptsModels(this.workflow);
  }

  /** Throws `UsageError` or `DiagnosticsError` if the workflow, which is the whole job, can't begin like this. */
  begin(options: WorkflowStart): {
    readonly whole: WholeFlow;
    readonly warnings: readonly Diagnostic[];
  } {
    const { resumed, onResult, entry, limits, executors, userInput } = options;
    const refuse = refusing(options);
    const params = resumed?.params ?? options.params;
    const bound = bindParameters(this.workflow, withUserInput(params, userInput));
    if (bound.kind === "incomplete") throw new DiagnosticsError(bound.diagnostics);
    const { variables, warnings } = bound;
    if (resumed?.isOver === true)
      throw refuse("The run has ended: FAILED. There is nothing to resume.");
    const [underWay] = resumed?.past.underWay ?? [];
    if (underWay !== undefined) {
      const environment = allowedForPrograms(entry, options);
      const machine = { environment, limits, tags: scriptTags({ executors }) };
      const found = restoreRun(this.workflow, machine, { variables, userInput }, underWay);
      if (found.kind === "refused") throw refuse(found.reason);
    }
    return { whole: { params, onResult }, warnings };
  }

  spec(environment: Readonly<Record<string, string>>, options: FlowOptions): FlowSpec {
    const { entry, whole } = options;
    const { workflow, files } = this;
    const { settings } = workflow;
    const modelId = this.modelIn(entry, whole?.params);
    const permissions = permissionsOfFlow(workflow, entry, options.permissions);
    const toolSource = options.toolSourceOf(this);
    // If the whole job is a workflow, its limits are those of the job.
    const own = whole === undefined ? settings.limits : undefined;
    const limits = partLimits(options.limits, own, workflow.file);
    return {
      modelId,
      permissions,
      toolSource,
      chart: { ...flowChartOf(workflow), fingerprint: workflowFingerprint(workflow) },
      params: whole?.params,
      run: async (context) => {
        const { userInput } = context;
        const bound = bindParameters(workflow, withUserInput(context.params, userInput));
        if (bound.kind === "incomplete") {
          const reason = bound.diagnostics.map((one) => one.reason).join(" ");
          return { kind: "failed", reason, answer: false };
        }
        const { executors } = options;
        const { past, ports, work } = context;
        const start = { variables: bound.variables, userInput };
        const machineOptions = { environment, limits, tags: scriptTags({ executors }) };
        const found = past && restoreRun(workflow, machineOptions, start, past);
        if (found?.kind === "refused") {
          const text = `The workflow starts again. ${found.reason}`;
          ports.emit({ type: "decision", work, decision: { kind: "note", text } });
        }
        const begun =
          found?.kind === "restored" ? found : beginRun(workflow, machineOptions, start);
        // Executors of the host run scripts by themselves.
        if (executes(workflow) && allowsCommands(permissions) && executors === undefined) {
          const refusal = await options.confinement?.refusal(permissions);
          if (refusal !== undefined)
            return { kind: "failed", reason: refusal.message, answer: false };
        }
        const workingDirectory = resolve(context.workingDirectory);
        const folder = await makeRunFolder("workflow-", options.mark);
        let scripts: ScriptRunner | undefined;
        try {
          const { confinement, readable } = options;
          scripts = new ScriptRunner({
            folder,
            workingDirectory: realPathOf(workingDirectory),
            permissions,
            files: realFiles,
            environment: options.environment,
            variables: environment,
            limits,
            clock: options.clock,
            redact: options.redact,
            state: begun.shell,
            confine:
              confinement &&
              ((own) =>
                confinement.ofProgram(
                  permissions,
                  { workingDirectory: context.workingDirectory, readable },
                  { readable: [own] },
                )),
            executors,
          });
          const flowRun = {
            workflow,
            modelId,
            permissions,
            toolSource,
            limits,
            answers: { ...settings.answers, ...options.answers },
            ask: options.ask,
            scripts,
            read: (path: string, from: string) =>
              readValue(files.read(path, from), permissions, workingDirectory),
            begun,
            onResult: whole?.onResult,
            yielder: new EventLoopYielder(),
          };
          return await runFlow(flowRun, context);
        } finally {
          await scripts?.close();
          await removeDirectory(folder.path).catch(() => undefined);
        }
      },
    };
  }
}

export function withUserInput(
  params: Readonly<Record<string, string>>,
  userInput: string,
): Readonly<Record<string, string>> {
  return userInput === "" ? params : { [USER_INPUT]: userInput, ...params };
}
