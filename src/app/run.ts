/**
 * The composition root: options in, a wired run out. Everything that a front-end shows comes to it as
 * events or as the `RunReport`; everything that can be wrong beforehand is thrown by `prepareRun`.
 */
import { resolve } from "node:path";
import { generateChartNodes } from "../entry/chart.ts";
import { renderMermaid, type NodeStatus } from "../entry/mermaid.ts";
import type { PermissionPreset, PreparedEntry } from "../entry/model.ts";
import { resolveLimits, setBy, type ResolvedLimits } from "../engine/limits.ts";
import type { EnginePorts } from "../engine/ports.ts";
import { runJob } from "../engine/run-job.ts";
import type { RunEventBody, RunOutcome } from "../events/event.ts";
import { createRedactor } from "../events/redact.ts";
import { createSink, type Reporter, type ReporterFailure } from "../events/sink.ts";
import { applyEvent, createRunView, type RunView, type WorkView } from "../events/view.ts";
import { systemClock } from "../platform/clock.ts";
import { createScriptedModel, type ScriptedModel } from "../rehearsal/model.ts";
import type { Script } from "../rehearsal/script.ts";
import { createJournal } from "../reporters/journal.ts";
import { createTerminalReporter } from "../reporters/terminal.ts";
import { effectivePermissions } from "../permissions/policy.ts";
import { createSessions } from "../sessions/sessions.ts";
import { checkAccess } from "./access.ts";
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
import { makeWorkspace } from "./workspace.ts";

/** Checked input: nothing of it can be refused any more. */
export interface PreparedRun {
  readonly loaded: ReadEntry;
  readonly entry: PreparedEntry;
  readonly jobName: string;
  readonly userInput: string;
  /** Absolute. */
  readonly workingDirectory: string;
  readonly limits: ResolvedLimits;
  readonly permissions: PermissionPreset | undefined;
  readonly script: Script | undefined;
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
  /** What a rehearsed run asked for although its script does not expect it. */
  readonly unexpected: readonly string[];
  /** What the script holds although the run did not ask for it. */
  readonly unused: readonly string[];
  /** Reports that could not be written, such as a journal on a full disk. */
  readonly reporterFailures: readonly ReporterFailure[];
}

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
  const workingDirectory = workspace?.path ?? folder;
  return {
    loaded,
    entry,
    jobName,
    userInput: userInput ?? "",
    workingDirectory,
    limits: resolveLimits(
      loaded.entry.limits,
      script && { ...script.limits, setBy: setBy(script.limits, script.file) },
      { ...options.limits, setBy: options.limitNames },
    ),
    permissions: options.permissions ?? script?.permissions,
    script,
    cleanUp: async () => workspace?.remove(),
  };
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
  const reporters: readonly (Reporter | undefined)[] = [
    { name: "view", report: (event) => applyEvent(view, event) },
    options.journal === undefined ? undefined : openJournal(options.journal),
    options.record === undefined
      ? undefined
      : createRecording(options.record, prepared, options, redactor),
    options.terminal &&
      createTerminalReporter({
        ...options.terminal,
        clock,
        chart: (shown) => chartOf(entry, jobName, shown),
      }),
    ...(options.reporters ?? []),
  ];
  const sink = createSink({
    clock,
    redactor,
    reporters: reporters.filter((reporter) => reporter !== undefined),
  });
  const sessions = createSessions({
    clock,
    environment: options.environment,
    runtimePath: options.runtimePath,
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
  });
  lastCall?.addEventListener("abort", () => sessions.kill(), { once: true });
  const ports: EnginePorts = {
    sessions: sessions.factory,
    clock,
    gate: createGate(limits.parallel),
    random: Math.random,
    awaited: () => sessions.unreachable,
    emit: (event) => sink.emit(judged(event, model)),
  };
  const declared = entry.permissions;
  const outcome = await runJob(
    {
      entry,
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
    outcome: judgedOutcome(outcome, model),
    view,
    unexpected: model?.failures() ?? [],
    unused: model?.unused() ?? [],
    reporterFailures,
  };
}

/** A run that asked for something its script does not expect has failed, whatever its tasks made of it. */
function judged(event: RunEventBody, model: ScriptedModel | undefined): RunEventBody {
  return event.type === "run.ended"
    ? { ...event, outcome: judgedOutcome(event.outcome, model) }
    : event;
}

function judgedOutcome(outcome: RunOutcome, model: ScriptedModel | undefined): RunOutcome {
  const [failure] = model?.failures() ?? [];
  return failure === undefined || outcome.kind === "canceled"
    ? outcome
    : { kind: "failed", reason: `the rehearsal does not fit: ${failure}` };
}

function openJournal(path: string): Reporter {
  try {
    return createJournal(path, () => systemClock.now());
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The journal ${path} can't be written: ${why}`);
  }
}

/** The job as a Mermaid flowchart in which every node shows how it ended. */
export function chartOf(
  entry: PreparedEntry,
  jobName: string,
  view?: RunView,
  detailOf?: (workId: number) => string | undefined,
): string {
  const job = entry.jobs[jobName];
  if (job === undefined) return "";
  const graph = generateChartNodes(job.work);
  if (view === undefined) return renderMermaid(graph);
  return renderMermaid(graph, {
    statusOf: (workId) => {
      const work = view.works.get(workId);
      return work === undefined ? undefined : nodeStatus(work);
    },
    ...(detailOf === undefined ? {} : { detailOf }),
  });
}

function nodeStatus(work: WorkView): NodeStatus {
  switch (work.status) {
    case "crashed":
      return "failed";
    case "succeeded":
      return work.attempts > work.runs ? "retried" : "succeeded";
    case "pending":
    case "running":
    case "failed":
    case "canceled":
    case "skipped":
      return work.status;
  }
}
