/**
 * One run on a host: executed, shown and reported. Everything that a front-end shows comes to it as events or
 * as the `RunReport`. What is checked beforehand is in `prepare-run.ts`.
 */
import { defined } from "../document/guards.ts";
import type { RunOutcome } from "../events/event.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { Reporter, ReporterFailure } from "../events/sink.ts";
import { applyEvent, createRunView, type RunView } from "../events/view.ts";
import { onAbort } from "../platform/waiting.ts";
import { openJournal, type JournalReporter } from "../journal/write.ts";
import { systemClock } from "../platform/system-clock.ts";
import { createScriptedModel, type ScriptedModel } from "../rehearsal/player/scripted-model.ts";
import { chartOf } from "../reports/chart.ts";
import { findRuntime, RuntimeNotFoundError } from "../runtime/find-runtime.ts";
import { noModel } from "../sessions/sessions.ts";
import { createTerminalReporter } from "../reports/terminal/terminal-reporter.ts";
import { allowedOf } from "./allowed-variables.ts";
import { flowSpecs, modelNeed, noModelNamed } from "./flows.ts";
import { Host } from "./host.ts";
import { asFlag, UsageError, type WriteName } from "./options.ts";
import { isCopilotToken, type ModelAccess } from "./options-provider.ts";
import type { PreparedRun, RunOptions } from "./prepare-run.ts";
import { createHtmlReport } from "./html-report.ts";
import { createRecording } from "./recording.ts";
import { serverSecrets } from "./server-variables.ts";
import { runSpec } from "./run-spec.ts";
import { stepFiles } from "./step-files.ts";
import { createStepHistory } from "./step-history.ts";
import { createVerdict } from "./verdict.ts";
import { fileErrorMessage } from "../platform/system-error.ts";

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
  /** Reports that could not be written, such as a journal on a full disk. */
  readonly reporterFailures: readonly ReporterFailure[];
  /** False if a requested journal, recording or HTML report is incomplete. Such a run is no success. */
  readonly complete: boolean;
}

/**
 * Runs what was prepared on a host of its own, and closes it. Rejects only with a `UsageError`: no model, no
 * runtime, a file that can't be written.
 */
export async function executeRun(
  prepared: PreparedRun,
  options: RunOptions,
  signals: RunSignals = {},
): Promise<RunReport> {
  const { script, workingDirectory } = prepared;
  try {
    // Not in `prepareRun`: an edge may check an entry first and install the runtime then.
    const write = options.write ?? asFlag;
    if (asksModels(prepared)) {
      const missing = missingModel(options, script !== undefined, write);
      if (missing !== undefined) throw new UsageError(missing);
      checkRuntime(options, write);
    }
    const model = script && createScriptedModel(script, { clock: systemClock, workingDirectory });
    const host = openHost(options, model);
    host.addSecrets(
      serverSecrets({ ...options, entry: prepared.entry, flows: prepared.loaded.flows }),
    );
    const { lastCall } = signals;
    const release = onAbort(lastCall, () => host.kill());
    try {
      return await runOn(host, { prepared, model, options, signals });
    } finally {
      await host.close();
      release();
    }
  } finally {
    await prepared.cleanUp();
  }
}

function asksModels({ loaded, entry, jobName, whole }: PreparedRun): boolean {
  const need = modelNeed(entry, jobName, loaded.flows, whole?.params);
  if (typeof need === "object") throw new UsageError(noModelNamed(need.unnamed));
  return need === "needed";
}

function openHost(options: RunOptions, transport: ScriptedModel | undefined): Host {
  const { provider, gitHubToken, runtimePath, environment, mark } = options;
  return new Host({
    environment,
    ...defined({ provider, gitHubToken, runtimePath }),
    mark,
    transport,
    sandbox: options.sandbox,
    kept: ownFiles(options),
  });
}

interface RunOfFile {
  readonly prepared: PreparedRun;
  /** Plays the models; it answers the host's requests. */
  readonly model: ScriptedModel | undefined;
  readonly options: RunOptions;
  readonly signals: RunSignals;
}

async function runOn(
  host: Host,
  { prepared, model, options, signals: { signal, onStarted } }: RunOfFile,
): Promise<RunReport> {
  const { loaded, entry, jobName, userInput, workingDirectory, limits, script } = prepared;
  const { redactor } = host;
  const view = createRunView();
  const verdict =
    script === undefined || model === undefined
      ? undefined
      : createVerdict({
          script,
          model,
          redactor,
          honorExpectations: options.honorExpectations === true,
        });
  const files = openFiles(prepared, options, redactor);
  const reporters: readonly (Reporter | undefined)[] = [
    { name: "view", report: (event) => applyEvent(view, event) },
    ...files,
    options.terminal && openTerminal(options.terminal),
    verdict?.reporter,
    ...(options.reporters ?? []),
  ];
  const run = orAbandon(files, () =>
    host.run(
      {
        ...runSpec({
          entry,
          fingerprintOf: loaded.entry,
          entryFile: loaded.file,
          userInput,
          workingDirectory,
          limits,
          permissions: prepared.permissions,
          tools: {
            environment: options.environment,
            env: options.env,
            mark: host.mark,
            confinement: host.confinement,
            redact: () => redactor.stream(),
            clock: systemClock,
            servers: host.mcp.forRun({
              workingDirectory: options.serversApart === true ? undefined : workingDirectory,
              variables: allowedOf(options),
            }),
          },
          flows: loaded.flows,
          specsOf: (run) =>
            flowSpecs(loaded.flows, {
              ...run,
              environment: options.environment,
              env: options.env,
              answers: prepared.answers,
              ask: options.asker,
              executors: options.executors,
              clock: systemClock,
              mark: host.mark,
              confinement: host.confinement,
              redact: () => redactor.stream(),
              whole: prepared.whole,
            }),
        }),
        jobName,
      },
      {
        signal,
        reporters: reporters.filter((reporter) => reporter !== undefined),
        ...(verdict === undefined ? {} : { rewrite: (event) => verdict.judged(event) }),
      },
    ),
  );
  onStarted?.(async () => {
    for (const file of files) await file.saveUnfinished?.();
  });
  const { outcome, reporterFailures } = await run.ended;
  return {
    outcome: verdict?.outcome(outcome) ?? outcome,
    view,
    rehearsalFailures: verdict?.failures() ?? [],
    reporterFailures,
    complete: files.length === 0 || !reporterFailures.some(({ essential }) => essential),
  };
}

type OwnReporter = Reporter & {
  /** Leaves everything as it was before the run, which doesn't start. */
  readonly abandon?: () => void;
  readonly saveUnfinished?: () => Promise<void>;
};

/** Opens the journal, the recording, the report and the history, all or none. */
function openFiles(
  prepared: PreparedRun,
  options: RunOptions,
  redactor: Redactor,
): readonly OwnReporter[] {
  const { journal, record, htmlReport, history } = options;
  const opened: OwnReporter[] = [];
  orAbandon(opened, () => {
    if (journal !== undefined) opened.push(journalAt(journal));
    if (record !== undefined) opened.push(createRecording(record, prepared, options, redactor));
    if (htmlReport !== undefined) opened.push(createHtmlReport(htmlReport));
    if (history !== undefined) opened.push(createStepHistory(history, redactor));
  });
  return opened;
}

/** A run that is refused leaves the files as they were. */
function orAbandon<T>(files: readonly OwnReporter[], start: () => T): T {
  try {
    return start();
  } catch (error) {
    for (const file of files) file.abandon?.();
    throw error;
  }
}

/** Files the run writes; agents must not write them. */
function ownFiles({ journal, record, htmlReport, history, environment }: RunOptions): string[] {
  const paths = [journal, record, htmlReport, history].filter((path) => path !== undefined);
  return [...paths, ...stepFiles(environment)];
}

function openTerminal({
  chart = false,
  ...terminal
}: NonNullable<RunOptions["terminal"]>): Reporter {
  const options = { ...terminal, clock: systemClock };
  return createTerminalReporter(chart ? { ...options, chart: chartOf } : options);
}

function journalAt(path: string): JournalReporter {
  try {
    return openJournal(path);
  } catch (error) {
    const why = fileErrorMessage(error);
    throw new UsageError(`Can't write the journal ${path}: ${why}`);
  }
}

/** Why no model can answer; undefined: one can. */
export function missingModel(
  { provider, gitHubToken }: ModelAccess,
  rehearsed: boolean,
  write: WriteName,
): string | undefined {
  if (rehearsed || provider !== undefined || isCopilotToken(gitHubToken)) return undefined;
  return noModel(write("provider-base-url"), write("rehearse"), gitHubToken);
}

/** Throws `UsageError` if the Copilot runtime isn't there. */
export function checkRuntime({ runtimePath, environment }: ModelAccess, write: WriteName): void {
  try {
    findRuntime({ environment, runtimePath, pathOption: write("runtime-path") });
  } catch (error) {
    if (error instanceof RuntimeNotFoundError) throw new UsageError(error.message);
    throw error;
  }
}
