/**
 * The composition root: options in, a wired run out. Everything that a front-end shows comes to it as
 * events or as the `RunReport`; everything that can be wrong beforehand is thrown by `prepareRun`.
 */
import { resolve } from "node:path";
import type { Diagnostic } from "../document/diagnostic.ts";
import type { PermissionPreset, PreparedEntry } from "../entry/model.ts";
import { unusedUserInput } from "../entry/warnings.ts";
import { taskWorks } from "../entry/work.ts";
import { resolveLimits, setBy, type ResolvedLimits } from "../engine/limits.ts";
import type { EnginePorts } from "../engine/ports.ts";
import { runJob } from "../engine/run-job.ts";
import type { RunOutcome } from "../events/event.ts";
import { createRedactor } from "../events/redact.ts";
import { createSink, newRunId, type Reporter, type ReporterFailure } from "../events/sink.ts";
import { applyEvent, createRunView, type RunView } from "../events/view.ts";
import { systemClock } from "../platform/clock.ts";
import { createScriptedModel } from "../rehearsal/player/scripted-model.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { createJournal } from "../journal/write.ts";
import { chartOf } from "../report/chart.ts";
import { createTerminalReporter } from "../reporters/terminal/terminal-reporter.ts";
import { effectivePermissions } from "../permissions/policy.ts";
import { ruleSet } from "../permissions/rules.ts";
import { createSessions } from "../sessions/sessions.ts";
import { checkAccess } from "./access.ts";
import { entryFingerprint } from "./fingerprint.ts";
import { createGate } from "./gate.ts";
import {
  checkOutputs,
  checkWorkingDirectory,
  chooseJob,
  overrideModels,
  readEntry,
  readRehearsal,
  type ReadEntry,
} from "./load.ts";
import { modelServer, type RunOptions } from "./options.ts";
import { createRecording } from "./recording.ts";
import { knownSecrets } from "./secrets.ts";
import { UsageError } from "./usage-error.ts";
import { copyWorkingDirectory } from "./working-copy.ts";
import { createVerdict } from "./verdict.ts";
import { version } from "./version.ts";
import { makeWorkspace } from "./workspace.ts";

/** Checked input: nothing of it can be refused any more. */
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
  /** About the entry, and about what it is run with. */
  readonly warnings: readonly Diagnostic[];
  /** Removes what was made for the run; `executeRun` does it at its end. */
  readonly cleanUp: () => Promise<void>;
}

export interface RunSignals {
  /** Cancels the run; its report is complete within five seconds. */
  readonly signal?: AbortSignal;
  /** The process is about to exit: whatever the run started is ended before its listeners return. */
  readonly lastCall?: AbortSignal;
}

export interface RunReport {
  readonly outcome: RunOutcome;
  readonly view: RunView;
  /** Everything in which a rehearsed run was not as its script and its expectations say. */
  readonly rehearsalFailures: readonly string[];
  /** Reports that could not be written, such as a journal on a full disk. */
  readonly reporterFailures: readonly ReporterFailure[];
  /** False: a journal or a recording was asked for, and it is not whole. A run without it is no success. */
  readonly complete: boolean;
}

/** Whose failure makes a hole in the journal and in the recording, too: what can't be redacted reaches nobody. */
const kept = new Set(["journal", "recording", "redactor"]);

/** Throws `UsageError` or `DiagnosticsError`: for both the person gets no run and exit code 2. */
export async function prepareRun(options: RunOptions): Promise<PreparedRun> {
  const loaded = await readEntry(options.entryFile);
  const jobName = chooseJob(loaded.entry, options.jobName);
  const script = options.rehearse === undefined ? undefined : await readRehearsal(options.rehearse);
  return prepareLoaded(options, loaded, jobName, script);
}

/** As `prepareRun`, for a rehearsal that names its entry and job itself. */
export async function prepareRehearsal(options: RunOptions, script: Script): Promise<PreparedRun> {
  const loaded = await readEntry(script.entryFile);
  return prepareLoaded(options, loaded, chooseJob(loaded.entry, script.job), script);
}

async function prepareLoaded(
  options: RunOptions,
  loaded: ReadEntry,
  jobName: string,
  script: Script | undefined,
): Promise<PreparedRun> {
  const { journal, record: recording } = options;
  checkOutputs([loaded.file, script?.file], { journal, recording });
  if (script?.job !== undefined && script.job !== jobName) {
    throw new UsageError(`${script.file} rehearses the job "${script.job}", not "${jobName}".`);
  }
  const entry = overrideModels(loaded.entry, { ...script?.models, ...options.models });
  const userInput = options.userInput ?? script?.userInput;
  if (entry.jobs[jobName]?.requireUserInput === true && userInput === undefined) {
    throw new UsageError(
      `The job "${jobName}" needs user input: give it with --user-input TEXT or --user-input-file PATH.`,
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
  const permissions = options.permissions ?? script?.permissions;
  const copy =
    script !== undefined &&
    workspace === undefined &&
    options.inPlace !== true &&
    mayChangeFiles(entry, jobName, permissions)
      ? await copyWorkingDirectory(folder, options.environment)
      : undefined;
  const workingDirectory = (workspace ?? copy)?.path ?? folder;
  return {
    loaded,
    entry,
    jobName,
    userInput: userInput ?? "",
    workingDirectory,
    namedDirectory: copy === undefined ? workingDirectory : folder,
    limits: resolveLimits(
      loaded.entry.limits,
      script && { ...script.limits, setBy: setBy(script.limits, script.file) },
      { ...options.limits, setBy: options.limitNames },
    ),
    permissions,
    script,
    warnings: [...loaded.warnings, ...userInputWarnings(loaded, jobName, userInput)],
    cleanUp: async () => (workspace ?? copy)?.remove(),
  };
}

function userInputWarnings(
  { entry, file, locate }: ReadEntry,
  jobName: string,
  userInput: string | undefined,
): Diagnostic[] {
  const reason = unusedUserInput(entry, jobName, userInput);
  if (reason === undefined) return [];
  const codePath = `entry.jobs[${JSON.stringify(jobName)}]`;
  return [{ severity: "warning", file, ...locate(["jobs", jobName]), codePath, reason }];
}

/** Whether a task of the job may write, or run a command, of which nobody knows whether it does. */
function mayChangeFiles(
  entry: PreparedEntry,
  jobName: string,
  option: PermissionPreset | undefined,
): boolean {
  const job = entry.jobs[jobName];
  if (job === undefined) return false;
  return taskWorks(job.work).some(({ taskId }) => {
    const { permissions: own } = entry.tasks[taskId] ?? {};
    const rules = ruleSet(effectivePermissions(entry.permissions, own, option));
    const { preset, write, shell, tools } = rules;
    const commands = shell.allow === true || shell.allow.length > 0;
    return preset !== "read-only" || commands || write.allow.length > 0 || tools.allow.length > 0;
  });
}

/** Runs what was prepared. Rejects only with a `UsageError`: no model, no runtime, a file that can't be written. */
export async function executeRun(
  prepared: PreparedRun,
  options: RunOptions,
  signals: RunSignals = {},
): Promise<RunReport> {
  try {
    return await execute(prepared, options, signals);
  } finally {
    await prepared.cleanUp();
  }
}

async function execute(
  prepared: PreparedRun,
  options: RunOptions,
  { signal, lastCall }: RunSignals,
): Promise<RunReport> {
  const { loaded, entry, jobName, userInput, workingDirectory, limits, script } = prepared;
  // Not in `prepareRun`: an edge may check an entry first and install the runtime then.
  checkAccess(options, script !== undefined);
  const clock = systemClock;
  const model =
    script === undefined ? undefined : createScriptedModel(script, { clock, workingDirectory });
  const view = createRunView();
  const redactor = createRedactor(knownSecrets(options));
  const verdict =
    script === undefined || model === undefined
      ? undefined
      : createVerdict({
          script,
          model,
          redactor,
          honourExpectations: options.honourExpectations === true,
        });
  const reporters: readonly (Reporter | undefined)[] = [
    { name: "view", report: (event) => applyEvent(view, event) },
    options.journal === undefined ? undefined : openJournal(options.journal),
    options.record === undefined
      ? undefined
      : createRecording(options.record, prepared, options, redactor),
    options.terminal && openTerminal(options.terminal),
    verdict?.reporter,
    ...(options.reporters ?? []),
  ];
  const sink = createSink({
    runId: newRunId(),
    clock,
    redactor,
    reporters: reporters.filter((reporter) => reporter !== undefined),
  });
  const sessions = createSessions({
    clock,
    environment: options.environment,
    runtimePath: options.runtimePath,
    runtimeKeeper: options.runtimeKeeper,
    // A rehearsal needs no model: nothing of ours reaches a server, whatever else was given.
    ...(model === undefined ? modelServer(options) : { transport: model }),
    onRuntimeRestarted: (reason) =>
      sink.emit({ type: "decision", work: null, decision: { kind: "runtime-restarted", reason } }),
    onUnreachable: (server, reason) =>
      sink.emit({
        type: "decision",
        work: null,
        decision: { kind: "model-unreachable", server, reason },
      }),
    onLeftovers: (runs) =>
      sink.emit({ type: "decision", work: null, decision: { kind: "leftovers-ended", runs } }),
    mark: options.mark,
    kept: ownFiles(options),
  });
  lastCall?.addEventListener("abort", () => sessions.kill(), { once: true });
  const ports: EnginePorts = {
    sessions: sessions.factory,
    clock,
    gate: createGate(limits.parallel),
    random: Math.random,
    awaited: () => sessions.unreachable,
    emit: (event) => sink.emit(verdict?.judged(event) ?? event),
  };
  const declared = entry.permissions;
  const outcome = await runJob(
    {
      entry,
      version,
      entryFingerprint: entryFingerprint(loaded.entry),
      jobName,
      entryFile: loaded.file,
      userInput,
      workingDirectory,
      limits,
      permissionsOf: (taskId) =>
        effectivePermissions(declared, entry.tasks[taskId]?.permissions, prepared.permissions),
    },
    ports,
    signal,
  );
  await sessions.stop();
  const reporterFailures = await sink.close();
  return {
    outcome: verdict?.outcome(outcome) ?? outcome,
    view,
    rehearsalFailures: verdict?.failures() ?? [],
    reporterFailures,
    complete:
      (options.journal === undefined && options.record === undefined) ||
      !reporterFailures.some(({ reporter }) => kept.has(reporter)),
  };
}

/** What a run says about itself: an agent must not say it instead. */
function ownFiles({ journal, record, environment }: RunOptions): string[] {
  const ofStep = [
    "GITHUB_STEP_SUMMARY",
    "GITHUB_OUTPUT",
    "GITHUB_ENV",
    "GITHUB_PATH",
    "GITHUB_STATE",
  ];
  return [journal, record, ...ofStep.map((name) => environment[name])].flatMap((path) =>
    path === undefined || path === "" ? [] : [path],
  );
}

function openTerminal({
  chart = false,
  ...terminal
}: NonNullable<RunOptions["terminal"]>): Reporter {
  const options = { ...terminal, clock: systemClock };
  return createTerminalReporter(chart ? { ...options, chart: chartOf } : options);
}

function openJournal(path: string): Reporter {
  try {
    return createJournal(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The journal ${path} can't be written: ${why}`);
  }
}
