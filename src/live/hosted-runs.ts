/**
 * Starts jobs, tasks and sessions of the installed entry on a host: what the library's `JobHost` and a server
 * (`live-runs.ts`) have in common. What runs share is in `run/host.ts`.
 *
 * Invariant: the entry changes only while nothing runs.
 */
import { defined } from "../document/guards.ts";
import { noModelOfHost } from "../sessions/sessions.ts";
import { join, resolve } from "node:path";
import { DiagnosticsError, type Diagnostic } from "../document/diagnostic.ts";
import type { JobSpec, TaskSpec } from "../engine/run-job.ts";
import type { Entry, PermissionPreset, Permissions, PreparedEntry } from "../entry/model.ts";
import type { Clock } from "../platform/clock.ts";
import { newRunId, type Reporter, type ReporterFailure } from "../events/sink.ts";
import { withoutAdvice } from "../run/verdict.ts";
import { openJournal } from "../journal/write.ts";
import { effectivePermissions } from "../permissions/rules.ts";
import { stepFiles } from "../run/step-files.ts";
import { permissionsOfTask } from "../run/run-spec.ts";
import { systemClock } from "../platform/system-clock.ts";
import { processEnvironment } from "../platform/environment.ts";
import { errorMessage } from "../platform/system-error.ts";
import { adoptSession, modelOfSession, type ICopilotSession } from "../sessions/callbacks.ts";
import { enter } from "../sessions/session-use.ts";
import { freeModel, type OfferedModel } from "../sessions/offered-models.ts";
import type { Workflow } from "../workflow/model.ts";
import { overrideModels, readEntry } from "../run/entry-files.ts";
import type { Feed } from "./feed.ts";
import { noModelNamed, type FlowReading } from "../run/flows.ts";
import { checkEntry, HostedEntry, type CheckedEntry, type FlowStart } from "./hosted-entry.ts";
import { Host } from "../run/host.ts";
import type { HostRun } from "../run/host-run.ts";
import type { JobHostOptions } from "./host-options.ts";
import { gitHubTokenOf, isCopilotToken } from "../run/options-provider.ts";
import { incompleteText } from "./job-result.ts";
import { HostRehearsal, type Play, type WorkFolder } from "./rehearsal-of-host.ts";
import { modelsNamedBy, OfferedModels, unofferedModels } from "../run/offered-models.ts";
import {
  checkServersOfJob,
  checkServersOfTask,
  serverSecrets,
  type ServerStart,
} from "../run/server-variables.ts";
import { feedCallbacks, SessionFeeds, type FeedSource } from "./session-feeds.ts";

/** Who follows a run. */
export interface Watch extends FeedSource {
  /** Get the events before all other reporters. */
  readonly folds: readonly Reporter[];
}

export interface JobStartOptions extends FlowStart {
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
  readonly #offered: OfferedModels;
  #installed: HostedEntry | undefined;

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
    this.missingModel =
      isReachable || isCopilotToken(gitHubToken) ? undefined : noModelOfHost(gitHubToken);
    this.host = new Host({
      ...options,
      clock,
      environment,
      ...defined({ gitHubToken, transport }),
      kept: [...kept, journals, feedsFolder, ...stepFiles(environment)].filter(
        (path) => path !== undefined,
      ),
      onReporterFailure: warnOf,
    });
    this.#offered = new OfferedModels(clock, () => this.host.listModels());
  }

  /**
   * Checks the entry and uses it from now on; its workflows are read relative to the folder. Throws the diagnostics, or
   * while anything runs.
   */
  install(entry: Entry, folder: string): void {
    this.#ensureIdle();
    const otherTools = this.options.tools?.map(({ name }) => name);
    this.use(checkEntry(entry, folder, this.#reading, otherTools));
  }

  /** Reads an entry or a workflow with what this host allows. Rejects with the diagnostics. */
  async read(file: string, withModels: boolean): Promise<CheckedEntry> {
    const read = await readEntry(file, this.#reading);
    const { rehearsal, models } = this.options;
    const entry = overrideModels(read.entry, { ...rehearsal?.models, ...models });
    const problems = withModels
      ? unofferedModels({ ...read, entry }, await this.#offered.list(), read)
      : [];
    if (problems.length > 0) throw new DiagnosticsError(problems);
    return read;
  }

  /** Uses from now on what has been read and checked. Throws while anything runs. */
  use(checked: CheckedEntry): void {
    this.#ensureIdle();
    const { options, host, clock } = this;
    host.addSecrets(serverSecrets(this.#serverStart(checked)));
    this.#installed = new HostedEntry(checked, {
      options,
      host,
      clock,
      permissions: this.#permissions,
    });
  }

  get warnings(): readonly Diagnostic[] {
    return this.#installed?.warnings ?? [];
  }

  /** The workflow that is the entry, if it is one. */
  get workflow(): Workflow | undefined {
    return this.#installed?.workflow;
  }

  get entry(): PreparedEntry | undefined {
    return this.#installed?.entry;
  }

  /** Throws if there is none. */
  get installed(): PreparedEntry {
    return this.#ensureInstalled().entry;
  }

  /** The job must exist. Undefined: there is a model for it, or it needs none. */
  whyNoModel(jobName: string, params?: Readonly<Record<string, string>>): string | undefined {
    const need = this.#ensureInstalled().modelNeed(jobName, params);
    if (need === "none") return undefined;
    return need === "needed" ? this.missingModel : noModelNamed(need.unnamed);
  }

  #serverStart({ entry, flows }: Pick<CheckedEntry, "entry" | "flows">): ServerStart {
    const { environment } = this.host;
    return { entry, flows, permissions: this.#permissions, environment, env: this.options.env };
  }

  get #reading(): FlowReading {
    return { environment: this.options.env, permissions: this.#permissions };
  }

  #ensureInstalled(): HostedEntry {
    if (this.#installed === undefined)
      throw new Error("No entry is installed. Call installJobsEntry first.");
    return this.#installed;
  }

  #ensureIdle(): void {
    if (this.host.busy)
      throw new Error("Can't install an entry while a job, a task or a session is running.");
  }

  /**
   * The job must exist. Rejects if the host is closed, without the copy that a rehearsal works in, or if a workflow
   * can't begin like this.
   */
  async startJob(start: JobStartOptions, watch: Watch): Promise<HostRun> {
    this.host.ensureOpen();
    const { jobName, workingDirectory, asker = this.options.ask } = start;
    const installed = this.#ensureInstalled();
    const { whole, userInput = start.userInput } = (await installed.begin(start)) ?? {};
    checkServersOfJob(this.#serverStart(installed), jobName, asOption);
    const folder = await this.#rehearsal?.folderOfJob(
      resolve(workingDirectory),
      installed.entry,
      jobName,
      this.#permissions,
      installed.flows,
    );
    const path = folder?.path ?? workingDirectory;
    const inputs = { userInput, workingDirectory: path, whole, ask: asker };
    const spec: JobSpec = { ...installed.spec(inputs), jobName };
    return this.#run(spec, { ...watch, folder, play: this.#rehearsal?.run(path) });
  }

  /** The task must exist. Rejects if the host is closed, and with `BUSY` if somebody else uses the session. */
  async startTask(start: TaskStartOptions, watch: Watch): Promise<HostRun> {
    this.host.ensureOpen();
    const leave = start.session && (await enter(start.session.rawSection, this.clock));
    try {
      const run = await this.#startTask(start, watch);
      if (leave !== undefined) void run.ended.then(leave, leave);
      return run;
    } catch (error) {
      leave?.();
      throw error;
    }
  }

  async #startTask(start: TaskStartOptions, watch: Watch): Promise<HostRun> {
    const { taskName, userInput, workingDirectory, session, modelOverride } = start;
    const entry = this.installed;
    checkServersOfTask(this.#serverStart(this.#ensureInstalled()), taskName, asOption);
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
      ...this.#ensureInstalled().spec({ userInput, workingDirectory: path }),
      taskName,
      ignorePrerequisiteCheck: start.ignorePrerequisiteCheck,
      ...defined({ modelOverride }),
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

  /** What the account or the model server offered within the last minute. If it lists nothing: what the entry names. */
  async listModels(): Promise<readonly OfferedModel[]> {
    const offered = await this.#offered.list();
    if (offered.length > 0 || this.entry === undefined) return offered;
    return modelsNamedBy(this.entry).map(freeModel);
  }

  /** Cancels what runs, ends the sessions, and removes the copies. */
  async close(): Promise<void> {
    await this.host.close();
    await Promise.all(this.#removing);
  }

  #permissionsOf(entry: PreparedEntry, taskName: string): Permissions {
    return permissionsOfTask(entry, taskName, this.#permissions);
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
    try {
      return openJournal(join(journals, journalName(jobName, runId, this.clock.now())));
    } catch (error) {
      const report = (): never => {
        throw new Error(errorMessage(error), { cause: error });
      };
      return { name: "journal", essential: true, report };
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

interface Owned extends Watch {
  /** Removed after the run. */
  readonly folder: WorkFolder | undefined;
  readonly play: Play | undefined;
}

export function warnOf(failure: ReporterFailure): void {
  process.emitWarning(incompleteText(failure), "AgentJobsWarning");
}

/** In the folder of journals. */
function journalName(jobName: string, runId: string, now: number): string {
  // No option of a command, and not hidden.
  const named = jobName.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+/, "");
  const [name = "job"] = /^.{1,40}/su.exec(named) ?? [];
  const start = new Date(now).toISOString().replaceAll(/[:]|\.\d+/g, "");
  return `${name}-${start}-${runId}.jsonl`;
}

function asOption(name: string): string {
  return name;
}
