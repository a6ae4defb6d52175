/** A job, before it runs: options in, checked input out. Everything that can be wrong beforehand is thrown here. */
import type { PlannedMemory } from "../events/memory.ts";
import type { Origin } from "../events/output-shapes.ts";
import { resolve } from "node:path";
import type { Diagnostic } from "../document/diagnostic.ts";
import type { Transition } from "../engine/ports.ts";
import { type LimitSources, resolveLimits, setBy } from "../engine/limits.ts";
import type { Limits } from "../entry/model.ts";
import { outputsOf } from "../entry/outputs.ts";
import type { Reporter } from "../events/sink.ts";
import { defined } from "../text/guards.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { fillIn } from "../rehearsal/format/names.ts";
import type { TerminalOptions } from "../reports/terminal/terminal-reporter.ts";
import type { Runtimes } from "../sessions/request-handler.ts";
import type { Asker } from "../workflow/model.ts";
import type { Executor } from "../workflow/run/executors.ts";
import type { FlowResult } from "../workflow/run/run-flow.ts";
import { permissionScopes, checkSandboxOption, gitSandbox, mayChangeFiles } from "./callers.ts";
import {
  checkNames,
  chooseJob,
  overrideModels,
  readEntry,
  readRehearsal,
  readText,
  userInputWarnings,
} from "./entry-files.ts";
import {
  checkEntryOptions,
  checkFlowOptions,
  environmentWarnings,
  hasFlow,
  readingOf,
} from "./entry-options.ts";
import { type Flows, type ReadEntry, withModelOfFlows } from "./flows.ts";
import { subjectOfJob, type ChangeOptions } from "./job-change.ts";
import type { RunOnHostOptions } from "./host.ts";
import {
  ALL_MODELS,
  asFlag,
  type Inputs,
  inputsOf,
  missingUserInput,
  type Models,
  UsageError,
  type WriteName,
} from "./options.ts";
import { checkWorkingDirectory } from "./options-paths.ts";
import type { FieldsOn } from "./option-table.ts";
import type { ModelAccess } from "./options-provider.ts";
import { lockFile } from "../platform/own-file.ts";
import type { continueJob, ContinueOptions, ResumedJob } from "./resume-job.ts";
import { readMemory } from "./memory.ts";
import { withPrices } from "./prices.ts";
import { checkRecords, recordFiles, recordPaths, type RecordPaths } from "./records.ts";
import type { Run } from "./run-spec.ts";
import type { TelemetryTarget } from "./telemetry-target.ts";
import { checkVariablesOfJob, reservedEnvNames } from "./variables.ts";
import { isPromptFile } from "./workflow-files.ts";
import { workFolder } from "./working-copy.ts";

/** The options of a run, besides its entry. Paths are relative to the current directory. */
export interface RunOptions extends FieldsOn<"run">, ModelAccess, ChangeOptions, ContinueOptions {
  /** Absent with `prompt` or `promptFile`, which are the job themselves. */
  readonly entryFile?: string | undefined;
  /** Names the entry in the journal and reports, if its file is only a copy. */
  readonly entryName?: string | undefined;
  /** The job of the entry. Names the one of a prompt. */
  readonly jobName?: string | undefined;
  readonly origin?: Origin | undefined;
  /** The leg of a matrix. With `resume`, that of the journal must be the same. */
  readonly leg?: string | undefined;
  readonly limits?: Limits;
  /** The option or input that set each of them, as the user wrote it. */
  readonly limitNames?: LimitSources;
  /** How to write an option's name in an error. Default: as the command line does, `--user-input`. */
  readonly write?: WriteName;
  /** With `rehearse`: throws if the sessions may not work in this folder, which the rehearsal may have named. */
  readonly checkFolder?: (folder: string) => Promise<void>;
  /** MCP servers start in an empty folder, because the working directory may hold untrusted files. */
  readonly isolateServers?: boolean;
  /** With `rehearse`: its `expect` decides how the run ended, as for `agent-jobs rehearse`. Default: `expect` is ignored. */
  readonly honorExpectations?: boolean;
  /** The script says only what the run begins with: the models are asked, and its `expect` is left to the caller. */
  readonly live?: boolean | undefined;
  /** Whether what tasks note is kept for later runs. Default: true; never of a rehearsal, or of a part of a job. */
  readonly remembers?: boolean;
  /** Asks a person what `answers` doesn't answer. Default: such an ASK fails. */
  readonly asker?: Asker;
  /** Run code fences of further tags, or those that there are in another way. */
  readonly executors?: readonly Executor[];
  readonly onResult?: (result: FlowResult) => void;
  readonly gateTurns?: RunOnHostOptions["gateTurns"];
  readonly terminal?: Omit<TerminalOptions, "clock">;
  readonly reporters?: readonly Reporter[];
  readonly telemetry?: TelemetryTarget | undefined;
  readonly onTransition?: ((transition: Transition) => void) | undefined;
  readonly runtimes?: Runtimes | undefined;
  /** A random id that every process of the run carries in its environment as `AGENT_JOBS_RUN`. Default: a new one. */
  readonly mark?: string;
}

export type SettledEntry = Pick<
  Run,
  "entry" | "originalEntry" | "limits" | "permissions" | "env" | "answers" | "executors"
> & { readonly flows: Flows };

export function settleEntry(
  { entry, flows, whole }: Pick<ReadEntry, "entry" | "flows" | "whole">,
  options: Pick<
    RunOptions,
    | "models"
    | "permissions"
    | "limits"
    | "limitNames"
    | "env"
    | "environment"
    | "answers"
    | "executors"
  >,
  script: Script | undefined,
): SettledEntry {
  const { env, executors, environment } = options;
  const models: Models = { ...script?.models, ...options.models };
  // A workflow that is the whole job has one model, whatever it calls it.
  const model = models[ALL_MODELS] ?? (whole && models["driving"]);
  return {
    entry: withPrices(overrideModels(entry, models), environment),
    originalEntry: entry,
    flows: model === undefined ? flows : withModelOfFlows(flows, model),
    limits: resolveLimits(
      { ...entry.limits, setBy: setBy(entry.limits, whole ?? "the entry") },
      script && { ...script.limits, setBy: setBy(script.limits, script.file) },
      { ...options.limits, setBy: options.limitNames },
    ),
    permissions: options.permissions ?? script?.permissions,
    env,
    answers: { ...script?.answers, ...options.answers },
    executors,
  };
}

interface BegunJob extends Pick<PreparedRun, "past" | "fanOut" | "limits"> {
  readonly userInput: string | undefined;
  readonly resumed?: ResumedJob | undefined;
  readonly notes: readonly string[];
  /** Set if the whole job is a workflow. */
  readonly whole?: PreparedRun["whole"];
  readonly warnings?: readonly Diagnostic[];
}

/** Throws `UsageError` or `DiagnosticsError` if the job can't begin, or can't continue, like this. */
export async function beginJob(
  { flows, whole = "" }: Pick<ReadEntry, "flows" | "whole">,
  settled: SettledEntry,
  jobName: string,
  options: Parameters<typeof continueJob>[2] &
    Pick<RunOptions, "onResult" | "environment"> & { readonly script: Script | undefined },
): Promise<BegunJob> {
  const { script, onResult, environment, rehearses, write = asFlag } = options;
  const flow = Object.hasOwn(flows, whole) ? flows[whole] : undefined;
  const job = {
    entry: settled.originalEntry ?? settled.entry,
    limits: settled.limits,
    jobName,
    flows,
    whole: flow && whole,
  };
  const { plan, resume, shard, journals } = options;
  const continues = plan === true || (resume ?? shard ?? journals) !== undefined;
  const {
    resumed,
    fanOut,
    limits = settled.limits,
    warnings: notes = [],
  }: Awaited<ReturnType<typeof continueJob>> = continues
    ? await (await import("./resume-job.ts")).continueJob(job, script, options)
    : {};
  const userInput = resumed?.userInput ?? options.userInput ?? script?.userInput;
  const started =
    flow &&
    flow.code.startWorkflow(flow, {
      ...settled,
      environment,
      resume,
      write,
      params: { ...script?.params, ...options.params },
      userInput: userInput ?? "",
      resumed,
      onResult,
    });
  checkVariablesOfJob({ ...settled, environment, rehearses }, jobName, write);
  return { ...started, resumed, past: resumed?.past, fanOut, limits, userInput, notes };
}

/** Checked input, which can no longer be refused. */
export interface PreparedRun extends Run {
  readonly flows: Flows;
  readonly loaded: ReadEntry;
  readonly jobName: string;
  readonly inputs: Inputs;
  /** The folder that `workingDirectory` is a copy of; else the same. */
  readonly namedDirectory: string;
  readonly script: Script | undefined;
  readonly recordPaths: RecordPaths;
  readonly warnings: readonly Diagnostic[];
  /** Removes what was made for the run; `executeRun` does it at its end. */
  readonly cleanUp: () => Promise<void>;
}

/** Throws `UsageError` or `DiagnosticsError`: for both, there is no run, and the exit code is 2. */
export async function prepareRun(options: RunOptions): Promise<PreparedRun> {
  const { write = asFlag } = options;
  checkEntryOptions(options, write);
  const loaded = await readJob(options, write);
  const jobName = chooseJob(loaded.entry, options.jobName);
  const script = options.rehearse === undefined ? undefined : await readRehearsal(options.rehearse);
  return prepareLoaded(options, loaded, jobName, script);
}

/** One of the three is set. */
async function readJob(options: RunOptions, write: WriteName): Promise<ReadEntry> {
  const { entryFile, prompt, promptFile, outputs, jobName } = options;
  const file = promptFile ?? entryFile;
  const isPrompt = prompt !== undefined || promptFile !== undefined || isPromptFile(file ?? "");
  if (!isPrompt) return readEntry(file ?? "", readingOf(options, undefined));
  const { promptEntry, checkModelOfPrompt } = await import("./prompt-job.ts");
  checkModelOfPrompt(options, write);
  const job = { jobName, outputs, write };
  return prompt === undefined
    ? promptEntry({ ...job, prompt: await readText(file ?? ""), ...defined({ file }) })
    : promptEntry({ ...job, prompt });
}

/** Like `prepareRun`, for a rehearsal that names its entry and job itself. `change` edits the entry that was read. */
export async function prepareRehearsal(
  options: RunOptions,
  script: Script,
  change: (loaded: ReadEntry, jobName: string) => ReadEntry = (loaded) => loaded,
): Promise<PreparedRun> {
  const loaded = await readEntry(script.entryFile, readingOf(options, script));
  const jobName = chooseJob(loaded.entry, script.job);
  return prepareLoaded(options, change(loaded, jobName), jobName, script);
}

async function prepareLoaded(
  options: RunOptions,
  loaded: ReadEntry,
  jobName: string,
  script: Script | undefined,
): Promise<PreparedRun> {
  const { resume, write = asFlag, env = [], environment, live = false } = options;
  const rehearses = script !== undefined && !live;
  const paths = recordPaths(options, hasFlow(loaded.entry, jobName));
  checkRecords([loaded.file, script?.file, resume], paths);
  if (script?.job !== undefined && script.job !== jobName) {
    throw new UsageError(`${script.file} rehearses the job "${script.job}", not "${jobName}".`);
  }
  if (script !== undefined) checkNames(script, loaded, jobName);
  checkFlowOptions(loaded.entry, jobName, options, write);
  const settled = settleEntry(loaded, options, script);
  const { entry, permissions, flows } = settled;
  const begun = await beginJob(loaded, settled, jobName, { ...options, script, rehearses, write });
  const { resumed, past, fanOut, limits, userInput, whole } = begun;
  checkSandboxOption(options.sandbox, permissionScopes(entry, jobName, permissions, flows), write);
  const noInput = missingUserInput("job", jobName, entry.jobs[jobName], userInput);
  if (noInput !== undefined)
    throw new UsageError(
      `${noInput} Pass it with ${write("user-input")} or ${write("user-input-file")}.`,
    );
  const inputs = inputsOf(
    entry,
    resumed?.inputs ?? { ...script?.inputs, ...options.inputs },
    write,
  );
  const named = options.workingDirectory ?? script?.workingDirectory;
  const folder = resolve(named ?? ".");
  await checkWorkingDirectory(folder);
  const isMade = named === undefined && script?.workspace !== undefined;
  if (script !== undefined && !isMade) await options.checkFolder?.(folder);
  const workspace = await workFolder(script, folder, {
    environment,
    inPlace: write("in-place"),
    makes: isMade,
    copies: options.inPlace !== true && mayChangeFiles(entry, jobName, permissions, flows),
  });
  const subjectWarnings: string[] = [];
  const subject = await subjectOfJob({
    entry,
    jobName,
    resumed: resumed?.conversation,
    work: entry.jobs[jobName]?.work,
    outputs: outputsOf(entry, jobName),
    warn: (warning) => void subjectWarnings.push(warning),
    place: workspace,
    environment,
    sandbox: gitSandbox(entry, permissions),
    script,
    options,
    write,
  });
  const { change, instructions } = subject;
  let release = (): void => {};
  const cleanUp = async (): Promise<void> => {
    release();
    await (change ?? workspace).remove();
  };
  let memory: PlannedMemory | undefined;
  try {
    release = lockJournal(options);
    resumed?.checkSubject(change?.head, instructions?.planned.files);
    const { remembers = true } = options;
    const isWhole = fanOut?.kind !== "part";
    const isKept = remembers && isWhole && !rehearses;
    memory = readMemory(entry, jobName, workspace.path, isKept);
  } catch (error) {
    await cleanUp();
    throw error;
  }
  return {
    ...settled,
    loaded,
    jobName,
    ask: options.asker,
    entryFile: options.entryName ?? loaded.file,
    isolateServers: options.isolateServers,
    recordPaths: paths,
    records: recordFiles(paths, environment).map((path) => resolve(path)),
    outputDirectory: options.outputDir && resolve(options.outputDir),
    ...subject,
    limits,
    past,
    fanOut,
    memory,
    ...filledIn({ userInput: userInput ?? "", inputs, whole }, script, {
      given: { ...options, ...resumed },
      workingDirectory: workspace.path,
    }),
    workingDirectory: workspace.path,
    namedDirectory: isMade ? workspace.path : folder,
    script,
    warnings: [
      ...loaded.warnings,
      ...[...begun.notes, ...subjectWarnings].map((reason): Diagnostic => ({
        codePath: "",
        severity: "warning",
        reason,
      })),
      ...(begun.warnings ?? userInputWarnings(loaded, jobName, userInput)),
      ...environmentWarnings(
        env,
        environment,
        hasFlow(entry, jobName) ? reservedEnvNames(entry, flows) : env,
      ),
    ],
    cleanUp,
  };
}

type Given = Pick<PreparedRun, "userInput" | "inputs" | "whole">;

/** A rehearsal names the folder in which it plays. What was given otherwise stays as it is. */
function filledIn(
  { userInput, inputs, whole }: Given,
  script: Script | undefined,
  run: {
    readonly given: Partial<Pick<RunOptions, "userInput" | "inputs" | "params">>;
    readonly workingDirectory: string;
  },
): Given {
  const { given } = run;
  const fill = (all: Inputs, own: Inputs = {}, others: Inputs = {}): Inputs =>
    Object.fromEntries(
      Object.entries(all).map(([name, value]) => [
        name,
        Object.hasOwn(own, name) && !Object.hasOwn(others, name) ? fillIn(value, run) : value,
      ]),
    );
  return {
    userInput: given.userInput === undefined && script ? fillIn(userInput, run) : userInput,
    inputs: fill(inputs, script?.inputs, given.inputs),
    whole: whole && { ...whole, params: fill(whole.params, script?.params, given.params) },
  };
}

/** Two runs can't continue one journal: both would do what is left. Shards have a plan in common. */
export function lockJournal({
  resume,
  shard,
  write = asFlag,
}: Pick<RunOptions, "resume" | "shard" | "write">): () => void {
  if (resume === undefined) return () => {};
  const lock = `${resume}${shard === undefined ? "" : `.${shard.index}-${shard.count}`}.lock`;
  const release = lockFile(lock);
  if (release !== undefined) return release;
  throw new UsageError(
    `${write("resume")}: another run is resuming ${resume} (${lock}). Wait until it has ended.`,
  );
}
