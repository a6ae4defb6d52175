/**
 * The library's state in one object: the installed entry, what runs, how models are reached. The free
 * functions that `src/index.ts` exports are the methods of a default host; an application with several
 * entries or providers creates hosts of its own. What runs share is in `host.ts`.
 *
 * Invariant: the entry changes only while nothing runs.
 */
import { resolve } from "node:path";
import { resolveLimits, setBy } from "../engine/limits.ts";
import type { RunSpec } from "../engine/plan.ts";
import type { JobSpec, TaskSpec } from "../engine/run-job.ts";
import type { Entry, PreparedEntry } from "../entry/model.ts";
import { DiagnosticsError, type Diagnostic } from "../document/diagnostic.ts";
import { prepareEntry } from "../entry/prepare.ts";
import { unusedUserInput } from "../entry/warnings.ts";
import type { Reporter, ReporterFailure } from "../events/sink.ts";
import { unmatchable } from "../permissions/patterns.ts";
import { effectivePermissions } from "../permissions/rules.ts";
import { systemClock } from "../platform/clock.ts";
import { processEnvironment } from "../platform/environment.ts";
import { onAbort } from "../runtime/deadline.ts";
import { adoptSession, modelOfSession, type ICopilotSession } from "../sessions/callbacks.ts";
import { checkHostOptions, type JobHostOptions } from "./host-options.ts";
import { Host, type HostRun } from "./host.ts";
import {
  JobFold,
  TaskFold,
  type ICopilotJob,
  type ICopilotJobCallback,
  type ICopilotTask,
  type ICopilotTaskCallback,
} from "./job-callbacks.ts";
import { noCallbacks, ResultFold, type JobResult, type RunJobOptions } from "./job-result.ts";
import { LiveResponses, type LiveResponse } from "./live-responses.ts";
import { gitHubTokenOf } from "./options-provider.ts";
import { runSpec } from "./run-spec.ts";
import { SessionFeeds } from "./session-feeds.ts";

/**
 * Runs jobs and tasks of an installed entry inside an application: the installed entry, what runs, and how models
 * are reached. Throws a `TypeError` for invalid options.
 */
export class JobHost {
  readonly #options: JobHostOptions;
  readonly #host: Host;
  readonly #feeds = new SessionFeeds();
  #entry: PreparedEntry | undefined;
  #warnings: readonly Diagnostic[] = [];

  constructor(options: JobHostOptions = {}) {
    checkHostOptions(options);
    this.#options = options;
    const environment = options.environment ?? processEnvironment();
    const gitHubToken = options.gitHubToken ?? gitHubTokenOf(environment);
    this.#host = new Host({
      ...options,
      environment,
      ...(gitHubToken === undefined ? {} : { gitHubToken }),
      onReporterFailure: warnOf,
    });
  }

  /** Checks the entry and uses it from now on. Rejects with its diagnostics, or while anything runs. */
  async installJobsEntry(entry: Entry): Promise<void> {
    if (this.hasRunningSessions()) {
      throw new Error("Can't install an entry while a job, a task or a session is running.");
    }
    const result = prepareEntry(entry, { checkCommandPattern: unmatchable });
    if (result.kind === "rejected") throw new DiagnosticsError(result.diagnostics);
    this.#entry = result.entry;
    this.#warnings = result.warnings;
  }

  /** The warnings about the installed entry: valid, but probably not intended. */
  get entryWarnings(): readonly Diagnostic[] {
    return this.#warnings;
  }

  /** The installed entry. Throws if there is none. */
  ensureInstalledEntry(): Entry {
    return this.#installed();
  }

  /** True while a job, a task or a session of this host runs. */
  hasRunningSessions(): boolean {
    return this.#host.busy;
  }

  /**
   * Starts a job of the installed entry; the promise resolves at the start, and the callback reports the rest.
   * Rejects if there is no such job.
   */
  async startJob(
    jobName: string,
    userInput: string,
    workingDirectory: string,
    callback: ICopilotJobCallback,
  ): Promise<ICopilotJob> {
    return this.#startJob(jobName, userInput, workingDirectory, callback, []).job;
  }

  /**
   * Runs a job of the installed entry to its end, without callbacks. Rejects only for what `startJob`
   * rejects: a job that fails or is canceled is a result too.
   */
  async runJob(jobName: string, options: RunJobOptions = {}): Promise<JobResult> {
    const { userInput = "", workingDirectory = ".", signal } = options;
    const fold = new ResultFold();
    const { job, run } = this.#startJob(jobName, userInput, workingDirectory, noCallbacks, [fold]);
    const unsubscribe = signal && onAbort(signal, () => job.stop());
    try {
      await run.ended;
    } finally {
      unsubscribe?.();
    }
    return fold.result(run.runId);
  }

  #startJob(
    jobName: string,
    userInput: string,
    workingDirectory: string,
    callback: ICopilotJobCallback,
    folds: readonly Reporter[],
  ): { readonly job: ICopilotJob; readonly run: HostRun } {
    const entry = this.#installed();
    if (!Object.hasOwn(entry.jobs, jobName))
      throw new Error(`There is no job "${jobName}" in the entry.`);
    const fold = new JobFold(callback);
    const spec = { ...this.#spec(entry, userInput, workingDirectory), jobName };
    const run = this.#run(spec, [fold, ...folds]);
    const unused = unusedUserInput(entry, jobName, userInput);
    const job: ICopilotJob = {
      runId: run.runId,
      warnings: unused === undefined ? [] : [unused],
      get runningWorkIds() {
        return fold.runningWorkIds;
      },
      get status() {
        return fold.status;
      },
      stop() {
        fold.cancel();
        run.cancel("stopped by the caller");
      },
    };
    return { job, run };
  }

  /**
   * Starts a task of the installed entry. With `drivingSession`, the task uses that session and its model
   * for everything and never replaces it, so a crash of the session fails the task at once. Without it, the
   * task opens and ends sessions of its own. `exceptionHandler` receives the error if the task crashes.
   */
  async startTask(
    taskName: string,
    userInput: string,
    drivingSession: ICopilotSession | undefined,
    ignorePrerequisiteCheck: boolean,
    callback: ICopilotTaskCallback,
    taskModelIdOverride: string | undefined,
    workingDirectory: string | undefined,
    exceptionHandler: (err: unknown) => void,
  ): Promise<ICopilotTask> {
    this.#host.ensureOpen();
    const entry = this.#installed();
    if (!Object.hasOwn(entry.tasks, taskName))
      throw new Error(`There is no task "${taskName}" in the entry.`);
    const fold = new TaskFold({
      callback,
      exceptionHandler,
      borrowed: drivingSession,
      findSession: (id) => this.#feeds.find(id),
    });
    const modelId =
      (drivingSession && (await modelOfSession(drivingSession, systemClock))) ??
      taskModelIdOverride ??
      entry.models.driving;
    const spec: TaskSpec = {
      ...this.#spec(entry, userInput, workingDirectory ?? "."),
      taskName,
      ignorePrerequisiteCheck,
      ...(taskModelIdOverride === undefined ? {} : { modelOverride: taskModelIdOverride }),
      ...(drivingSession === undefined
        ? {}
        : { borrowed: adoptSession(drivingSession, { modelId, clock: systemClock }) }),
    };
    const run = this.#run(spec, [fold]);
    return {
      get drivingSession() {
        return fold.drivingSession;
      },
      get status() {
        return fold.status;
      },
      get crashError() {
        return fold.crashError;
      },
      stop() {
        fold.silence();
        run.cancel("stopped by the caller");
      },
    };
  }

  /** Starts a session that belongs to no task; its responses are kept for `takeSessionResponse`. */
  async helperSessionStart(
    modelId: string,
    workingDirectory = ".",
  ): Promise<[ICopilotSession, string]> {
    const responses = new LiveResponses();
    const session = await this.#host.startSession({
      onEnded: () => this.#feeds.end(session.rawSection.sessionId),
      modelId,
      callback: responses.callbacks(),
      workingDirectory: resolve(workingDirectory),
      permissions: effectivePermissions(undefined, undefined, this.#options.permissions),
    });
    this.#feeds.start(session, responses);
    return [session, session.rawSection.sessionId];
  }

  /**
   * Ends a running session of this host; one that has ended already is fine. A task that runs in it
   * sees a crash.
   */
  async helperSessionStop(session: ICopilotSession): Promise<void> {
    await this.#feeds.find(session.rawSection.sessionId)?.stop();
  }

  /** A running session of this host: one of `helperSessionStart`, or of a task that runs. */
  helperGetSession(sessionId: string): ICopilotSession | undefined {
    return this.#feeds.find(sessionId);
  }

  /** Adds a response to the queue of a running session. */
  helperPushSessionResponse(session: ICopilotSession, response: LiveResponse): void {
    this.#feeds.push(session, response);
  }

  /**
   * The next response of a session of this host, in order; undefined if none comes within `milliseconds`.
   * One caller at a time. What a session leaves when it ends can still be taken. A session keeps up to
   * 16 MB of them, and replaces older ones with `{ callback: "onResponsesDropped", count }`.
   */
  async takeSessionResponse(
    session: ICopilotSession,
    milliseconds: number,
  ): Promise<LiveResponse | undefined> {
    return this.#feeds.take(session, milliseconds);
  }

  /**
   * Cancels the jobs and tasks that run, ends all sessions and the runtime, and closes the reporters: within
   * seconds, and once, however often it is called. Nothing can be started on the host any more. One that is not
   * closed lets the process exit too, but its reporters stay open.
   */
  async close(): Promise<void> {
    await this.#host.close();
  }

  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #installed(): PreparedEntry {
    if (this.#entry === undefined)
      throw new Error("No entry is installed. Call installJobsEntry first.");
    return this.#entry;
  }

  #spec(entry: PreparedEntry, userInput: string, workingDirectory: string): RunSpec {
    const { limits, permissions } = this.#options;
    return runSpec({
      entry,
      userInput,
      workingDirectory: resolve(workingDirectory),
      limits: resolveLimits(entry.limits, { ...limits, setBy: setBy(limits, "the JobHost") }),
      permissions,
    });
  }

  /** The folds get the events before all other reporters. */
  #run(spec: JobSpec | TaskSpec, folds: readonly Reporter[]): HostRun {
    const run = this.#host.run(spec, {
      reporters: [
        // First: the callbacks of the others may ask for what it keeps.
        this.#feeds.reporter((id) => this.#host.findSession(id)),
        ...folds,
      ],
    });
    void run.ended.then(({ reporterFailures }) => reporterFailures.forEach(warnOf));
    return run;
  }
}

function warnOf({ reporter, message }: ReporterFailure): void {
  process.emitWarning(`The ${reporter} is incomplete: ${message}`, "AgentJobsWarning");
}
