/** Starts jobs, tasks and sessions of the installed entry on a host. The entry changes only while nothing runs. */
import { noModelOfHost } from "../sessions/sessions.ts";
import { resolve } from "node:path";
import { type Diagnostic, DiagnosticsError } from "../document/diagnostic.ts";
import { setBy } from "../engine/limits.ts";
import type { JobSpec, TaskSpec } from "../engine/plan.ts";
import {
  type Entry,
  idOf,
  type PermissionPreset,
  type PreparedEntry,
  type Work,
} from "../entry/model.ts";
import { subjectOfJob } from "../run/job-subject.ts";
import type { Clock } from "../platform/clock.ts";
import { factsOf } from "../events/plan.ts";
import { newRunId, type Reporter } from "../events/sink.ts";
import {
  allowChanges,
  permissionScopes,
  checkSandboxOption,
  gitSandbox,
  mayChangeFiles,
  permissionsOfTask,
} from "../run/callers.ts";
import { beginJob, type SettledEntry, settleEntry } from "../run/prepare.ts";
import { warnIncomplete } from "./job-callbacks.ts";
import type { JobStartOptions } from "./job-start.ts";
import { journalsIn } from "../journal/store.ts";
import type { ResumedJob } from "../run/resume-job.ts";
import { recordFiles, type RecordPaths } from "../run/records.ts";
import { runSpec } from "../run/run-spec.ts";
import { withoutAdvice } from "../run/rehearsal-verdict.ts";
import { effectivePermissions } from "../permissions/rules.ts";
import { systemClock } from "../platform/system-clock.ts";
import { processEnvironment } from "../platform/environment.ts";
import { adoptSession, type ICopilotSession, modelOfSession } from "../sessions/callbacks.ts";
import { enter } from "../sessions/callbacks.ts";
import { serverModel, type OfferedModel } from "../sessions/offered-models.ts";
import type { Workflow } from "../workflow/model.ts";
import { type CheckedEntry, checkEntry, flowsOf, readEntry } from "../run/entry-files.ts";
import type { Feed } from "./feed.ts";
import { type FlowReading, asksModels } from "../run/flows.ts";
import { Host, type HostRun } from "../run/host.ts";
import type { JobHostOptions } from "./host-options.ts";
import { openJournalIn, openRunJournal, withJournal, type RunJournal } from "./run-journal.ts";
import { asOption, missingUserInput, UsageError } from "../run/options.ts";
import { gitHubTokenOf, isCopilotToken } from "../run/options-provider.ts";
import type { WorkFolder } from "../run/working-copy.ts";
import { HostRehearsal, type Play } from "./rehearsal-of-host.ts";
import { checkGiven, NotStarted, refuseParams } from "./refusals.ts";
import { modelsNamedBy, modelsOnceAMinute, unofferedModels } from "../run/offered-models.ts";
import { checkServersOfTask, reservedSecrets } from "../run/variables.ts";
import { feedCallbacks, SessionFeeds } from "./session-feeds.ts";

export interface Watch {
  readonly folds: readonly Reporter[];
  /** Rejects if models are asked and none can be reached. Otherwise, the run fails. */
  readonly needsModels?: true;
  /** Makes the feed of a session of the run. */
  readonly openFeed: (sessionId: string) => Feed;
}

export interface TaskStartOptions extends Pick<
  TaskSpec,
  "taskName" | "userInput" | "workingDirectory" | "ignorePrerequisiteCheck" | "modelOverride"
> {
  /** Borrowed. Undefined: the task opens sessions of its own. */
  readonly session?: ICopilotSession | undefined;
}

interface Installed extends CheckedEntry {
  readonly settled: SettledEntry;
}

export class HostedRuns {
  readonly options: JobHostOptions;
  readonly clock: Clock;
  readonly host: Host;
  readonly feeds = new SessionFeeds();
  readonly #missingModel: string | undefined;
  readonly #rehearsal: HostRehearsal | undefined;
  readonly #permissions: PermissionPreset | undefined;
  /** Files that no file tool writes to. */
  readonly kept: string[];
  readonly #removing = new Set<Promise<void>>();
  /** Where the sessions of no run work in a rehearsal. A task that borrows one works there too. */
  readonly #places = new WeakMap<ICopilotSession["rawSection"], string>();
  readonly #offered: ReturnType<typeof modelsOnceAMinute>;
  #installed: Installed | undefined;

  /** `records`: what the only run writes about itself. */
  constructor(options: JobHostOptions, records: RecordPaths = {}) {
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
    this.#missingModel =
      isReachable || isCopilotToken(gitHubToken) ? undefined : noModelOfHost(gitHubToken);
    this.kept = [...recordFiles(records, environment), journals, feedsFolder].filter(
      (path) => path !== undefined,
    );
    this.host = new Host({
      ...options,
      clock,
      environment,
      gitHubToken,
      transport,
      kept: this.kept,
      keepsRuntime: true,
      onReporterFailure: warnIncomplete,
    });
    this.#offered = modelsOnceAMinute(clock, () => this.host.listModels());
  }

  /** Its workflows are read relative to the folder. Throws the diagnostics, or while anything runs. */
  async install(entry: Entry, folder: string): Promise<void> {
    const otherTools = (this.options.tools ?? []).map(({ name }) => name);
    const { leaves, ...checked } = checkEntry(entry, otherTools);
    if (leaves.length === 0) return this.use({ ...checked, flows: {} });
    const { flows, warnings } = await flowsOf({ ...checked, leaves }, folder, this.#reading);
    this.use({ ...checked, flows, warnings: [...checked.warnings, ...warnings] });
  }

  async read(file: string, withModels: boolean): Promise<CheckedEntry> {
    const read = await readEntry(file, this.#reading);
    const problems = withModels
      ? unofferedModels(this.#settled(read), await this.#offered(), read)
      : [];
    if (problems.length > 0) throw new DiagnosticsError(problems);
    return read;
  }

  /** Throws while anything runs, and for options that it doesn't allow. */
  use(checked: CheckedEntry): void {
    if (this.host.busy)
      throw new Error("Can't install an entry while a job, a task or a session is running.");
    const settled = this.#settled(checked);
    const { entry, permissions, flows } = settled;
    const callers = Object.keys(entry.jobs).flatMap((name) =>
      permissionScopes(entry, name, permissions, flows),
    );
    checkSandboxOption(this.options.sandbox, callers, (option) => `The option ${option}`);
    this.host.addSecrets(reservedSecrets({ ...settled, environment: this.host.environment }));
    this.#installed = { ...checked, settled };
  }

  get warnings(): readonly Diagnostic[] {
    return this.#installed?.warnings ?? [];
  }

  get workflow(): Workflow | undefined {
    const { whole, flows = {} } = this.#installed ?? {};
    return whole === undefined ? undefined : flows[whole]?.workflow;
  }

  get entry(): PreparedEntry | undefined {
    return this.#installed?.settled.entry;
  }

  get installed(): PreparedEntry {
    return this.#ensureInstalled().settled.entry;
  }

  #settled(read: CheckedEntry): SettledEntry {
    const { rehearsal, limits, limitNames = setBy(limits, "the JobHost") } = this.options;
    const { environment } = this.host;
    return settleEntry(read, { ...this.options, limitNames, environment }, rehearsal);
  }

  get #reading(): FlowReading {
    return { environment: this.options.env, permissions: this.#permissions };
  }

  #ensureInstalled(): Installed {
    if (this.#installed === undefined)
      throw new Error("No entry is installed. Call installJobsEntry first.");
    return this.#installed;
  }

  /** The job must exist. Rejects if the host is closed, or if a workflow can't begin like this. */
  async startJob(start: JobStartOptions, watch: Watch): Promise<HostRun> {
    this.host.ensureOpen();
    const { jobName, params = {}, asker: ask = this.options.ask } = start;
    const { rehearsal: script, journalStore, limits, budget } = this.options;
    const { settled, ...installed } = this.#ensureInstalled();
    const { entry, permissions, flows } = settled;
    if (installed.whole === undefined) refuseParams(params);
    const { environment, rehearses } = this.host;
    const store = journalStore && journalsIn(journalStore);
    const share = budget === undefined ? start.share : "all";
    const given = { ...start, store, limits, share };
    const options = { ...given, environment, script, rehearses, write: asOption };
    const begun = await beginJob(installed, settled, jobName, options);
    const { whole, past, fanOut, resumed, userInput } = begun;
    const before = resumed?.inputs ?? { ...script?.inputs, ...start.inputs };
    const inputs = checkGiven(entry, jobName, { userInput, inputs: before });
    // Throws for a workflow without a model.
    const asks = asksModels(entry, jobName, flows, whole?.params);
    if (asks && watch.needsModels === true && this.#missingModel !== undefined)
      throw new NotStarted("NotStarted", this.#missingModel);
    const changes = mayChangeFiles(entry, jobName, permissions, flows);
    const journal = await openRunJournal(start, this);
    return withJournal(journal, async () => {
      const { work } = entry.jobs[jobName] ?? {};
      const place = await this.#place(work, start.workingDirectory, changes, resumed);
      const asked = { userInput, inputs, whole, past, fanOut, limits: begun.limits, ask };
      const spec = {
        ...runSpec(this.host, { ...settled, ...factsOf(start), ...asked, ...place }),
        jobName,
      };
      const play = this.#rehearsal?.run(place.workingDirectory, place.change?.diffFile);
      return this.#run(spec, { ...watch, folder: place.folder, play, journal });
    });
  }

  /** The task must exist. Rejects if the host is closed, and with `BUSY` if somebody else uses the session. */
  async startTask(start: TaskStartOptions, watch: Watch): Promise<HostRun> {
    this.host.ensureOpen();
    if (start.session === undefined) return this.#startTask(start, watch);
    const use = await enter(start.session.rawSection, this.clock);
    const end: Reporter = { report: ({ type }) => void (use.isEnding ||= type === "run.ended") };
    const starting = this.#startTask(start, { ...watch, folds: [end, ...watch.folds] });
    void starting.then(({ ended }) => ended).then(use.leave, use.leave);
    return starting;
  }

  async #startTask(start: TaskStartOptions, watch: Watch): Promise<HostRun> {
    const { taskName, userInput, session, modelOverride } = start;
    const { settled } = this.#ensureInstalled();
    const { entry, permissions } = settled;
    const noInput = missingUserInput("task", taskName, entry.tasks[taskName], userInput);
    if (noInput !== undefined) throw new UsageError(noInput);
    const { environment, rehearses } = this.host;
    checkServersOfTask({ ...settled, environment, rehearses }, taskName, asOption);
    const { clock } = this;
    const lentModel = session && (await modelOfSession(session, clock));
    const modelId = lentModel ?? modelOverride ?? idOf(entry.models.driving);
    const work = { kind: "Ref", taskId: taskName, workIdInJob: 0 } as const;
    const lent = session && this.#places.get(session.rawSection);
    const changes = allowChanges(permissionsOfTask(entry, taskName, permissions));
    const named = lent ?? start.workingDirectory;
    const place = await this.#place(work, named, session === undefined ? changes : undefined);
    const { workingDirectory, change, folder, ...subject } = place;
    const spec: TaskSpec = {
      ...runSpec(this.host, { ...settled, userInput, workingDirectory, change, ...subject }),
      taskName,
      ignorePrerequisiteCheck: start.ignorePrerequisiteCheck,
      modelOverride,
      borrowed: session && adoptSession(session, { modelId, clock }),
    };
    const play =
      session === undefined
        ? this.#rehearsal?.run(workingDirectory, change?.diffFile)
        : this.#rehearsal?.borrowed(workingDirectory, session.rawSection.sessionId);
    return this.#run(spec, { ...watch, folder, play });
  }

  /** Where a run works, and its change. `changes`: tools may change the folder. Undefined: it is that of a session. */
  async #place(
    work: Work<number> | undefined,
    named: string,
    changes: boolean | undefined,
    resumed?: ResumedJob,
  ) {
    const { options, installed: entry } = this;
    const made =
      changes === undefined ? undefined : await this.#rehearsal?.folder(resolve(named), changes);
    const path = resolve(made?.path ?? named);
    const subject = await subjectOfJob({
      entry,
      work,
      resumed: resumed?.conversation,
      place: { path, remove: async () => made?.remove() },
      environment: this.host.environment,
      sandbox: gitSandbox(entry, this.#permissions),
      script: options.rehearsal,
      options,
      write: asOption,
    });
    const folder = subject.change ?? made;
    try {
      resumed?.checkSubject(subject.change?.head, subject.instructions?.planned.files);
    } catch (error) {
      this.#remove(folder);
      throw error;
    }
    return { workingDirectory: path, ...subject, folder };
  }

  /** Rejects if it can't be opened, or if the host is closed. */
  async startSession(
    modelId: string,
    workingDirectory: string,
    feed: Feed,
  ): Promise<ICopilotSession> {
    this.host.ensureOpen();
    const permissions = effectivePermissions(undefined, undefined, this.#permissions);
    const path = resolve(workingDirectory);
    const folder = await this.#rehearsal?.folder(path, allowChanges(permissions));
    const place = folder?.path ?? path;
    const play = this.#rehearsal?.session(place);
    const end = (): void => {
      play?.end();
      this.#remove(folder);
      feed.close();
    };
    let session: ICopilotSession | undefined;
    try {
      session = await this.host.startSession({
        onEnded: () => {
          // A host that closes ends it before it is known here.
          if (session !== undefined) this.feeds.end(session.rawSection.sessionId);
          end();
        },
        modelId,
        callback: feedCallbacks(feed),
        workingDirectory: place,
        permissions,
      });
      play?.join(session.rawSection.sessionId);
      if (folder !== undefined) this.#places.set(session.rawSection, place);
      this.feeds.start(session, feed);
      return session;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** If nothing is listed: what the entry names. */
  async listModels(): Promise<readonly OfferedModel[]> {
    const offered = await this.#offered();
    if (offered.length > 0 || this.entry === undefined) return offered;
    return modelsNamedBy(this.entry).map(serverModel);
  }

  async close(): Promise<void> {
    await this.host.close();
    await Promise.all(this.#removing);
  }

  #run(spec: JobSpec | TaskSpec, owned: Owned): HostRun {
    const { folds, folder, play, journal: own } = owned;
    const runId = newRunId();
    const end = (): void => {
      play?.end();
      own?.release();
      this.#remove(folder);
    };
    let run: HostRun;
    try {
      this.host.ensureOpen();
      const { journals } = this.options;
      const journal =
        "jobName" in spec && journals !== undefined && (own?.reporters ?? []).length === 0
          ? openJournalIn(journals, spec.jobName, runId, this.clock.now())
          : undefined;
      run = this.host.run(spec, {
        runId,
        rewrite: play && withoutAdvice,
        reporters: [
          // First: the callbacks of the others may ask for what it keeps.
          this.feeds.reporter((id) => this.host.findSession(id), owned.openFeed),
          ...folds,
          ...(own?.reporters ?? []),
          ...[journal, play?.reporter].filter((reporter) => reporter !== undefined),
        ],
      });
    } catch (error) {
      end();
      throw error;
    }
    void run.ended
      .then(({ reporterFailures }) => reporterFailures.forEach(warnIncomplete))
      .finally(end);
    return run;
  }

  #remove(folder: Owned["folder"]): void {
    if (folder === undefined) return;
    const removing = folder
      .remove()
      .catch(() => undefined)
      .finally(() => this.#removing.delete(removing));
    this.#removing.add(removing);
  }
}

interface Owned extends Watch {
  readonly folder: Pick<WorkFolder, "remove"> | undefined;
  readonly play: Play | undefined;
  readonly journal?: RunJournal;
}
