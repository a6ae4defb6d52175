/** The step. Owns that every end, whichever it is, has outputs, a summary and a reason. */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { relative, resolve } from "node:path";
import { diagnosticLine, DiagnosticsError, type Diagnostic } from "../document/diagnostic.ts";
import { version } from "../generated/version.ts";
import {
  annotationText,
  reportDiagnostics,
  reportReasons,
  reportWarnings,
} from "../github/annotations.ts";
import { deliveryPage } from "../github/delivery.ts";
import { createGithubReporter, type GithubReporter } from "../github/github-reporter.ts";
import type { LiveStatus } from "../github/live-status.ts";
import { sayLine } from "../github/step-log.ts";
import { outputsWithoutRun, type Outputs } from "../github/step-outputs.ts";
import { watchStepFiles } from "./step-files.ts";
import { summaryWithoutRun } from "../github/summary.ts";
import { systemClock } from "../platform/system-clock.ts";
import { errorMessage, systemFault } from "../platform/system-error.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { needsSandbox } from "../run/callers.ts";
import type { Cancellation } from "../run/cancellation.ts";
import { executeRun, type RunReport } from "../run/execute.ts";
import { UsageError } from "../run/options.ts";
import { reportFile } from "../run/output-directory.ts";
import type { PreparedRun } from "../run/prepare.ts";
import { knownSecrets } from "../run/secrets.ts";
import { reservedEnvNames } from "../run/variables.ts";
import { RuntimeNotFoundError } from "../runtime/find-runtime.ts";
import { ensureRuntime } from "../runtime/provide-runtime.ts";
import { actions, type Mode } from "./actions.ts";
import { commandOf, showTaken, apiOf, modelAccess, Stop, type Setting } from "./setting.ts";
import { deliverFromJournal, handOn, originOfRun, tellDeliveries } from "./deliver.ts";
import { readEnvironment, readInputs, secretInputs, type Inputs } from "./inputs.ts";
import { callersOf, checkBounds } from "./job-bounds.ts";
import { journalArtifact, prepareAttempt } from "./journals.ts";
import { beginLive, liveEnd, trustedOr } from "./live.ts";
import { checkPaths, isBelow, type Paths } from "./paths.ts";
import { rehearsalsOf, rehearseAll, type Rehearsals } from "./rehearsals.ts";
import { runOptions, type Alone } from "./run-options.ts";
import { MARK_STATE, runnerCore, type RunnerCore } from "./runner-core.ts";
import { setUpSandbox } from "./sandbox.ts";
import { trustedSources, type Sources } from "./sources.ts";

export type Ending = "passed" | "failed";

export async function runAction(mode: Mode, cancellation: Cancellation): Promise<Ending> {
  const step = new Step(mode, cancellation);
  cancellation.onLastCall = () => step.saveWhatIsKnown();
  // Node would print it without escaping it.
  const onUncaught = (error: unknown): void => void step.endAtOnce(error);
  process.on("uncaughtException", onUncaught);
  try {
    return await step.run();
  } finally {
    process.off("uncaughtException", onUncaught);
    cancellation.dispose();
  }
}

class Step {
  readonly #mode: Mode;
  readonly #cancellation: Cancellation;
  readonly #environment = readEnvironment();
  readonly #redactor = createRedactor(knownSecrets({ environment: this.#environment }));
  readonly #core: RunnerCore = {
    ...runnerCore,
    setSecret: (secret) => {
      runnerCore.setSecret(secret);
      this.#redactor.addSecret(secret);
    },
  };
  readonly #mark = randomUUID();
  #inputs: Inputs | undefined;
  #entryFile = "";
  #rehearsal: string | undefined;
  #copies: string | undefined;
  #githubRun: GithubReporter | undefined;
  #live: LiveStatus | undefined;
  #saveUnfinished: (() => Promise<void>) | undefined;
  #endsAtOnce = false;

  constructor(mode: Mode, cancellation: Cancellation) {
    this.#mode = mode;
    this.#cancellation = cancellation;
    for (const secret of secretInputs(this.#environment)) this.#core.setSecret(secret);
  }

  async run(): Promise<Ending> {
    try {
      return await this.#run();
    } catch (error) {
      return await this.#endWithoutRun(error);
    } finally {
      if (this.#copies !== undefined) {
        await rm(this.#copies, { recursive: true, force: true }).catch(() => undefined);
      }
    }
  }

  async saveWhatIsKnown(): Promise<void> {
    const run = this.#githubRun;
    if (run === undefined) {
      await this.#endWithoutRun(undefined);
      return;
    }
    this.#setOutputs({ ...run.outputs(), result: "cancelled" });
    await Promise.all([run.finish().catch(() => undefined), this.#saveUnfinished?.()]);
  }

  async #run(): Promise<Ending> {
    const setting = await this.#begin();
    // Before the key: a fork's pull request has none, and should report why nothing runs.
    const rehearsals = this.#mode === "rehearse" ? await rehearsalsOf(setting) : undefined;
    const alone = rehearsals?.alone;
    const paths = await checkPaths(setting, rehearsals?.files[0]);
    this.#entryFile = alone?.entry ?? paths.entry;
    this.#rehearsal = alone?.file;
    if (this.#mode === "deliver") return this.#deliver(setting, paths);
    const sources = await trustedOr(setting, paths, () =>
      trustedSources(setting, paths, rehearsals?.deciding),
    );
    this.#copies = sources.copies;
    if (rehearsals !== undefined && alone === undefined)
      return this.#rehearse(rehearsals, setting, paths);
    setting.core.info(`Models: ${modelAccess(setting.inputs, this.#environment)}.`);
    return this.#runJob(setting, paths, sources, alone);
  }

  async #begin(): Promise<Setting> {
    const core = this.#core;
    core.info(`agent-jobs ${version}, Node ${process.versions.node}`);
    const { inputs, problems } = readInputs(this.#mode, this.#environment);
    this.#inputs = inputs;
    if (problems.length > 0) throw new Stop("failure", problems);
    const { signal } = this.#cancellation;
    signal.throwIfAborted();
    this.#tell("state", () => core.saveState(MARK_STATE, this.#mark));
    const workspace = resolve(this.#environment["GITHUB_WORKSPACE"] || ".");
    try {
      process.chdir(workspace);
    } catch {
      throw new Stop("failure", [
        `The workspace ${workspace} doesn't exist. Run actions/checkout before this step.`,
      ]);
    }
    return {
      inputs,
      command: await commandOf(inputs, this.#environment),
      environment: this.#environment,
      workspace,
      core,
      say: (line) => sayLine(core, line),
      redact: this.#redactor.text,
      signal,
    };
  }

  async #deliver(setting: Setting, paths: Paths): Promise<Ending> {
    const { outputs, deliveries } = await deliverFromJournal(setting, paths);
    const reason = tellDeliveries(setting, deliveries);
    if (deliveries.length > 0) await this.#summarize(deliveryPage(deliveries));
    const isWritten = this.#setOutputs({ ...outputs, reason });
    return isWritten && reason === "" ? "passed" : "failed";
  }

  async #runJob(
    setting: Setting,
    paths: Paths,
    sources: Sources,
    alone: Alone | undefined,
  ): Promise<Ending> {
    const options = { ...(await runOptions(setting, paths, sources, alone)), mark: this.#mark };
    const prepared = await prepareAttempt(setting, options, (text) => this.#warn(text));
    try {
      const { inputs, core, say } = setting;
      const { entryFile = "" } = prepared;
      const origin = await originOfRun(setting, prepared);
      const live = await beginLive(setting, prepared, origin);
      this.#live = live;
      for (const text of await checkBounds(setting, sources, prepared)) this.#warn(text);
      if (needsSandbox(callersOf(prepared), inputs.sandbox)) await setUpSandbox(setting);
      await showTaken(setting, apiOf(setting).api);
      const warnings = prepared.warnings.map((warning) => this.#shown(warning));
      this.#entryFile = entryFile;
      reportWarnings(core, warnings, { entryFile });
      const runtimePath = await this.#runtime(
        setting,
        sources.isBelieved ? undefined : setting.workspace,
      );
      const run = this.#reporterOf(prepared, setting, paths, alone);
      this.#githubRun = run;
      const stepFiles = watchStepFiles(
        this.#environment,
        new Set([...inputs.env, ...reservedEnvNames(prepared.entry, prepared.loaded.flows)]),
        // The journal is open. A step that is killed from now on writes no other outputs.
        () => this.#writeOutputs(run.outputs(), ["journal", "journal-artifact", "output-dir"]),
      );
      const reporters = [stepFiles.reporter, run, ...(live ? [live.reporter] : [])];
      const { signal, lastCall } = this.#cancellation;
      const report = await executeRun(
        prepared,
        { ...options, origin, runtimePath, reporters },
        { signal, lastCall, onStarted: (save) => (this.#saveUnfinished = save) },
      );
      const failures = report.reporterFailures.map(
        ({ reporter, message }) => `The ${reporter} is incomplete: ${message}`,
      );
      const foreign = stepFiles.problem();
      if (foreign !== undefined) failures.push(foreign);
      for (const failure of failures) this.#warn(failure);
      await live?.stop();
      const faults = report.complete && foreign === undefined ? [] : failures;
      const handing = { checkId: live?.checkId, faults };
      const { handedOn, deliveries } = await handOn(setting, prepared, report, handing);
      const refusal = tellDeliveries(setting, deliveries);
      if (deliveries.length > 0) await this.#summarize(run.summary(deliveries));
      for (const omission of run.omissions()) this.#warn(omission);
      if (alone !== undefined)
        say(`Rehearsal: ${alone.file} played the model; no model was asked.`);
      for (const failure of report.rehearsalFailures) say(`Rehearsal: ${failure}`);
      const { judgement } = report;
      if (judgement.kind === "passed" && judgement.warning !== undefined)
        this.#warn(judgement.warning);
      const end = endOf(report, faults, refusal, inputs);
      const outputs = { ...run.outputs(), ...handedOn, ...end.outputs };
      const ending = this.#setOutputs(outputs) && end.passes ? "passed" : "failed";
      await live?.end(liveEnd(outputs, deliveries));
      say(run.lastLine(outputs.reason, ending === "passed"));
      return ending;
    } finally {
      await prepared.cleanUp();
    }
  }

  #reporterOf(
    { loaded, jobName, entryFile = "", recordPaths: { journal } }: PreparedRun,
    { inputs, core }: Setting,
    { outputDir }: Paths,
    alone: Alone | undefined,
  ): GithubReporter {
    return createGithubReporter({
      summary: inputs.summary,
      entryFile,
      isPublished: this.#mode === "run" && !inputs.staged,
      core,
      clock: systemClock,
      lineOf: (taskId) => loaded.locateTask(taskId).line,
      jobLine: loaded.locate(["jobs", jobName]).line,
      randomToken: () => randomUUID().replaceAll("-", ""),
      outputDir,
      journal,
      journalArtifact: journalArtifact(this.#environment, inputs),
      rehearsal: alone?.file,
      reportFile: outputDir && `${outputDir}/${reportFile}`,
    });
  }

  #runtime({ inputs, say, redact, signal }: Setting, distrusted?: string): Promise<string> {
    return ensureRuntime({
      runtimePath: inputs.runtimePath,
      environment: this.#environment,
      distrusted,
      toolCacheDirectory: this.#environment["RUNNER_TOOL_CACHE"],
      temporaryDirectory: this.#environment["RUNNER_TEMP"] || tmpdir(),
      // It quotes npm, which may quote its settings.
      log: (line: string) => say(redact(line)),
      warn: (text: string) => this.#warn(text),
      signal,
    });
  }

  async #rehearse(rehearsals: Rehearsals, setting: Setting, paths: Paths): Promise<Ending> {
    if (setting.inputs.sandbox === "required") await setUpSandbox(setting);
    const runtimePath = await this.#runtime(setting);
    const done = await rehearseAll(rehearsals, setting, paths, runtimePath, this.#cancellation);
    if (done === undefined) return this.#endWithoutRun(undefined);
    const written = this.#setOutputs(done.outputs);
    await this.#summarize(done.summary);
    const passes = done.passed || setting.inputs.failOn === "never";
    return passes && written ? "passed" : "failed";
  }

  async #endWithoutRun(error: unknown): Promise<Ending> {
    const { signal } = this.#cancellation;
    const wanted = error instanceof Stop ? error.result : "failure";
    const result = signal.aborted ? "cancelled" : wanted;
    const isInvalid = error instanceof DiagnosticsError && !signal.aborted;
    const problems = isInvalid ? error.diagnostics.map((one) => this.#shown(one)) : [];
    const texts = signal.aborted ? [String(signal.reason)] : reasonsOf(error);
    const reasons = isInvalid ? [this.#invalidText(problems)] : texts.map(this.#redactor.text);
    const place = { entryFile: this.#entryFile, rehearsal: this.#rehearsal };
    if (isInvalid) reportDiagnostics(this.#core, problems, place);
    else if (result !== "cancelled")
      reportReasons(this.#core, result === "skipped" ? "notice" : "error", reasons, "Not started");
    const outputs = outputsWithoutRun(result, reasons.join("\n"));
    const written = this.#setOutputs(outputs);
    await this.#live?.end(liveEnd(outputs));
    await this.#summarize(summaryWithoutRun(result, reasons, problems));
    return result === "skipped" && written ? "passed" : "failed";
  }

  #invalidText([first, ...more]: readonly Diagnostic[]): string {
    const what =
      first?.file === this.#rehearsal ? "The rehearsal is not valid" : "The entry is not valid";
    const problem = first === undefined ? "" : diagnosticLine({ ...first, hint: undefined });
    return `${what}: ${problem}${more.length > 0 ? ` (and ${more.length} more)` : ""}`;
  }

  async endAtOnce(error: unknown): Promise<never> {
    // Reporting an error may cause the next one.
    if (this.#endsAtOnce) process.exit(1);
    this.#endsAtOnce = true;
    try {
      await this.#endWithoutRun(error);
    } finally {
      process.exit(1);
    }
  }

  async #summarize(markdown: string): Promise<void> {
    if (this.#inputs?.summary === "off") return;
    try {
      await this.#core.writeSummary(markdown);
    } catch (error) {
      this.#warn(`Can't write the summary: ${errorMessage(error)}`);
    }
  }

  #shown(diagnostic: Diagnostic): Diagnostic {
    const { file, reason, hint } = diagnostic;
    const copies = this.#copies;
    const clean = {
      ...diagnostic,
      reason: this.#redactor.text(reason),
      hint: hint && this.#redactor.text(hint),
    };
    if (file === undefined || copies === undefined || !isBelow(copies, resolve(file))) return clean;
    return { ...clean, file: relative(copies, resolve(file)).replaceAll("\\", "/") };
  }

  /** Later steps decide by them: a step whose outputs can't be written does not pass. */
  #setOutputs(outputs: Outputs): boolean {
    return this.#tell("outputs", () => this.#writeOutputs(outputs));
  }

  #writeOutputs(outputs: Outputs, names = actions[this.#mode].outputs): void {
    // The toolkit would fall back to a command that runners ignore.
    if ((this.#environment["GITHUB_OUTPUT"] ?? "") === "")
      throw new Error("GITHUB_OUTPUT is not set");
    for (const name of names)
      if (outputs[name] !== undefined) this.#core.setOutput(name, outputs[name]);
  }

  #tell(what: string, write: () => void): boolean {
    try {
      write();
      return true;
    } catch (error) {
      this.#warn(`Can't write the ${what}: ${errorMessage(error)}`);
      return false;
    }
  }

  #warn(text: string): void {
    this.#core.warning(annotationText(this.#redactor.text(text)), { title: "agent-jobs" });
  }
}

function reasonsOf(error: unknown): readonly string[] {
  if (error instanceof Stop) return error.reasons;
  if (error instanceof UsageError || error instanceof RuntimeNotFoundError) return [error.message];
  const fault = systemFault(error);
  if (fault !== undefined) return [fault];
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return [`This is a bug in agent-jobs. Please report it. ${text}`];
}

/** Whether the step passes, and the outputs that say why not. */
function endOf(
  { outcome: { kind }, judgement }: RunReport,
  faults: readonly string[],
  /** Why refused deliveries fail the step; empty: they don't. */
  refusal: string,
  { failOn }: Inputs,
): { readonly passes: boolean; readonly outputs: Partial<Outputs> } {
  if (kind === "canceled") return { passes: false, outputs: {} };
  if (kind === "failed") return { passes: failOn === "never", outputs: {} };
  // A requested record is missing: a run that succeeded otherwise is no success.
  if (faults.length > 0)
    return { passes: false, outputs: { result: "failure", reason: faults.join("\n") } };
  if (judgement.kind === "failed")
    return { passes: failOn === "never", outputs: { reason: judgement.reason } };
  return { passes: refusal === "", outputs: refusal === "" ? {} : { reason: refusal } };
}
