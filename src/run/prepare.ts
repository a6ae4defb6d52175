/** A job, before it runs: options in, checked input out. Everything that can be wrong beforehand is thrown here. */
import { resolve } from "node:path";
import type { Diagnostic } from "../document/diagnostic.ts";
import { resolveLimits, setBy } from "../engine/limits.ts";
import { outputsOf } from "../entry/outputs.ts";
import type { PlannedMemory } from "../events/memory.ts";
import { factsOf } from "../events/plan.ts";
import { lockFile } from "../platform/own-file.ts";
import { fillIn } from "../rehearsal/format/names.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { permissionScopes, checkSandboxOption, gitSandbox, mayChangeFiles } from "./callers.ts";
import {
  checkNames,
  chooseJob,
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
import type { ReadEntry } from "./flows.ts";
import { subjectOfJob } from "./job-subject.ts";
import { readMemory } from "./memory.ts";
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
import type { PreparedRun, RunOptions, SettledEntry } from "./prepared-run.ts";
import { overrideModels, withPrices } from "./entry-models.ts";
import { checkRecords, recordFiles, recordPaths } from "./records.ts";
import type { Continued, continueJob, ResumedJob } from "./resume-job.ts";
import { checkVariablesOfJob, reservedEnvNames } from "./variables.ts";
import { workFolder } from "./working-copy.ts";
import { isPromptFile } from "./workflow-files.ts";

export type { PreparedRun, RunOptions, SettledEntry } from "./prepared-run.ts";

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
    flows: model
      ? Object.fromEntries(
          Object.entries(flows).map(([name, flow]) => [name, flow.withModel(model)]),
        )
      : flows,
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

interface BegunJob extends Pick<PreparedRun, "past" | "fanOut" | "limits" | "userInput" | "whole"> {
  readonly resumed?: ResumedJob | undefined;
  readonly notes: readonly string[];
  /** Of a workflow that is the whole job. */
  readonly warnings?: readonly Diagnostic[];
}

/** Throws `UsageError` or `DiagnosticsError` if the job can't begin, or can't continue, like this. */
export async function beginJob(
  { flows, whole = "" }: Pick<ReadEntry, "flows" | "whole">,
  settled: SettledEntry,
  jobName: string,
  options: Parameters<typeof continueJob>[1] &
    Pick<RunOptions, "onResult" | "environment"> & { readonly script: Script | undefined },
): Promise<BegunJob> {
  const { script, environment, rehearses, write = asFlag } = options;
  const { entry, originalEntry = entry } = settled;
  const flow = Object.hasOwn(flows, whole) ? flows[whole] : undefined;
  const job = { ...settled, entry: originalEntry, flows, jobName, whole: flow && whole };
  const asked = {
    ...options,
    userInput: options.userInput ?? script?.userInput,
    inputs: { ...script?.inputs, ...options.inputs },
  };
  const continues = options.plan === true || (options.resume ?? options.shard ?? options.journals);
  const continued: Continued = continues
    ? await (await import("./resume-job.ts")).continueJob(job, asked)
    : {};
  const { resumed, fanOut, limits = settled.limits, warnings: notes = [] } = continued;
  const userInput = resumed?.userInput ?? asked.userInput ?? "";
  const params = { ...script?.params, ...options.params };
  const started = flow?.begin({ ...options, ...settled, params, userInput, resumed });
  checkVariablesOfJob({ ...settled, environment, rehearses }, jobName, write);
  return { ...started, resumed, past: resumed?.past, fanOut, limits, userInput, notes };
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
    ? promptEntry({ ...job, prompt: await readText(file ?? ""), file })
    : promptEntry({ ...job, prompt });
}

/** Like `prepareRun`, for a rehearsal that names its entry and job itself. */
export async function prepareRehearsal(
  options: RunOptions,
  script: Script,
  {
    change = (loaded) => loaded,
    seen,
  }: {
    /** Edits the entry that was read. */
    readonly change?: (loaded: ReadEntry, jobName: string) => ReadEntry;
    /** Gets the path of each file that the entry is read from. */
    readonly seen?: (path: string) => void;
  } = {},
): Promise<PreparedRun> {
  const loaded = await readEntry(script.entryFile, { ...readingOf(options, script), seen });
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
  const given = resumed?.inputs ?? { ...script?.inputs, ...options.inputs };
  const inputs = inputsOf(entry, given, write);
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
    const isKept = options.remembers !== false && fanOut?.kind !== "part" && !rehearses;
    memory = readMemory(entry, jobName, workspace.path, isKept);
  } catch (error) {
    await cleanUp();
    throw error;
  }
  return {
    ...settled,
    ...factsOf(options),
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
    ...filledIn({ userInput, inputs, whole }, script, {
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
