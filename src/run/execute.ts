/** One run on a host: executed, shown and reported. What is checked beforehand is in `prepare.ts`. */
import { DiagnosticsError } from "../document/diagnostic.ts";
import type { RunOutcome } from "../events/event.ts";
import type { ReporterFailure } from "../events/sink.ts";
import type { RunView } from "../events/view.ts";
import { onAbort } from "../platform/waiting.ts";
import { systemClock } from "../platform/system-clock.ts";
import type { ScriptedModel } from "../rehearsal/player/scripted-model.ts";
import { judgementOf, type Judgement } from "../outputs/verdict.ts";
import { findRuntime, RuntimeNotFoundError } from "../runtime/find-runtime.ts";
import { noModel } from "../sessions/sessions.ts";
import { createTerminalReporter } from "../reports/terminal/terminal-reporter.ts";
import { asksModels } from "./flows.ts";
import { Host } from "./host.ts";
import { ALL_MODELS, asFlag, UsageError, type WriteName } from "./options.ts";
import { isCopilotToken, type ModelAccess } from "./options-provider.ts";
import type { PreparedRun, RunOptions } from "./prepare.ts";
import { writeMemory } from "./memory.ts";
import { closeOnError, openRecords, recordFiles } from "./records.ts";
import { runSpec } from "./run-spec.ts";
import { startTrace, telemetryReporter, type RunTrace } from "./telemetry.ts";
import { reservedSecrets } from "./variables.ts";

export interface RunSignals {
  /** Cancels the run; its report is complete within five seconds. */
  readonly signal?: AbortSignal;
  /** The process is about to exit: whatever the run started is ended before its listeners return. */
  readonly lastCall?: AbortSignal;
  /** Gets what writes the files of a run that has not ended, for a process that is about to exit. */
  readonly onStarted?: (saveUnfinished: () => Promise<void>) => void;
}

export interface RunReport {
  readonly outcome: RunOutcome;
  readonly view: RunView;
  /** Every difference between a rehearsed run and its script and expectations. */
  readonly rehearsalFailures: readonly string[];
  readonly reporterFailures: readonly ReporterFailure[];
  /** Whether the verdict and the findings fail a run that succeeded. Not of a rehearsal that checks expectations. */
  readonly judgement: Judgement;
  /** False if a requested journal, recording or report is incomplete. Such a run is no success. */
  readonly complete: boolean;
}

/** On a host of its own. Rejects only with a `UsageError`, and with a `DiagnosticsError` for a model that is not offered. */
export async function executeRun(
  prepared: PreparedRun,
  options: RunOptions,
  signals: RunSignals = {},
): Promise<RunReport> {
  const { workingDirectory, change, fanOut, past } = prepared;
  const { write = asFlag, telemetry, environment } = options;
  const script = options.live === true ? undefined : prepared.script;
  try {
    // Not in `prepareRun`: an edge may check an entry first and install the runtime then.
    const { entry, jobName, flows, whole } = prepared;
    if (past?.isDone !== true && asksModels(entry, jobName, flows, whole?.params)) {
      const missing = missingModel(options, script !== undefined, write);
      if (missing !== undefined) throw new UsageError(missing);
      checkRuntime(options, write);
    }
    const places = { clock: systemClock, workingDirectory, changeDiff: change?.diffFile };
    const model =
      script &&
      new (await import("../rehearsal/player/scripted-model.ts")).ScriptedModel(script, places);
    const trace =
      telemetry?.traces && startTrace(telemetry, environment, past, fanOut !== undefined);
    const traced = trace && { TRACEPARENT: trace.traceparent };
    const { provider, gitHubToken, runtimePath, mark, runtimes, sandbox } = options;
    const host = new Host({
      environment: { ...environment, ...traced },
      provider,
      gitHubToken,
      runtimePath,
      mark,
      transport: model,
      runtimes,
      sandbox,
      kept: recordFiles(prepared.recordPaths, environment),
    });
    host.addSecrets(reservedSecrets({ ...prepared, environment }));
    const release = onAbort(signals.lastCall, () => host.kill());
    try {
      if (options.checkModels === true && model === undefined)
        await requireModels(host, prepared, options);
      return await runOn(host, prepared, model, options, signals, trace);
    } finally {
      await host.close();
      release();
    }
  } finally {
    await prepared.cleanUp();
  }
}

async function requireModels(
  host: Host,
  { entry, flows, loaded }: PreparedRun,
  options: RunOptions,
): Promise<void> {
  const { models = {}, write = asFlag } = options;
  const { NONE_LISTED, unofferedModel, unofferedModels, whyNoneListed } =
    await import("./offered-models.ts");
  const offered = await host.listModels();
  if (offered.length === 0) {
    const reason = await whyNoneListed(options);
    throw new UsageError(
      `${NONE_LISTED} ${reason} Omit ${write("check-models")} if the model server has no list.`,
    );
  }
  for (const [category, id] of Object.entries(models)) {
    const problem = unofferedModel(id, offered);
    if (problem !== undefined) {
      const of = category === ALL_MODELS ? "" : `${category}=`;
      throw new UsageError(`${write("model")} ${of}${id}: ${problem}`);
    }
  }
  const problems = unofferedModels({ entry, flows }, offered, loaded);
  if (problems.length > 0) throw new DiagnosticsError(problems);
}

async function runOn(
  host: Host,
  prepared: PreparedRun,
  model: ScriptedModel | undefined,
  options: RunOptions,
  { signal, onStarted }: RunSignals,
  trace: RunTrace | undefined,
): Promise<RunReport> {
  const { jobName, script, recordPaths } = prepared;
  const { honorExpectations = false, telemetry, terminal, origin } = options;
  const { redactor } = host;
  const verdict =
    script &&
    model &&
    (await import("./rehearsal-verdict.ts")).createVerdict(
      script,
      model,
      redactor,
      honorExpectations,
    );
  const files = await openRecords(recordPaths, { redactor, recorded: { prepared, options } });
  const reporters = [
    ...files,
    terminal && createTerminalReporter({ ...terminal, clock: systemClock }),
    verdict?.reporter,
    telemetry && telemetryReporter(telemetry, options, trace?.parent),
    ...(options.reporters ?? []),
  ].filter((reporter) => reporter !== undefined);
  const run = await closeOnError(files, () =>
    host.run(
      { ...runSpec(host, { ...prepared, origin, trace }), jobName },
      {
        signal,
        runId: trace?.runId,
        onTransition: options.onTransition,
        gateTurns: options.gateTurns,
        reporters,
        rewrite: verdict && ((event) => verdict.judged(event)),
      },
    ),
  );
  onStarted?.(async () => {
    for (const file of files) await file.saveUnfinished?.();
  });
  const { view } = run;
  const { outcome, reporterFailures } = await run.ended;
  const unkept = writeMemory(view, prepared.workingDirectory);
  const failures = [...reporterFailures];
  if (unkept !== undefined)
    failures.push({ reporter: "memory", message: unkept, count: 1, essential: true });
  return {
    outcome: verdict?.outcome(outcome) ?? outcome,
    view,
    judgement: honorExpectations ? { kind: "passed" } : judgementOf(view),
    rehearsalFailures: verdict?.failures() ?? [],
    reporterFailures: failures,
    complete: !failures.some(({ essential }) => essential),
  };
}

export function missingModel(
  { provider, gitHubToken }: ModelAccess,
  rehearsed: boolean,
  write: WriteName,
): string | undefined {
  if (rehearsed || provider !== undefined || isCopilotToken(gitHubToken)) return undefined;
  return noModel(write("provider-base-url"), write("rehearse"), gitHubToken);
}

export function checkRuntime({ runtimePath, environment }: ModelAccess, write: WriteName): void {
  try {
    findRuntime({ environment, runtimePath, pathOption: write("runtime-path") });
  } catch (error) {
    if (error instanceof RuntimeNotFoundError) throw new UsageError(error.message);
    throw error;
  }
}
