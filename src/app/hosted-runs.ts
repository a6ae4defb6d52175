/**
 * Starts jobs, tasks and sessions of the installed entry on a host: what the library's `JobHost` and a server
 * (`live-runs.ts`) have in common. What runs share is in `host.ts`.
 *
 * Invariant: the entry changes only while nothing runs.
 */
import { noModelOfHost } from "../sessions/sessions.ts";
import { join, resolve } from "node:path";
import { DiagnosticsError, type Diagnostic } from "../document/diagnostic.ts";
import { resolveLimits, setBy, type ResolvedLimits } from "../engine/limits.ts";
import type { RunSpec } from "../engine/plan.ts";
import type { JobSpec, TaskSpec } from "../engine/run-job.ts";
import type { Entry, PermissionPreset, Permissions, PreparedEntry } from "../entry/model.ts";
import { prepareEntry } from "../entry/prepare.ts";
import { taskWorks } from "../entry/work.ts";
import type { Clock } from "../events/clock.ts";
import { newRunId, type Reporter, type ReporterFailure } from "../events/sink.ts";
import { withoutAdvice } from "./verdict.ts";
import { openJournal } from "../journal/write.ts";
import { unmatchable } from "../permissions/patterns.ts";
import { effectivePermissions } from "../permissions/rules.ts";
import { systemClock } from "../platform/clock.ts";
import { processEnvironment } from "../platform/environment.ts";
import { errorMessage } from "../platform/system-error.ts";
import { adoptSession, modelOfSession, type ICopilotSession } from "../sessions/callbacks.ts";
import { freeModel, type OfferedModel } from "../sessions/offered-models.ts";
import type { Asker } from "../workflow/ask.ts";
import type { Workflow } from "../workflow/model.ts";
import { overrideModels, readEntry, type ReadEntry } from "./entry-files.ts";
import type { Feed } from "./feed.ts";
import {
  flowSpecs,
  loadFlows,
  modelNeed,
  noModelNamed,
  type FlowReading,
  type WholeFlow,
} from "./flows.ts";
import { Host, type HostRun } from "./host.ts";
import type { JobHostOptions } from "./host-options.ts";
import { UsageError } from "./options.ts";
import { gitHubTokenOf } from "./options-provider.ts";
import { HostRehearsal, type Play, type WorkFolder } from "./rehearsal-of-host.ts";
import { runSpec } from "./run-spec.ts";
import { feedCallbacks, SessionFeeds, type FeedSource } from "./session-feeds.ts";
import type { WorkflowRunOptions } from "./workflow-options.ts";
import { startOfWorkflow } from "./workflow-run.ts";

/** To ask an account may take a start of the runtime. */
const MODELS_KEPT_MS = 60_000;

/** Who follows a run. */
export interface Watch extends FeedSource {
  /** Get the events before all other reporters. */
  readonly folds: readonly Reporter[];
}

export interface JobStartOptions extends Pick<
  WorkflowRunOptions,
  "params" | "asker" | "resume" | "rerun" | "onResult"
> {
  readonly jobName: string;
  readonly userInput: string;
  readonly workingDirectory: string;
}

export interface TaskStartOptions {
  readonly taskName: string;
  readonly userInput: string;
  readonly workingDirectory: string;
  readonly ignorePrerequisiteCheck: boolean;
  /** Borrowed. Default: the task opens sessions of its own. */
  readonly session?: ICopilotSession | undefined;
  readonly modelOverride?: string | undefined;
}

export class HostedRuns {
  readonly options: JobHostOptions;
  readonly clock: Clock;
  readonly host: Host;
  readonly feeds = new SessionFeeds();
  /** Why no model can answer; undefined: one can. */
  readonly missingModel: string | undefined;
  readonly #rehearsal: HostRehearsal | undefined;
  readonly #permissions: PermissionPreset | undefined;
  readonly #removing = new Set<Promise<void>>();
  /** Where the sessions of no run work in a rehearsal. A task that borrows one works there too. */
  readonly #places = new WeakMap<ICopilotSession["rawSection"], string>();
  #entry: PreparedEntry | undefined;
  /** As it was installed, without other models. */
  #installed: InstalledEntry | undefined;
  #offered: { readonly at: number; readonly models: Promise<readonly OfferedModel[]> } | undefined;

  /** `kept`: files that runs write about themselves, besides those of the options. */
  constructor(options: JobHostOptions, kept: readonly string[] = []) {
    this.options = options;
    const { clock = systemClock, rehearsal, inPlace = false, journals, feedsFolder } = options;
    this.clock = clock;
    const environment = options.environment ?? processEnvironment();
    const gitHubToken = options.gitHubToken ?? gitHubTokenOf(environment);
    this.#rehearsal =
      rehearsal && new HostRehearsal({ script: rehearsal, inPlace, environment, clock });
    this.#permissions = options.permissions ?? rehearsal?.permissions;
    const transport = this.#rehearsal ?? options.transport;
    const isReachable = transport !== undefined || options.provider !== undefined;
    this.missingModel = isReachable || (gitHubToken ?? "") !== "" ? undefined : noModelOfHost;
    this.host = new Host({
      ...options,
      clock,
      environment,
      ...(gitHubToken === undefined ? {} : { gitHubToken }),
      ...(transport === undefined ? {} : { transport }),
      kept: [...kept, journals, feedsFolder].filter((path) => path !== undefined),
      onReporterFailure: warnOf,
    });
  }

  /**
   * Checks the entry and uses it from now on; its workflows are read relative to the folder. Throws the diagnostics, or
   * while anything runs.
   */
  install(entry: Entry, folder: string): void {
    this.#ensureIdle();
    const result = prepareEntry(entry, { checkCommandPattern: unmatchable });
    if (result.kind === "rejected") throw new DiagnosticsError(result.diagnostics);
    const flows = loadFlows(result.entry, folder, this.#reading);
    const ofFlows = Object.values(flows).flatMap((flow) => flow.warnings);
    this.use({ entry: result.entry, flows, warnings: [...result.warnings, ...ofFlows] });
  }

  /** Reads an entry or a workflow with what this host allows. Rejects with the diagnostics. */
  async read(file: string): Promise<ReadEntry> {
    return readEntry(file, this.#reading);
  }

  /** Uses from now on what has been read and checked. Throws while anything runs. */
  use(installed: InstalledEntry): void {
    this.#ensureIdle();
    const models = { ...this.options.rehearsal?.models, ...this.options.models };
    this.#entry = overrideModels(installed.entry, models);
    this.#installed = installed;
  }

  get warnings(): readonly Diagnostic[] {
    return this.#installed?.warnings ?? [];
  }

  /** The workflow that is the entry, if it is one. */
  get workflow(): Workflow | undefined {
    const { whole, flows } = this.#installed ?? {};
    return whole === undefined ? undefined : flows?.[whole]?.workflow;
  }

  /** The job must exist. Undefined: there is a model for it, or it needs none. */
  whyNoModel(jobName: string): string | undefined {
    const need = modelNeed(this.installed, jobName, this.#installed?.flows ?? {});
    if (need === "none") return undefined;
    return need === "needed" ? this.missingModel : noModelNamed(need.unnamed);
  }

  get #reading(): FlowReading {
    return { environment: this.options.env, permissions: this.#permissions };
  }

  #ensureIdle(): void {
    if (this.host.busy)
      throw new Error("Can't install an entry while a job, a task or a session is running.");
  }

  get entry(): PreparedEntry | undefined {
    return this.#entry;
  }

  /** Throws if there is none. */
  get installed(): PreparedEntry {
    if (this.#entry === undefined)
      throw new Error("No entry is installed. Call installJobsEntry first.");
    return this.#entry;
  }

  /**
   * The job must exist. Rejects if the host is closed, without the copy that a rehearsal works in, or if a workflow
   * can't begin like this.
   */
  async startJob(start: JobStartOptions, watch: Watch): Promise<HostRun> {
    this.host.ensureOpen();
    const { jobName, workingDirectory } = start;
    const entry = this.installed;
    const { flows = {} } = this.#installed ?? {};
    const need = modelNeed(entry, jobName, flows);
    if (typeof need === "object") throw new UsageError(noModelNamed(need.unnamed));
    const { whole, userInput = start.userInput } = (await this.#startOfWorkflow(start)) ?? {};
    const folder = await this.#rehearsal?.folderOfJob(
      resolve(workingDirectory),
      entry,
      jobName,
      this.#permissions,
      flows,
    );
    const path = folder?.path ?? workingDirectory;
    const { asker = this.options.ask } = start;
    const spec: JobSpec = {
      ...this.#spec(entry, userInput, path, { whole, ask: asker }),
      jobName,
    };
    return this.#run(spec, { ...watch, folder, play: this.#rehearsal?.run(path) });
  }

  /** The task must exist. Rejects if the host is closed. */
  async startTask(start: TaskStartOptions, watch: Watch): Promise<HostRun> {
    this.host.ensureOpen();
    const { taskName, userInput, workingDirectory, session, modelOverride } = start;
    const entry = this.installed;
    const { clock } = this;
    const modelId =
      (session && (await modelOfSession(session, clock))) ?? modelOverride ?? entry.models.driving;
    const folder =
      session === undefined
        ? await this.#rehearsal?.folderOfSession(
            resolve(workingDirectory),
            this.#permissionsOf(entry, taskName),
          )
        : undefined;
    const place = session && this.#places.get(session.rawSection);
    const path = folder?.path ?? place ?? workingDirectory;
    const spec: TaskSpec = {
      ...this.#spec(entry, userInput, path),
      taskName,
      ignorePrerequisiteCheck: start.ignorePrerequisiteCheck,
      ...(modelOverride === undefined ? {} : { modelOverride }),
      ...(session === undefined ? {} : { borrowed: adoptSession(session, { modelId, clock }) }),
    };
    const play =
      session === undefined
        ? this.#rehearsal?.run(path)
        : this.#rehearsal?.borrowed(resolve(path), session.rawSection.sessionId);
    return this.#run(spec, { ...watch, folder, play });
  }

  /** Rejects if it can't be opened, or if the host is closed. `onEnded`: the session has ended, for any reason. */
  async startSession(
    modelId: string,
    workingDirectory: string,
    feed: Feed,
    onEnded?: () => void,
  ): Promise<ICopilotSession> {
    this.host.ensureOpen();
    const permissions = effectivePermissions(undefined, undefined, this.#permissions);
    const path = resolve(workingDirectory);
    const folder = await this.#rehearsal?.folderOfSession(path, permissions);
    const place = folder?.path ?? path;
    const play = this.#rehearsal?.session(place);
    let session: ICopilotSession | undefined;
    try {
      session = await this.host.startSession({
        onEnded: () => {
          // It may have to end as soon as it is open.
          if (session !== undefined) this.feeds.end(session.rawSection.sessionId);
          play?.end();
          this.#remove(folder);
          onEnded?.();
        },
        modelId,
        callback: feedCallbacks(feed),
        workingDirectory: place,
        permissions,
      });
      play?.onSession(session.rawSection.sessionId);
      if (folder !== undefined) this.#places.set(session.rawSection, place);
      this.feeds.start(session, feed);
      return session;
    } catch (error) {
      this.#remove(folder);
      throw error;
    }
  }

  /** What the account or the model server offers, as it said within the last minute, and what the entry names. */
  async listModels(): Promise<readonly OfferedModel[]> {
    const now = this.clock.now();
    if (this.#offered === undefined || now - this.#offered.at > MODELS_KEPT_MS)
      this.#offered = { at: now, models: this.host.listModels() };
    const asked = this.#offered;
    const offered = await asked.models.catch(() => []);
    if (offered.length === 0 && this.#offered === asked) this.#offered = undefined;
    const ids = new Set(offered.map(({ id }) => id));
    return [...offered, ...this.entryModels.filter((id) => !ids.has(id)).map(freeModel)];
  }

  /** The ids of the models that the entry names. */
  get entryModels(): readonly string[] {
    if (this.#entry === undefined) return [];
    const { models, tasks, jobs, drivingSessionRetries = [] } = this.#entry;
    const ofTasks = Object.values(tasks).map(({ model }) => model);
    const ofWorks = Object.values(jobs).flatMap(({ work }) =>
      taskWorks<number>(work).map(({ modelOverride }) => modelOverride),
    );
    const named = [...ofTasks, ...ofWorks].flatMap((model) =>
      model !== undefined && "id" in model ? [model.id] : [],
    );
    const ofRetries = drivingSessionRetries.map(({ modelId }) => modelId);
    return [...new Set([...Object.values(models), ...ofRetries, ...named])];
  }

  /** Cancels what runs, ends the sessions, and removes the copies. */
  async close(): Promise<void> {
    await this.host.close();
    await Promise.all(this.#removing);
  }

  #permissionsOf(entry: PreparedEntry, taskName: string): Permissions {
    return effectivePermissions(
      entry.permissions,
      entry.tasks[taskName]?.permissions,
      this.#permissions,
    );
  }

  async #startOfWorkflow(start: JobStartOptions): ReturnType<typeof startOfWorkflow> {
    const { params = {} } = start;
    const { env, rehearsal, executors } = this.options;
    const entry = this.installed;
    const { flows = {}, whole } = this.#installed ?? {};
    if (whole === undefined && Object.keys(params).length > 0)
      throw new UsageError(
        "Only a workflow (*.wf.md) has parameters. The entry names those of its jobs.",
      );
    const options = {
      ...start,
      environment: this.host.environment,
      write: (option: string) => option,
      ...(env === undefined ? {} : { env }),
      ...(executors === undefined ? {} : { executors }),
    };
    return startOfWorkflow(
      { flows, ...(whole === undefined ? {} : { whole }) },
      {
        options,
        script: rehearsal,
        entry,
        limits: this.#limits(entry),
        permissions: this.#permissions,
      },
    );
  }

  #spec(
    entry: PreparedEntry,
    userInput: string,
    workingDirectory: string,
    {
      whole,
      ask,
    }: { readonly whole?: WholeFlow | undefined; readonly ask?: Asker | undefined } = {},
  ): RunSpec {
    const { flows = {}, entry: fingerprintOf = entry } = this.#installed ?? {};
    const { env, answers, executors, rehearsal } = this.options;
    return runSpec({
      entry,
      fingerprintOf,
      flows,
      specsOf: (run) =>
        flowSpecs(flows, {
          ...run,
          environment: this.host.environment,
          env,
          answers: { ...rehearsal?.answers, ...answers },
          ask,
          executors,
          clock: this.clock,
          redact: () => this.host.redactor.stream(),
          whole,
        }),
      userInput,
      workingDirectory: resolve(workingDirectory),
      limits: this.#limits(entry),
      permissions: this.#permissions,
    });
  }

  #limits(entry: PreparedEntry): ResolvedLimits {
    const { limits, rehearsal, limitNames = setBy(limits, "the JobHost") } = this.options;
    return resolveLimits(
      entry.limits,
      rehearsal && { ...rehearsal.limits, setBy: setBy(rehearsal.limits, rehearsal.file) },
      { ...limits, setBy: limitNames },
    );
  }

  #run(spec: JobSpec | TaskSpec, owned: Owned): HostRun {
    const { folds, folder, play } = owned;
    const runId = newRunId();
    let run: HostRun;
    try {
      this.host.ensureOpen();
      const journal = "jobName" in spec ? this.#journal(spec.jobName, runId) : undefined;
      run = this.host.run(spec, {
        runId,
        onSession: play?.onSession,
        ...(play === undefined ? {} : { rewrite: withoutAdvice }),
        reporters: [
          // First: the callbacks of the others may ask for what it keeps.
          this.feeds.reporter((id) => this.host.findSession(id), owned),
          ...folds,
          ...[journal, play?.reporter].filter((reporter) => reporter !== undefined),
        ],
      });
    } catch (error) {
      this.#remove(folder);
      play?.end();
      throw error;
    }
    void run.ended
      .then(({ reporterFailures }) => reporterFailures.forEach(warnOf))
      .finally(() => {
        play?.end();
        this.#remove(folder);
      });
    return run;
  }

  /** A journal that can't be written ends no run. */
  #journal(jobName: string, runId: string): Reporter | undefined {
    const { journals } = this.options;
    if (journals === undefined) return undefined;
    // No option of a command, and not hidden.
    const named = jobName.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+/, "");
    const [name = "job"] = /^.{1,40}/su.exec(named) ?? [];
    const start = new Date(this.clock.now()).toISOString().replaceAll(/[:]|\.\d+/g, "");
    try {
      return openJournal(join(journals, `${name}-${start}-${runId}.jsonl`));
    } catch (error) {
      warnOf({ reporter: "journal", message: errorMessage(error), count: 1 });
      return undefined;
    }
  }

  #remove(folder: WorkFolder | undefined): void {
    if (folder === undefined) return;
    const removing = folder
      .remove()
      .catch(() => undefined)
      .finally(() => this.#removing.delete(removing));
    this.#removing.add(removing);
  }
}

/** An entry as it was read, with its workflows. */
type InstalledEntry = Pick<ReadEntry, "entry" | "warnings" | "flows" | "whole">;

interface Owned extends Watch {
  /** Removed after the run. */
  readonly folder: WorkFolder | undefined;
  readonly play: Play | undefined;
}

export function warnOf({ reporter, message }: ReporterFailure): void {
  process.emitWarning(`The ${reporter} is incomplete: ${message}`, "AgentJobsWarning");
}
