/**
 * A run of a file, before it begins: options in, checked input out. Everything that can be wrong beforehand is
 * thrown here; `run.ts` runs what was prepared.
 */
import { resolve } from "node:path";
import type { Diagnostic } from "../document/diagnostic.ts";
import { resolveLimits, setBy, type LimitSources, type ResolvedLimits } from "../engine/limits.ts";
import type {
  Limits,
  PermissionPreset,
  Permissions,
  PreparedEntry,
  SandboxMode,
} from "../entry/model.ts";
import type { Reporter } from "../events/sink.ts";
import { ruleSet } from "../permissions/rules.ts";
import type { Script } from "../rehearsal/format/script.ts";
import type { TerminalStream } from "../reports/terminal/terminal-reporter.ts";
import type { TerminalPause } from "../reports/terminal/terminal-pause.ts";
import {
  chooseJob,
  overrideModels,
  readEntry,
  readRehearsal,
  userInputWarnings,
  type ReadEntry,
} from "./entry-files.ts";
import { namedByServers } from "./allowed-variables.ts";
import type { Flows, WholeFlow } from "./flows.ts";
import { asFlag, UsageError, type Answers, type Models, type WriteName } from "./options.ts";
import { checkOutputs, checkWorkingDirectory } from "./options-paths.ts";
import type { ModelAccess } from "./options-provider.ts";
import { copyWorkingDirectory } from "./working-copy.ts";
import { checkNames } from "./rehearsal-names.ts";
import { callersOfJob } from "./run-spec.ts";
import { checkSandboxOption } from "./sandbox-option.ts";
import { checkServersOfJob } from "./server-variables.ts";
import { readingOf, startOfWorkflow } from "./workflow-run.ts";
import {
  checkEntryOptions,
  checkJobOptions,
  environmentWarnings,
  hasFlow,
  type WorkflowRunOptions,
} from "./workflow-options.ts";
import { makeWorkspace } from "./workspace.ts";

/** The options of a run, besides its entry. Paths are relative to the current directory. */
export interface RunOptions extends ModelAccess, WorkflowRunOptions {
  readonly entryFile: string;
  /** May be omitted if the entry has only one job. */
  readonly jobName?: string;
  readonly userInput?: string;
  readonly workingDirectory?: string;
  /** Category to model id. Overrides `entry.models`. */
  readonly models?: Models;
  /** Default permissions, and an upper bound for those of the entry. */
  readonly permissions?: PermissionPreset;
  /** Whether programs run in a sandbox, if that is stricter than what the permissions say. */
  readonly sandbox?: SandboxMode | undefined;
  /** Override the limits of the entry. */
  readonly limits?: Limits;
  /** The option or input that set each of them, as the user wrote it. */
  readonly limitNames?: LimitSources;
  /** How to write an option's name in an error. Default: as the command line does, `--user-input`. */
  readonly write?: WriteName;
  /** A rehearsal file whose script plays the model. */
  readonly rehearse?: string;
  /** With `rehearse`: work in the folder itself. Default: where tools may change it, in a copy of it. */
  readonly inPlace?: boolean;
  /** With `rehearse`: throws if the sessions may not work in this folder, which the rehearsal may have named. */
  readonly checkFolder?: (folder: string) => Promise<void>;
  /** MCP servers start in an empty folder, because the working directory may hold untrusted files. */
  readonly serversApart?: boolean;
  /** With `rehearse`: its `expect` decides how the run ended, as for `agent-jobs rehearse`. Default: `expect` is ignored. */
  readonly honorExpectations?: boolean;
  /** Where to write a rehearsal of this run. */
  readonly record?: string;
  /** Where to write the journal. */
  readonly journal?: string;
  /** Where to write a report of this run, as one HTML file. */
  readonly htmlReport?: string;
  readonly terminal?: {
    readonly stream: TerminalStream;
    readonly verbosity: "quiet" | "normal" | "verbose";
    readonly colors: boolean;
    /** Draw what runs below the log; for a terminal only. */
    readonly live: boolean;
    /** Print the chart at the end, as the text of a Mermaid flowchart. */
    readonly chart?: boolean;
    /** Of the terminal, while a person is asked. */
    readonly pause?: TerminalPause;
  };
  readonly reporters?: readonly Reporter[];
  /** A random id that every process of the run carries in its environment as `AGENT_JOBS_RUN`. Default: a new one. */
  readonly mark?: string;
}

/** Checked input, which can no longer be refused. */
export interface PreparedRun {
  readonly loaded: ReadEntry;
  readonly entry: PreparedEntry;
  readonly jobName: string;
  readonly userInput: string;
  /** Absolute. */
  readonly workingDirectory: string;
  /** The folder that it is a copy of; else the same. */
  readonly namedDirectory: string;
  readonly limits: ResolvedLimits;
  readonly permissions: PermissionPreset | undefined;
  readonly script: Script | undefined;
  /** About the entry and the options of the run. */
  readonly warnings: readonly Diagnostic[];
  /** If the job is a workflow: what it begins with. */
  readonly whole?: WholeFlow;
  readonly answers?: Answers;
  /** Removes what was made for the run; `executeRun` does it at its end. */
  readonly cleanUp: () => Promise<void>;
}

/** Throws `UsageError` or `DiagnosticsError`: for both, there is no run, and the exit code is 2. */
export async function prepareRun(options: RunOptions): Promise<PreparedRun> {
  await checkEntryOptions(options.entryFile, options, options.write ?? asFlag);
  const loaded = await readEntry(options.entryFile, readingOf(options, undefined));
  const jobName = chooseJob(loaded.entry, options.jobName);
  checkJobOptions(loaded.entry, jobName, options, options.write ?? asFlag);
  const script = options.rehearse === undefined ? undefined : await readRehearsal(options.rehearse);
  return prepareLoaded(options, loaded, jobName, script);
}

/** As `prepareRun`, for a rehearsal that names its entry and job itself. */
export async function prepareRehearsal(options: RunOptions, script: Script): Promise<PreparedRun> {
  const loaded = await readEntry(script.entryFile, readingOf(options, script));
  return prepareLoaded(options, loaded, chooseJob(loaded.entry, script.job), script);
}

async function prepareLoaded(
  options: RunOptions,
  loaded: ReadEntry,
  jobName: string,
  script: Script | undefined,
): Promise<PreparedRun> {
  const { journal, record: recording, htmlReport, resume, write = asFlag } = options;
  checkOutputs([loaded.file, script?.file, resume], {
    journal,
    recording,
    "HTML report": htmlReport,
  });
  if (script?.job !== undefined && script.job !== jobName) {
    throw new UsageError(`${script.file} rehearses the job "${script.job}", not "${jobName}".`);
  }
  if (script !== undefined) checkNames(script, loaded, jobName);
  const entry = overrideModels(loaded.entry, { ...script?.models, ...options.models });
  const permissions = options.permissions ?? script?.permissions;
  const limits = resolveLimits(
    { ...loaded.entry.limits, setBy: setBy(loaded.entry.limits, loaded.whole ?? "the entry") },
    script && { ...script.limits, setBy: setBy(script.limits, script.file) },
    { ...options.limits, setBy: options.limitNames },
  );
  const start = await startOfWorkflow(loaded, { options, script, entry, limits });
  const { flows } = loaded;
  checkServersOfJob({ ...options, entry, flows, permissions }, jobName, write);
  checkSandboxOption(options.sandbox, callersOfJob(entry, jobName, permissions, flows), write);
  const userInput = start?.userInput ?? options.userInput ?? script?.userInput;
  if (entry.jobs[jobName]?.requireUserInput === true && userInput === undefined) {
    throw new UsageError(
      `The job "${jobName}" requires user input. Pass it with ${write("user-input")} or ${write("user-input-file")}.`,
    );
  }
  const named = options.workingDirectory ?? script?.workingDirectory;
  const folder = resolve(named ?? ".");
  await checkWorkingDirectory(folder);
  const workspace =
    named === undefined && script?.workspace !== undefined
      ? await makeWorkspace(script.workspace, options.environment)
      : undefined;
  if (script !== undefined && workspace === undefined) await options.checkFolder?.(folder);
  const copy =
    script !== undefined &&
    workspace === undefined &&
    options.inPlace !== true &&
    mayChangeFiles(entry, jobName, permissions, loaded.flows)
      ? await copyWorkingDirectory(folder, options.environment, write("in-place"), script.include)
      : undefined;
  const workingDirectory = (workspace ?? copy)?.path ?? folder;
  return {
    loaded,
    entry,
    jobName,
    userInput: userInput ?? "",
    workingDirectory,
    namedDirectory: copy === undefined ? workingDirectory : folder,
    limits,
    permissions,
    script,
    warnings: [
      ...loaded.warnings,
      ...(start?.warnings ?? []),
      ...(start === undefined ? userInputWarnings(loaded, jobName, userInput) : []),
      ...environmentWarnings(
        options.env,
        options.environment,
        hasFlow(entry, jobName) ? namedByServers(entry, flows) : (options.env ?? []),
      ),
    ],
    ...(start === undefined ? {} : { whole: start.whole }),
    answers: { ...script?.answers, ...options.answers },
    cleanUp: async () => (workspace ?? copy)?.remove(),
  };
}

/** Whether a task of the job may write files, or run commands, which may write files. */
export function mayChangeFiles(
  entry: PreparedEntry,
  jobName: string,
  option: PermissionPreset | undefined,
  flows: Flows = {},
): boolean {
  return callersOfJob(entry, jobName, option, flows).some(({ permissions }) =>
    allowChanges(permissions),
  );
}

/** Whether the permissions allow tools to write files, or to run commands, which may write files. */
export function allowChanges(permissions: Permissions): boolean {
  const { preset, write, shell, tools } = ruleSet(permissions);
  const commands = shell.allow === true || shell.allow.length > 0;
  return preset !== "read-only" || commands || write.allow.length > 0 || tools.allow.length > 0;
}
