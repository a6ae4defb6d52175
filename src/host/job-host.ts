import type { Entry } from "../entry/model.ts";
import type { Diagnostic } from "../document/diagnostic.ts";
import { unusedUserInput } from "../entry/warnings.ts";
import type { Reporter } from "../events/sink.ts";
import { worksOf } from "../events/view.ts";
import { onAbort } from "../platform/waiting.ts";
import { processEnvironment } from "../platform/environment.ts";
import { modelsOfEnvironment } from "../run/options-provider.ts";
import { defined } from "../text/guards.ts";
import type { ICopilotSession } from "../sessions/callbacks.ts";
import { Feed, type LiveResponse } from "./feed.ts";
import {
  checkOptions,
  withTelemetry,
  type JobHostOptions,
  startOf,
  type JobStartOptions,
} from "./host-options.ts";
import type { HostRun } from "../run/host.ts";
import { HostedRuns } from "./hosted-runs.ts";
import {
  jobReporter,
  jobStatus,
  TaskFold,
  type ICopilotJob,
  type ICopilotJobCallback,
  type ICopilotTask,
  type ICopilotTaskCallback,
  jobResult,
  type JobResult,
  type RunJobOptions,
} from "./job-callbacks.ts";
import { LiveRuns } from "./live-runs.ts";

/** How much a session keeps for `takeSessionResponse`. */
const KEPT = 16 * 1024 * 1024;
const STOPPED = "stopped by the caller";

/**
 * Runs jobs and tasks of an installed entry inside an application: the installed entry, what runs, and how models
 * are reached. Throws a `TypeError` for invalid options.
 */
export class JobHost {
  readonly #runs: HostedRuns;
  #live: LiveRuns | undefined;

  constructor(options: JobHostOptions = {}) {
    checkOptions("JobHost", options);
    this.#runs = new HostedRuns(withTelemetry(options));
  }

  /** The runs of a server: found by id, with feeds for any number of readers. */
  get live(): LiveRuns {
    this.#live ??= new LiveRuns(this.#runs);
    return this.#live;
  }

  /**
   * Checks the entry and uses it from now on. The workflows that its jobs name are read now, relative to `folder`
   * (default: the current directory). Rejects with a `DiagnosticsError`, or while anything runs.
   */
  async installJobsEntry(
    entry: Entry,
    { folder = "." }: { readonly folder?: string } = {},
  ): Promise<void> {
    await this.#runs.install(entry, folder);
  }

  /**
   * Reads an entry file, or a workflow (`NAME.wf.md`) as an entry with one job of its name, checks it with its
   * workflows, and uses it from now on. `checkModels`: each model that it names must be one that the model server or
   * the account offers, if that lists any. Rejects with a `DiagnosticsError`, or while anything runs.
   */
  async installEntryFile(
    file: string,
    { checkModels = false }: { readonly checkModels?: boolean } = {},
  ): Promise<void> {
    this.#runs.use(await this.#runs.read(file, checkModels));
  }

  /** The warnings about the installed entry: valid, but probably not intended. */
  get entryWarnings(): readonly Diagnostic[] {
    return this.#runs.warnings;
  }

  /** The installed entry. Throws if there is none. */
  ensureInstalledEntry(): Entry {
    return this.#runs.installed;
  }

  /** True while a job, a task or a session of this host runs. */
  hasRunningSessions(): boolean {
    return this.#runs.host.busy;
  }

  /**
   * Starts a job of the installed entry; the promise resolves at the start, and the callback reports the rest.
   * Rejects if there is no such job, if it requires user input and there is none, or if it can't continue like this.
   */
  async startJob(
    jobName: string,
    userInput: string,
    workingDirectory: string,
    callback: ICopilotJobCallback,
    options: Omit<RunJobOptions, "userInput" | "workingDirectory" | "signal"> = {},
  ): Promise<ICopilotJob> {
    let stopped = false;
    const reporter = jobReporter(callback, () => stopped);
    const asked = userInput === "" && options.resume !== undefined ? undefined : userInput;
    const start = await startOf(jobName, { ...options, userInput: asked, workingDirectory });
    const run = await this.#startJob(start, reporter);
    const { runId, view } = run;
    const unused = unusedUserInput(this.#runs.installed, jobName, userInput);
    return {
      runId,
      warnings: unused === undefined ? [] : [unused],
      get runningWorkIds() {
        return worksOf(view).flatMap(({ workId, running }) => (running > 0 ? workId : []));
      },
      get status() {
        return jobStatus(view, stopped);
      },
      stop() {
        stopped ||= view.endedAt === undefined;
        run.cancel(STOPPED);
      },
    };
  }

  /**
   * Runs a job of the installed entry to its end, without callbacks. Rejects only for what `startJob`
   * rejects, and with a `TypeError` for invalid options: a job that fails or is canceled is a result too.
   */
  async runJob(jobName: string, options: RunJobOptions = {}): Promise<JobResult> {
    const { signal } = options;
    const run = await this.#startJob(await startOf(jobName, options));
    const result = await jobResult(run).finally(onAbort(signal, () => run.cancel(STOPPED)));
    const { plan, journal } = options;
    const isPlanned = result.outcome.kind === "succeeded" && result.incomplete.length === 0;
    if (plan === undefined || journal === undefined || !isPlanned) return result;
    const { matrixOf } = await import("../run/shards.ts");
    const { include } = await matrixOf(journal, plan.shards, this.#runs.options.journalStore);
    return { ...result, shards: include.map(({ shard }) => shard) };
  }

  async #startJob(start: JobStartOptions, ...folds: Reporter[]): Promise<HostRun> {
    if (!Object.hasOwn(this.#runs.installed.jobs, start.jobName))
      throw new Error(`There is no job "${start.jobName}" in the entry.`);
    return this.#runs.startJob(start, { folds, openFeed: () => this.#newFeed() });
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
    this.#runs.host.ensureOpen();
    if (!Object.hasOwn(this.#runs.installed.tasks, taskName))
      throw new Error(`There is no task "${taskName}" in the entry.`);
    const fold = new TaskFold({
      callback,
      exceptionHandler,
      borrowed: drivingSession,
      findSession: (id) => this.#runs.feeds.find(id),
    });
    const run = await this.#runs.startTask(
      {
        taskName,
        userInput,
        workingDirectory: workingDirectory ?? ".",
        ignorePrerequisiteCheck,
        session: drivingSession,
        modelOverride: taskModelIdOverride,
      },
      { folds: [fold], openFeed: () => this.#newFeed() },
    );
    return {
      get drivingSession() {
        return fold.drivingSession;
      },
      get status() {
        const status = jobStatus(run.view, fold.stopped);
        return status === "Canceled" ? "Failed" : status;
      },
      get crashError() {
        return fold.crashError;
      },
      stop() {
        fold.stopped ||= run.view.endedAt === undefined;
        run.cancel(STOPPED);
      },
    };
  }

  /** Starts a session that belongs to no task; its responses are kept for `takeSessionResponse`. */
  async helperSessionStart(
    modelId: string,
    workingDirectory = ".",
  ): Promise<[ICopilotSession, string]> {
    const feed = this.#newFeed();
    const session = await this.#runs.startSession(modelId, workingDirectory, feed);
    return [session, session.rawSection.sessionId];
  }

  /**
   * Ends a running session of this host; one that has ended already is fine. A task that runs in it
   * sees a crash.
   */
  async helperSessionStop(session: ICopilotSession): Promise<void> {
    await this.#runs.feeds.find(session.rawSection.sessionId)?.stop();
  }

  /** A running session of this host: one of `helperSessionStart`, or of a task that runs. */
  helperGetSession(sessionId: string): ICopilotSession | undefined {
    return this.#runs.feeds.find(sessionId);
  }

  /** Adds a response to the queue of a running session. */
  helperPushSessionResponse(session: ICopilotSession, response: LiveResponse): void {
    this.#runs.feeds.push(session, response);
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
    const taken = await this.#runs.feeds.take(session, milliseconds);
    if (taken?.kind === "busy")
      throw new Error("Another caller is already waiting for the next response.");
    if (taken?.kind !== "response") return undefined;
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the feed made the text of such an object
    return JSON.parse(taken.json) as LiveResponse;
  }

  /**
   * Cancels the jobs and tasks that run, ends all sessions and the runtime, and closes the reporters: within
   * seconds, and once, however often it is called. Nothing can be started on the host any more. One that is not
   * closed lets the process exit too, but its reporters stay open.
   */
  async close(): Promise<void> {
    await this.#runs.close();
    this.#live?.dispose();
  }

  /** Ends the runtime and all it started by force and at once, for a process that has no time left to close. */
  kill(): void {
    this.#runs.host.kill();
  }

  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #newFeed(): Feed {
    const { clock } = this.#runs;
    return new Feed({ clock, kept: KEPT });
  }
}

let host: JobHost | undefined;

function defaultHost(): JobHost {
  host ??= new JobHost(defined(modelsOfEnvironment(processEnvironment())));
  return host;
}

/** A method of the default host. */
function ofDefaultHost<Name extends keyof Methods>(name: Name): JobHost[Name] {
  const call = (...args: readonly unknown[]): unknown =>
    Reflect.apply(defaultHost()[name], defaultHost(), args);
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- it passes on what it gets
  return call as JobHost[Name];
}
type Methods = Omit<JobHost, "live" | "entryWarnings" | symbol>;

/** Checks an entry and uses it from now on: `JobHost.installJobsEntry` of the default host. */
export const installJobsEntry = ofDefaultHost("installJobsEntry");
/** The installed entry; throws if there is none: `JobHost.ensureInstalledEntry` of the default host. */
export const ensureInstalledEntry = ofDefaultHost("ensureInstalledEntry");
/** Starts a job and reports to its callbacks: `JobHost.startJob` of the default host. */
export const startJob = ofDefaultHost("startJob");
/** Runs a job and returns its result: `JobHost.runJob` of the default host. */
export const runJob = ofDefaultHost("runJob");
/** Starts a task without a job: `JobHost.startTask` of the default host. */
export const startTask = ofDefaultHost("startTask");
/** True while anything of the default host runs: `JobHost.hasRunningSessions`. */
export const hasRunningSessions = ofDefaultHost("hasRunningSessions");
/** Starts a session that belongs to no task: `JobHost.helperSessionStart` of the default host. */
export const helperSessionStart = ofDefaultHost("helperSessionStart");
/** Ends a session: `JobHost.helperSessionStop` of the default host. */
export const helperSessionStop = ofDefaultHost("helperSessionStop");
/** A running session by its id: `JobHost.helperGetSession` of the default host. */
export const helperGetSession = ofDefaultHost("helperGetSession");
/** Adds a response to the queue of a session: `JobHost.helperPushSessionResponse` of the default host. */
export const helperPushSessionResponse = ofDefaultHost("helperPushSessionResponse");
/** Takes the next response of a session: `JobHost.takeSessionResponse` of the default host. */
export const takeSessionResponse = ofDefaultHost("takeSessionResponse");
