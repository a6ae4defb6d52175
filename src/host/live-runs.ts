/** The state of a server. What is refused is a value, never an exception. Nothing is kept an hour after its end. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { PreparedEntry } from "../entry/model.ts";
import { errorMessage } from "../platform/system-error.ts";
import { missingUserInput, type Inputs, type Params } from "../run/options.ts";
import type { ICopilotSession } from "../sessions/callbacks.ts";
import type { OfferedModel } from "../sessions/offered-models.ts";
import { OwnSession, type SessionState } from "./session-feeds.ts";
import { Feed, FeedFile, type Taken } from "./feed.ts";
import type { HostRun } from "../run/host.ts";
import type { HostedRuns } from "./hosted-runs.ts";
import { warnIncomplete } from "./job-callbacks.ts";
import {
  describeWorkflowJobs,
  maskedTexts,
  missingParameters,
  wrongInputs,
  type Workflows,
  folderProblem,
  noSession,
  refused,
  type Refused,
} from "./refusals.ts";
import { BUSY } from "../sessions/session-use.ts";
import {
  failTask,
  JobFeeds,
  newLiveTaskId,
  noQuestion,
  Questions,
  reportTask,
  stateOf,
  type JobState,
  type LiveJob,
} from "./live-job.ts";

/** The kinds of feeds. `journal` has every event of a job. */
export type FeedKind = "job" | "journal" | "task" | "session";

interface LiveTask {
  readonly feed: Feed;
  /** Undefined: it runs in a borrowed session. */
  readonly work: { readonly run: HostRun; readonly workId: number } | undefined;
}

interface LiveSession {
  readonly feed: Feed;
  /** Undefined: it is of a run. */
  readonly own: OwnSession | undefined;
}

const KEPT_MS = 60 * 60_000;
const NO_ENTRY = "No entry is installed.";
const STOPPED = "stopped by the caller";

/** Starts jobs, tasks and sessions for others, and finds them by their ids until an hour after their end. */
export class LiveRuns {
  readonly #runs: HostedRuns;
  readonly #allJobs = new Map<string, LiveJob>();
  readonly #allTasks = new Map<string, LiveTask>();
  readonly #allSessions = new Map<string, LiveSession>();
  #warned = false;

  constructor(runs: HostedRuns) {
    this.#runs = runs;
  }

  get #jobs(): Map<string, LiveJob> {
    return this.#kept(this.#allJobs, ({ feeds }) => [feeds.feed, feeds.journal]);
  }

  get #tasks(): Map<string, LiveTask> {
    return this.#kept(this.#allTasks, ({ feed }) => [feed]);
  }

  get #sessions(): Map<string, LiveSession> {
    return this.#kept(this.#allSessions, ({ feed }) => [feed]);
  }

  /** Forgets old ones whenever they are used: a timer would keep the process alive, and what is not used doesn't grow. */
  #kept<T>(all: Map<string, T>, feedsOf: (one: T) => readonly Feed[]): Map<string, T> {
    const oldest = this.#runs.clock.now() - KEPT_MS;
    for (const [id, one] of all) {
      const feeds = feedsOf(one);
      if (feeds.some(({ closedAt = Infinity }) => closedAt > oldest)) continue;
      all.delete(id);
      for (const feed of feeds) feed.dispose();
    }
    return all;
  }

  /** The installed entry, if any. */
  get entry(): PreparedEntry | undefined {
    return this.#runs.entry;
  }

  /** The models that sessions can be started with: those that are offered, or the entry's if nothing is listed. */
  listModels(): Promise<readonly OfferedModel[]> {
    return this.#runs.listModels();
  }

  /** The jobs that run or have ended within the hour, in the order of their starts. */
  get jobs(): readonly JobState[] {
    return [...this.#jobs.values()].map(stateOf);
  }

  /** Undefined if it has never run, or has ended more than an hour ago. */
  job(jobId: string): JobState | undefined {
    const job = this.#jobs.get(jobId);
    return job && stateOf(job);
  }

  /** The sessions of `startSession` that are open or have ended within the hour, in the order of their starts. */
  get sessions(): readonly SessionState[] {
    return [...this.#sessions.values()].flatMap(({ own }) => own?.state ?? []);
  }

  /** The feed of a job, a task or a session, for any number of readers; undefined if there is none. */
  feed(kind: FeedKind, id: string): Feed | undefined {
    switch (kind) {
      case "job":
        return this.#jobs.get(id)?.feeds.feed;
      case "journal":
        return this.#jobs.get(id)?.feeds.journal;
      case "task":
        return this.#tasks.get(id)?.feed;
      case "session":
        return this.#sessions.get(id)?.feed;
    }
  }

  /** `Feed.take`; `gone` if there is no such feed. */
  async take(
    kind: FeedKind,
    id: string,
    milliseconds: number,
    signal?: AbortSignal,
  ): Promise<Taken> {
    return this.feed(kind, id)?.take(milliseconds, signal) ?? { kind: "gone" };
  }

  /** The jobs that are workflows, by name: what someone who starts them must know. */
  get workflows(): Workflows {
    const { workflow, entry, options } = this.#runs;
    return describeWorkflowJobs(Object.keys(entry?.jobs ?? {}), workflow, options.rehearsal);
  }

  /** Starts a job of the installed entry. Its first event comes later. `params`: of a workflow. `inputs`: of the entry. */
  async startJob(
    jobName: string,
    userInput: string | undefined,
    workingDirectory: string,
    params: Params = {},
    inputs: Inputs = {},
  ): Promise<{ readonly kind: "started"; readonly jobId: string } | Refused> {
    const { clock, entry, host, options } = this.#runs;
    if (entry === undefined) return refused("JobNotFound", NO_ENTRY);
    const job = Object.hasOwn(entry.jobs, jobName) ? entry.jobs[jobName] : undefined;
    if (job === undefined)
      return refused("JobNotFound", `There is no job ${JSON.stringify(jobName)} in the entry.`);
    const problem = await folderProblem(workingDirectory);
    if (problem !== undefined) return problem;
    const noInput = missingUserInput("job", jobName, job, userInput);
    if (noInput !== undefined) return refused("UserInputRequired", noInput);
    const missing = missingParameters(this.workflows[jobName], params, userInput);
    if (missing !== undefined) return missing;
    const wrong = wrongInputs(entry, { ...options.rehearsal?.inputs, ...inputs });
    if (wrong !== undefined) return wrong;
    const feeds = new JobFeeds({
      feed: this.#newFeed(),
      journal: this.#newFeed(),
      openTask: (taskId, workId) => {
        const taskFeed = this.#newFeed();
        this.#tasks.set(taskId, { feed: taskFeed, work: { run, workId } });
        return taskFeed;
      },
    });
    const mask = host.redactor.text;
    const questions = new Questions(clock, mask);
    const { ask: asker = questions.ask } = options;
    const start = { jobName, userInput: userInput ?? "", workingDirectory, params, inputs, asker };
    let run: HostRun;
    try {
      const noModel = this.#runs.whyNoModel(jobName, params);
      if (noModel !== undefined) return refused("NotStarted", noModel);
      run = await this.#runs.startJob(start, {
        folds: [feeds],
        openFeed: (sessionId) => {
          const feed = this.#newFeed();
          this.#sessions.set(sessionId, { feed, own: undefined });
          return feed;
        },
      });
    } catch (error) {
      return this.#notStarted(error);
    }
    const { runId: jobId, ended } = run;
    const asked = {
      jobName,
      startTime: clock.now(),
      workingDirectory,
      userInput: mask(userInput ?? ""),
      params: maskedTexts(params, mask),
      inputs: maskedTexts(inputs, mask),
    };
    this.#jobs.set(jobId, { run, feeds, questions, asked });
    const end = (): void => feeds.end();
    void ended.then(end, end);
    return { kind: "started", jobId };
  }

  /** Cancels a job. Undefined: done. A job that has ended can't be stopped. */
  stopJob(jobId: string): Refused | undefined {
    const job = this.#jobs.get(jobId);
    if (job === undefined || job.feeds.feed.closed)
      return refused("JobNotFound", "There is no such job, or it has ended.");
    job.feeds.stopped = true;
    job.run.cancel(STOPPED);
    return undefined;
  }

  /** Answers a question of a job, or without `question` the only one that waits. Undefined: done. */
  answer(jobId: string, text: string, question?: string): Refused | undefined {
    const job = this.#jobs.get(jobId);
    if (job === undefined) return refused("JobNotFound", "There is no such job.");
    if (job.feeds.feed.closed)
      return noQuestion("The job has ended, so nothing waits for an answer.");
    return job.questions.answer(text, question);
  }

  /** Starts a task in a session of `startSession`, without its availability check. */
  startTask(
    taskName: string,
    userInput: string,
    sessionId: string,
  ): { readonly kind: "started"; readonly taskId: string } | Refused {
    const { entry } = this.#runs;
    const session = this.#sessions.get(sessionId);
    if (session === undefined || this.#sessionOf(sessionId) === undefined) return noSession;
    if (entry === undefined) return refused("TaskNotFound", NO_ENTRY);
    const found = Object.hasOwn(entry.tasks, taskName) ? entry.tasks[taskName] : undefined;
    if (found === undefined)
      return refused("TaskNotFound", `There is no task ${JSON.stringify(taskName)} in the entry.`);
    const noInput = missingUserInput("task", taskName, found, userInput);
    if (noInput !== undefined) return refused("UserInputRequired", noInput);
    const taskId = newLiveTaskId();
    const feed = this.#newFeed();
    this.#tasks.set(taskId, { feed, work: undefined });
    void this.#runTask(taskId, { taskName, userInput }, session, feed);
    return { kind: "started", taskId };
  }

  /** Its work fails, and the job goes on as after any failed task. Not in a borrowed session. Undefined: done. */
  stopTask(taskId: string): Refused | undefined {
    const live = this.#tasks.get(taskId);
    if (live === undefined || live.feed.closed)
      return refused("TaskNotFound", "There is no such task, or it has ended.");
    if (live.work === undefined)
      return refused("TaskCannotClose", "The task runs in a borrowed session.");
    live.work.run.stopWork(live.work.workId, STOPPED);
    return undefined;
  }

  /** Starts a session that belongs to no task. */
  async startSession(
    modelId: string,
    workingDirectory: string,
  ): Promise<{ readonly kind: "started"; readonly sessionId: string } | Refused> {
    const feed = this.#newFeed();
    try {
      if (!(await this.listModels()).some(({ id }) => id === modelId))
        return refused("ModelIdNotFound", `There is no model ${JSON.stringify(modelId)}.`);
      const problem = await folderProblem(workingDirectory);
      if (problem !== undefined) return problem;
      const session = await this.#runs.startSession(modelId, workingDirectory, feed);
      const { sessionId } = session.rawSection;
      const { clock, host } = this.#runs;
      const options = { session, modelId, workingDirectory, feed, clock, mask: host.redactor.text };
      this.#sessions.set(sessionId, { feed, own: new OwnSession(options) });
      return { kind: "started", sessionId };
    } catch (error) {
      return this.#notStarted(error);
    }
  }

  /** Ends a session. For the task that runs in it, the session has crashed. Undefined: done. */
  async stopSession(sessionId: string): Promise<Refused | undefined> {
    const session = this.#sessionOf(sessionId);
    if (session === undefined) return noSession;
    await (this.#sessions.get(sessionId)?.own ?? session).stop();
    return undefined;
  }

  /** The feed of the session has the answer, or `{ sessionError }` if it fails or the session is in use. */
  query(sessionId: string, prompt: string): Refused | undefined {
    const session = this.#sessionOf(sessionId);
    const live = this.#sessions.get(sessionId);
    if (session === undefined || live === undefined) return noSession;
    if (live.own === undefined) live.feed.append({ sessionError: BUSY });
    else void live.own.send(prompt);
    return undefined;
  }

  /** Forgets everything, and removes the files. */
  dispose(): void {
    for (const { feeds } of this.#allJobs.values())
      for (const feed of [feeds.feed, feeds.journal]) feed.dispose();
    for (const all of [this.#allTasks, this.#allSessions])
      for (const { feed } of all.values()) feed.dispose();
    for (const all of [this.#allJobs, this.#allTasks, this.#allSessions]) all.clear();
  }

  async #runTask(
    taskId: string,
    { taskName, userInput }: { readonly taskName: string; readonly userInput: string },
    { own, feed }: LiveSession,
    task: Feed,
  ): Promise<void> {
    // The session of a task is always in use.
    if (own === undefined) return failTask(task, BUSY);
    own.lent(taskId, taskName);
    try {
      const run = await this.#runs.startTask(
        {
          taskName,
          userInput,
          workingDirectory: own.workingDirectory,
          ignorePrerequisiteCheck: true,
          session: own.session,
        },
        { folds: [{ report: (event) => reportTask(task, event, true) }], openFeed: () => feed },
      );
      await run.ended;
    } catch (error) {
      failTask(task, this.#masked(error));
    }
  }

  #sessionOf(sessionId: string): ICopilotSession | undefined {
    return this.#sessions.get(sessionId) && this.#runs.feeds.find(sessionId);
  }

  #newFeed(): Feed {
    const { clock, options } = this.#runs;
    if (options.feedsFolder === undefined) return new Feed({ clock });
    const path = join(options.feedsFolder, `feed-${randomUUID()}.jsonl`);
    return new Feed({ clock, file: new FeedFile(path, (problem) => this.#warn(problem)) });
  }

  #warn(problem: string): void {
    if (this.#warned) return;
    this.#warned = true;
    const message = `can't write to ${this.#runs.options.feedsFolder ?? ""}: ${problem}`;
    warnIncomplete({ reporter: "live feed", message, count: 1 });
  }

  #notStarted(error: unknown): Refused {
    return refused("NotStarted", this.#masked(error));
  }

  #masked(error: unknown): string {
    return this.#runs.host.redactor.text(errorMessage(error));
  }
}
