/**
 * The library's state in one object: the installed entry, what runs, how models are reached. The free
 * functions that `src/index.ts` exports are the methods of a default host; an application with several
 * entries or providers creates hosts of its own.
 *
 * Invariants: the runtime is up only while something runs, so an application that is done can exit; the
 * entry changes only while nothing runs.
 */
import { resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { DiagnosticsError, type Diagnostic } from "../document/diagnostic.ts";
import { prepareEntry } from "../entry/prepare.ts";
import type { Entry, PreparedEntry } from "../entry/model.ts";
import { unusedUserInput } from "../entry/warnings.ts";
import { resolveLimits, setBy } from "../engine/limits.ts";
import type { EnginePorts } from "../engine/ports.ts";
import { runJob as runJobOfEngine, runSingleTask, type TaskSpec } from "../engine/run-job.ts";
import type { RunSpec } from "../engine/job.ts";
import type { RunEventBody, RunOutcome } from "../events/event.ts";
import { createRedactor } from "../events/redact.ts";
import { createSink, type Reporter } from "../events/sink.ts";
import { systemClock } from "../platform/clock.ts";
import { processEnvironment } from "../platform/environment.ts";
import { adoptSession, modelOfSession, type ICopilotSession } from "../sessions/callbacks.ts";
import { unmatchable } from "../permissions/patterns.ts";
import { effectivePermissions } from "../permissions/policy.ts";
import { createSessions, type Sessions } from "../sessions/sessions.ts";
import { createGate } from "./gate.ts";
import { checkHostOptions } from "./host-options.ts";
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
import { SessionFeeds } from "./session-feeds.ts";
import { gitHubTokenOf, modelServer, type JobHostOptions, type ModelAccess } from "./options.ts";
import { knownSecrets } from "./secrets.ts";

/**
 * Runs jobs and tasks of an installed entry inside an application: the installed entry, what runs, and how models
 * are reached. Throws a `TypeError` for options that can't be meant.
 */
export class JobHost {
  readonly #options: JobHostOptions;
  readonly #access: ModelAccess;
  readonly #feeds = new SessionFeeds();
  #entry: PreparedEntry | undefined;
  #warnings: readonly Diagnostic[] = [];
  #sessions: Sessions | undefined;
  /** Jobs, tasks and sessions that need the runtime. */
  #users = 0;

  constructor(options: JobHostOptions = {}) {
    checkHostOptions(options);
    this.#options = options;
    const environment = options.environment ?? processEnvironment();
    const gitHubToken = options.gitHubToken ?? gitHubTokenOf(environment);
    this.#access = {
      ...options,
      environment,
      ...(gitHubToken === undefined ? {} : { gitHubToken }),
    };
  }

  /** Checks the entry and uses it from now on. Rejects with its diagnostics, or while anything runs. */
  async installJobsEntry(entry: Entry): Promise<void> {
    if (this.hasRunningSessions()) {
      throw new Error("An entry can't be installed while sessions are running.");
    }
    const result = prepareEntry(entry, { checkCommandPattern: unmatchable });
    if (result.kind === "rejected") throw new DiagnosticsError(result.diagnostics);
    this.#entry = result.entry;
    this.#warnings = result.warnings;
  }

  /** What the installed entry says that is valid and surely not meant. */
  get entryWarnings(): readonly Diagnostic[] {
    return this.#warnings;
  }

  /** The installed entry. Throws if there is none. */
  ensureInstalledEntry(): Entry {
    return this.#installed();
  }

  /** True while a job, a task or a session of this host runs. */
  hasRunningSessions(): boolean {
    return this.#users > 0;
  }

  /**
   * Starts a job of the installed entry; the promise is for the start, the callback tells the rest.
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
   * Runs a job of the installed entry to its end, for those who need no callbacks. Rejects only for what `startJob`
   * rejects: a job that fails or is canceled is a result too.
   */
  async runJob(jobName: string, options: RunJobOptions = {}): Promise<JobResult> {
    const { userInput = "", workingDirectory = ".", signal } = options;
    const fold = new ResultFold();
    const { job, ended } = this.#startJob(jobName, userInput, workingDirectory, noCallbacks, [
      fold,
    ]);
    const stop = (): void => job.stop();
    if (signal?.aborted === true) stop();
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await ended;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
    return fold.result();
  }

  #startJob(
    jobName: string,
    userInput: string,
    workingDirectory: string,
    callback: ICopilotJobCallback,
    folds: readonly Reporter[],
  ): { readonly job: ICopilotJob; readonly ended: Promise<void> } {
    const entry = this.#installed();
    if (!Object.hasOwn(entry.jobs, jobName))
      throw new Error(`There is no job "${jobName}" in the entry.`);
    const fold = new JobFold(callback);
    const abort = new AbortController();
    const spec = { ...this.#spec(entry, userInput, workingDirectory), jobName };
    const ended = this.#run([fold, ...folds], spec, (ports) =>
      runJobOfEngine(spec, ports, abort.signal),
    );
    const unused = unusedUserInput(entry, jobName, userInput);
    const job: ICopilotJob = {
      warnings: unused === undefined ? [] : [unused],
      get runningWorkIds() {
        return fold.runningWorkIds;
      },
      get status() {
        return fold.status;
      },
      stop() {
        fold.cancel();
        abort.abort("stopped by the caller");
      },
    };
    return { job, ended };
  }

  /**
   * Starts a task of the installed entry. With `drivingSession` it borrows that session, with the model
   * that it has, for everything, and never replaces it: a crash of it fails the task at once. Else it opens and ends sessions of its own. `exceptionHandler` is given the
   * error when the task crashes.
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
    const entry = this.#installed();
    if (!Object.hasOwn(entry.tasks, taskName))
      throw new Error(`There is no task "${taskName}" in the entry.`);
    const fold = new TaskFold({
      callback,
      exceptionHandler,
      borrowed: drivingSession,
      findSession: (id) => this.#feeds.find(id),
    });
    const abort = new AbortController();
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
    void this.#run([fold], spec, (ports) => runSingleTask(spec, ports, abort.signal));
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
        abort.abort("stopped by the caller");
      },
    };
  }

  /** Starts a session that belongs to no task; its responses are kept for `takeSessionResponse`. */
  async helperSessionStart(
    modelId: string,
    workingDirectory = ".",
  ): Promise<[ICopilotSession, string]> {
    const responses = new LiveResponses();
    const redactor = createRedactor(knownSecrets(this.#access));
    const sessions = this.#acquire();
    try {
      const session = await sessions.startSession({
        onEnded: () => {
          this.#feeds.end(session.rawSection.sessionId);
          this.#release();
        },
        modelId,
        callback: responses.callbacks(),
        shown: (activity) => redactor.activities("", activity),
        workingDirectory: resolve(workingDirectory),
        permissions: effectivePermissions(undefined, undefined, this.#options.permissions),
      });
      this.#feeds.start(session, responses);
      return [session, session.rawSection.sessionId];
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  /**
   * Ends a running session of this host; one that has ended already is fine. For a task that runs in it,
   * it has crashed.
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
   * One caller at a time. What a session leaves when it ends can still be taken. A session keeps 16 MB for
   * those who take nothing; in the place of older ones stands `{ callback: "onResponsesDropped", count }`.
   */
  async takeSessionResponse(
    session: ICopilotSession,
    milliseconds: number,
  ): Promise<LiveResponse | undefined> {
    return this.#feeds.take(session, milliseconds);
  }

  #installed(): PreparedEntry {
    if (this.#entry === undefined)
      throw new Error("No entry is installed: call installJobsEntry first.");
    return this.#entry;
  }

  #spec(entry: PreparedEntry, userInput: string, workingDirectory: string): RunSpec {
    return {
      entry,
      userInput,
      workingDirectory: resolve(workingDirectory),
      limits: resolveLimits(entry.limits, {
        ...this.#options.limits,
        setBy: setBy(this.#options.limits, "the JobHost"),
      }),
      permissionsOf: (taskId) =>
        effectivePermissions(
          entry.permissions,
          entry.tasks[taskId]?.permissions,
          this.#options.permissions,
        ),
    };
  }

  #run(
    folds: readonly Reporter[],
    spec: RunSpec,
    start: (ports: EnginePorts) => Promise<RunOutcome>,
  ): Promise<void> {
    const sessions = this.#acquire();
    const sink = createSink({
      clock: systemClock,
      redactor: createRedactor(knownSecrets(this.#access)),
      reporters: [
        // First: the callbacks of the others may ask for what it keeps.
        this.#feeds.reporter((id) => sessions.find(id)),
        ...folds,
        ...(this.#options.reporters ?? []),
      ],
    });
    const ports = {
      sessions: sessions.factory,
      clock: systemClock,
      gate: createGate(spec.limits.parallel),
      random: Math.random,
      awaited: () => sessions.unreachable,
      emit: (event: RunEventBody): void => {
        // Who hears that it has ended may start or install the next thing at once.
        if (event.type === "run.ended") this.#release();
        sink.emit(event);
      },
    };
    return (async () => {
      // Whoever starts something gets the handle first and the callbacks after it.
      await setImmediate();
      await start(ports);
      for (const { reporter, message } of await sink.close()) {
        process.emitWarning(`The ${reporter} is not complete: ${message}`, "AgentJobsWarning");
      }
    })();
  }

  #acquire(): Sessions {
    this.#users += 1;
    this.#sessions ??= createSessions({
      clock: systemClock,
      environment: this.#access.environment,
      runtimePath: this.#access.runtimePath,
      tools: this.#options.tools,
      ...(this.#options.transport === undefined
        ? modelServer(this.#access)
        : { transport: this.#options.transport }),
    });
    return this.#sessions;
  }

  #release(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    const sessions = this.#sessions;
    this.#sessions = undefined;
    void sessions?.stop();
  }
}
