/** The step. Owns that every end, whichever it is, has outputs, a summary and a reason. */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { relative, resolve } from "node:path";
import { createGithubRun, endOf, type Ending } from "./github.ts";
import { reportFile } from "../run/output-directory.ts";
import { reservedEnvNames } from "../run/variables.ts";
import { journalArtifact, partOf, prepareAttempt } from "./journals.ts";
import { executeRun } from "../run/execute.ts";
import { RuntimeNotFoundError } from "../runtime/find-runtime.ts";
import { needsSandbox } from "../run/callers.ts";
import { knownSecrets } from "../run/secrets.ts";
import { UsageError } from "../run/options.ts";
import { version } from "../generated/version.ts";
import {
  annotationText,
  reportDiagnostics,
  reportReasons,
  reportWarnings,
} from "../github/annotations.ts";
import { deliveryPage } from "../github/deliveries.ts";
import type { GithubReporter } from "../github/github-reporter.ts";
import type { LiveStatus } from "../github/live-status.ts";
import { sayLine } from "../github/step-log.ts";
import type { Outputs } from "../github/output-table.ts";
import { outputsWithoutRun } from "../github/step-outputs.ts";
import { summaryWithoutRun } from "../github/summary.ts";
import { diagnosticLine, DiagnosticsError, type Diagnostic } from "../document/diagnostic.ts";
import { createRedactor, type Redactor } from "../redaction/redactor.ts";
import type { Cancellation } from "../run/cancellation.ts";
import type { Mode } from "./input-table.ts";
import {
  modelAccess,
  readEnvironment,
  readInputs,
  secretInputs,
  type Environment,
  type Inputs,
} from "./inputs.ts";
import { family } from "./family.ts";
import { commandOf, showTaken } from "./comment-command.ts";
import { apiOf, runOptions, trustedSources, type Setting } from "./preparation.ts";
import { checkPaths, type Paths } from "./step-paths.ts";
import { callersOf, checkBounds } from "./job-bounds.ts";
import { userInputOf } from "./given-texts.ts";
import { rehearsalsOf, rehearseAll, type Rehearsals } from "./rehearsals.ts";
import { deliverFromJournal, handOn, originOfRun, tellDeliveries } from "./deliver.ts";
import { beginLive, liveEnd, trustedOr } from "./live.ts";
import { checkRehearsed, enter, isBelow } from "./workspace-paths.ts";
import { MARK_STATE, runnerCore, type RunnerCore } from "./runner-core.ts";
import { ensureRuntime } from "../runtime/provide-runtime.ts";
import { watchStepFiles } from "./step-files.ts";
import { setUpSandbox } from "./sandbox.ts";
import { Stop } from "./stop.ts";
import { errorMessage, systemFault } from "../platform/system-error.ts";

export async function runAction(mode: Mode, cancellation: Cancellation): Promise<Ending> {
  const environment = readEnvironment();
  const redactor = createRedactor(knownSecrets({ environment }));
  const setSecret = (secret: string): void => {
    runnerCore.setSecret(secret);
    redactor.addSecret(secret);
  };
  const core = { ...runnerCore, setSecret };
  for (const secret of secretInputs(environment)) setSecret(secret);
  const step = new Step(mode, environment, core, redactor, cancellation);
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
  readonly #environment: Environment;
  readonly #core: RunnerCore;
  readonly #redactor: Redactor;
  readonly #cancellation: Cancellation;
  #inputs: Inputs | undefined;
  #entryFile = "";
  #rehearsal: string | undefined;
  #copies: string | undefined;
  #githubRun: GithubReporter | undefined;
  #live: LiveStatus | undefined;
  #saveUnfinished: (() => Promise<void>) | undefined;
  #endsAtOnce = false;

  constructor(
    mode: Mode,
    environment: Environment,
    core: RunnerCore,
    redactor: Redactor,
    cancellation: Cancellation,
  ) {
    this.#mode = mode;
    this.#environment = environment;
    this.#core = core;
    this.#redactor = redactor;
    this.#cancellation = cancellation;
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
    const core = this.#core;
    const { signal } = this.#cancellation;
    core.info(`agent-jobs ${version}, Node ${process.versions.node}`);
    const { inputs, problems } = readInputs(this.#mode, this.#environment);
    this.#inputs = inputs;
    if (problems.length > 0) throw new Stop("failure", problems);
    signal.throwIfAborted();
    const mark = randomUUID();
    this.#tell("state", () => core.saveState(MARK_STATE, mark));
    const workspace = resolve(this.#environment["GITHUB_WORKSPACE"] || ".");
    enter(workspace);
    const command = await commandOf(inputs, this.#environment);
    const setting: Setting = {
      inputs,
      command,
      environment: this.#environment,
      workspace,
      core,
      say: (line) => sayLine(core, line),
      redact: this.#redactor.text,
      signal,
    };
    const { say } = setting;
    // Before the key: a fork's pull request has none, and should report why nothing runs.
    const rehearsals = this.#mode === "rehearse" ? await rehearsalsOf(setting) : undefined;
    const alone = rehearsals?.alone;
    const paths = await checkPaths(setting, rehearsals?.files[0]);
    this.#entryFile = alone?.entry ?? paths.entry;
    this.#rehearsal = alone?.file;
    if (this.#mode === "deliver") {
      const done = await deliverFromJournal(setting, paths);
      const { deliveries } = done;
      const summarize = (): Promise<void> => this.#summarize(deliveryPage(deliveries));
      const reason = await tellDeliveries(setting, deliveries, summarize);
      const isWritten = this.#setOutputs({ ...done.outputs, reason });
      return isWritten && reason === "" ? "passed" : "failed";
    }
    const sources = await trustedOr(setting, paths, () =>
      trustedSources(setting, paths, rehearsals?.deciding),
    );
    this.#copies = sources.copies;
    if (rehearsals !== undefined && alone === undefined)
      return await this.#rehearse(rehearsals, setting, paths);
    core.info(`Models: ${modelAccess(inputs, this.#environment)}.`);
    const userInput = await userInputOf(setting, paths);
    const checkFolder = (folder: string): Promise<void> => checkRehearsed(folder, workspace);
    const options = {
      ...runOptions(setting, paths, sources, { userInput, ...(alone && { alone }) }),
      ...(await partOf(inputs, paths)),
      mark,
      checkFolder,
    };
    const prepared = await prepareAttempt(setting, options, (text) => this.#warn(text));
    try {
      const origin = await originOfRun(setting, prepared);
      const live = await beginLive(setting, prepared, origin);
      this.#live = live;
      for (const text of await checkBounds(setting, sources, prepared)) this.#warn(text);
      if (needsSandbox(callersOf(prepared), inputs.sandbox)) await setUpSandbox(setting);
      await showTaken(setting, apiOf(setting).api);
      const warnings = prepared.warnings.map((warning) => this.#shown(warning));
      const { entryFile = "" } = prepared;
      this.#entryFile = entryFile;
      reportWarnings(core, warnings, { entryFile });
      const distrusted = sources.isBelieved ? undefined : workspace;
      const runtimePath = await this.#runtime(setting, distrusted);
      this.#githubRun = createGithubRun(prepared, {
        summary: inputs.summary,
        entryFile,
        isPublished: this.#mode === "run" && !inputs.staged,
        core,
        randomToken: () => randomUUID().replaceAll("-", ""),
        outputDir: paths.outputDir,
        journal: prepared.recordPaths.journal,
        journalArtifact: journalArtifact(this.#environment, inputs),
        rehearsal: alone?.file,
        reportFile: paths.outputDir && `${paths.outputDir}/${reportFile}`,
      });
      const {
        journal,
        "journal-artifact": artifact,
        "output-dir": outputDir,
      } = this.#githubRun.outputs();
      const stepFiles = watchStepFiles(
        this.#environment,
        new Set([...inputs.env, ...reservedEnvNames(prepared.entry, prepared.loaded.flows)]),
        // The journal is open. A step that is killed from now on writes no other outputs.
        () =>
          this.#writeOutputs({ journal, "journal-artifact": artifact, "output-dir": outputDir }),
      );
      const reporters = [stepFiles.reporter, this.#githubRun, ...(live ? [live.reporter] : [])];
      const ready = { ...options, origin, runtimePath, reporters };
      const { lastCall } = this.#cancellation;
      const onStarted = (save: () => Promise<void>): void => void (this.#saveUnfinished = save);
      const report = await executeRun(prepared, ready, { signal, lastCall, onStarted });
      const failures = report.reporterFailures.map(
        ({ reporter, message }) => `The ${reporter} is incomplete: ${message}`,
      );
      const foreign = stepFiles.problem();
      if (foreign !== undefined) failures.push(foreign);
      for (const failure of failures) this.#warn(failure);
      await live?.stop();
      const isTrusted = foreign === undefined;
      const faults = report.complete && isTrusted ? [] : failures;
      const run = this.#githubRun;
      const checkId = live?.checkId;
      const done = await handOn(setting, prepared, report, { checkId, faults });
      const { handedOn, deliveries } = done;
      const summarize = (): Promise<void> => this.#summarize(run.summary(deliveries));
      const refusal = await tellDeliveries(setting, deliveries, summarize);
      const outputs = { ...this.#githubRun.outputs(), ...handedOn };
      for (const omission of this.#githubRun.omissions()) this.#warn(omission);
      if (alone !== undefined)
        say(`Rehearsal: ${alone.file} played the model; no model was asked.`);
      for (const failure of report.rehearsalFailures) say(`Rehearsal: ${failure}`);
      const { judgement } = report;
      if (judgement.kind === "passed" && judgement.warning !== undefined)
        this.#warn(judgement.warning);
      const end = endOf(report, outputs, { failures, isTrusted, failOn: inputs.failOn, refusal });
      const ending = this.#setOutputs(end.outputs) ? end.ending : "failed";
      await live?.end(liveEnd(end.outputs, deliveries));
      say(this.#githubRun.lastLine(end.outputs.reason, ending === "passed"));
      return ending;
    } finally {
      await prepared.cleanUp();
    }
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
    const checkFolder = (folder: string): Promise<void> =>
      checkRehearsed(folder, setting.workspace);
    const more = { runtimePath: await this.#runtime(setting), checkFolder };
    const done = await rehearseAll(rehearsals, setting, paths, more, this.#cancellation);
    if (done === undefined) return await this.#endWithoutRun(undefined);
    const written = this.#setOutputs(done.outputs);
    if (setting.inputs.summary !== "off") await this.#summarize(done.summary);
    const passes = done.passed || setting.inputs.failOn === "never";
    return passes && written ? "passed" : "failed";
  }

  async #endWithoutRun(error: unknown): Promise<Ending> {
    const canceled = this.#cancellation.signal.aborted;
    const result = canceled ? "cancelled" : error instanceof Stop ? error.result : "failure";
    const reasons = canceled
      ? [String(this.#cancellation.signal.reason)]
      : this.#say(error).map((reason) => this.#redactor.text(reason));
    const problems =
      error instanceof DiagnosticsError && !canceled
        ? error.diagnostics.map((diagnostic) => this.#shown(diagnostic))
        : [];
    const outputs = outputsWithoutRun(result, reasons.join("\n"));
    const written = this.#setOutputs(outputs);
    await this.#live?.end(liveEnd(outputs));
    if (this.#inputs?.summary !== "off") {
      await this.#summarize(summaryWithoutRun(result, reasons, problems));
    }
    return result === "skipped" && written ? "passed" : "failed";
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
    try {
      await this.#core.writeSummary(markdown);
    } catch (error) {
      this.#warn(`Can't write the summary: ${errorMessage(error)}`);
    }
  }

  #say(error: unknown): readonly string[] {
    if (error instanceof DiagnosticsError) {
      const diagnostics = error.diagnostics.map((diagnostic) => this.#shown(diagnostic));
      reportDiagnostics(this.#core, diagnostics, {
        entryFile: this.#entryFile,
        rehearsal: this.#rehearsal,
      });
      const [first] = diagnostics;
      if (first === undefined) return [error.message];
      const { hint: _hint, ...problem } = first;
      const isRehearsal = problem.file === this.#rehearsal;
      const what = isRehearsal ? "The rehearsal is not valid" : "The entry is not valid";
      const more = diagnostics.length > 1 ? ` (and ${diagnostics.length - 1} more)` : "";
      return [`${what}: ${diagnosticLine(problem)}${more}`];
    }
    const reasons = reasonsOf(error);
    const level = error instanceof Stop && error.result === "skipped" ? "notice" : "error";
    const texts = reasons.map((reason) => this.#redactor.text(reason));
    reportReasons(this.#core, level, texts);
    return reasons;
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

  #writeOutputs(outputs: Partial<Outputs>): void {
    // The toolkit would fall back to a command that runners ignore.
    if ((this.#environment["GITHUB_OUTPUT"] ?? "") === "")
      throw new Error("GITHUB_OUTPUT is not set");
    for (const name of family[this.#mode].outputs)
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
