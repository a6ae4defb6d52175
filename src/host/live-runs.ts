/** The state of a server. What is refused is a value, never an exception. Nothing is kept an hour after its end. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { PreparedEntry } from "../entry/model.ts";
import { errorMessage } from "../platform/system-error.ts";
import { missingUserInput, type Inputs, type Params } from "../run/options.ts";
import type { RunEvent } from "../events/event.ts";
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
  notInEntry,
  NotStarted,
  type Workflows,
  folderProblem,
  noSession,
  refused,
  type Refused,
} from "./refusals.ts";
import { BUSY } from "../sessions/callbacks.ts";
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

/** What an id stands for, with its feed. */
interface Found {
  readonly feed: Feed;
  readonly job?: LiveJob;
  /** Of a task of a job. A task without it runs in a borrowed session. */
  readonly work?: { readonly run: HostRun; readonly workId: number };
  /** Of a session that is of no run. */
  readonly own?: OwnSession;
}

const KEPT_MS = 60 * 60_000;
const SWEEP_MS = 1_000;
const STOPPED = "stopped by the caller";

/** Starts jobs, tasks and sessions for others, and finds them by their ids until an hour after their end. */
export class LiveRuns {
  readonly #runs: HostedRuns;
  readonly #found = new Map<string, Found>();
  #sweptAt = 0;
  #warned = false;

  constructor(runs: HostedRuns) {
    this.#runs = runs;
  }

  /** Forgets old ones whenever it is used: a timer would keep the process alive, and what is not used doesn't grow. */
  get #kept(): Map<string, Found> {
    const now = this.#runs.clock.now();
    // A job may have thousands of tasks, each of which is added here.
    if (now < this.#sweptAt + SWEEP_MS) return this.#found;
    this.#sweptAt = now;
    const oldest = now - KEPT_MS;
    for (const [key, { feed }] of this.#found) {
      if ((feed.closedAt ?? Infinity) > oldest) continue;
      this.#found.delete(key);
      feed.dispose();
    }
    return this.#found;
  }

  #find(kind: FeedKind, id: string): Found | undefined {
    return this.#kept.get(`${kind} ${id}`);
  }

  #add(kind: FeedKind, id: string, found: Found): Feed {
    this.#kept.set(`${kind} ${id}`, found);
    return found.feed;
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
    return [...this.#kept.values()].flatMap(({ job }) => (job === undefined ? [] : stateOf(job)));
  }

  /** Undefined if it has never run, or has ended more than an hour ago. */
  job(jobId: string): JobState | undefined {
    const job = this.#find("job", jobId)?.job;
    return job && stateOf(job);
  }

  /** The sessions of `startSession` that are open or have ended within the hour, in the order of their starts. */
  get sessions(): readonly SessionState[] {
    return [...this.#kept.values()].flatMap(({ own }) => own?.state ?? []);
  }

  /** The feed of a job, a task or a session, for any number of readers; undefined if there is none. */
  feed(kind: FeedKind, id: string): Feed | undefined {
    return this.#find(kind, id)?.feed;
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
    if (!Object.hasOwn(entry?.jobs ?? {}, jobName)) return notInEntry("job", jobName);
    const problem =
      (await folderProblem(workingDirectory)) ??
      missingParameters(this.workflows[jobName], params, userInput);
    if (problem !== undefined) return problem;
    const feeds = new JobFeeds({
      feed: this.#newFeed(),
      journal: this.#newFeed(),
      openTask: (taskId, workId) =>
        this.#add("task", taskId, { feed: this.#newFeed(), work: { run, workId } }),
    });
    const mask = host.redactor.text;
    const questions = new Questions(clock, mask);
    const { ask: asker = questions.ask } = options;
    const start = { jobName, userInput: userInput ?? "", workingDirectory, params, inputs, asker };
    let run: HostRun;
    try {
      run = await this.#runs.startJob(start, {
        folds: [feeds],
        needsModels: true,
        openFeed: (id) => this.#add("session", id, { feed: this.#newFeed() }),
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
    this.#add("job", jobId, { feed: feeds.feed, job: { run, feeds, questions, asked } });
    this.#add("journal", jobId, { feed: feeds.journal });
    const end = (): void => feeds.end();
    void ended.then(end, end);
    return { kind: "started", jobId };
  }

  /** Cancels a job. Undefined: done. A job that has ended can't be stopped. */
  stopJob(jobId: string): Refused | undefined {
    const { feed, job } = this.#find("job", jobId) ?? {};
    if (job === undefined || feed?.closed === true)
      return refused("JobNotFound", "There is no such job, or it has ended.");
    job.feeds.stopped = true;
    job.run.cancel(STOPPED);
    return undefined;
  }

  /** Answers a question of a job, or without `question` the only one that waits. Undefined: done. */
  answer(jobId: string, text: string, question?: string): Refused | undefined {
    const { feed, job } = this.#find("job", jobId) ?? {};
    if (job === undefined) return refused("JobNotFound", "There is no such job.");
    if (feed?.closed === true)
      return noQuestion("The job has ended, so nothing waits for an answer.");
    return job.questions.answer(text, question);
  }

  /** Starts a task in a session of `startSession`, without its availability check. */
  startTask(
    taskName: string,
    userInput: string,
    sessionId: string,
  ): { readonly kind: "started"; readonly taskId: string } | Refused {
    const tasks = this.entry?.tasks ?? {};
    const session = this.#openSession(sessionId);
    if (session === undefined) return noSession;
    if (!Object.hasOwn(tasks, taskName)) return notInEntry("task", taskName);
    const noInput = missingUserInput("task", taskName, tasks[taskName], userInput);
    if (noInput !== undefined) return refused("UserInputRequired", noInput);
    const taskId = newLiveTaskId();
    const feed = this.#add("task", taskId, { feed: this.#newFeed() });
    void this.#runTask(taskId, { taskName, userInput }, session, feed);
    return { kind: "started", taskId };
  }

  /** Its work fails, and the job goes on as after any failed task. Not in a borrowed session. Undefined: done. */
  stopTask(taskId: string): Refused | undefined {
    const { feed, work } = this.#find("task", taskId) ?? {};
    if (feed?.closed !== false)
      return refused("TaskNotFound", "There is no such task, or it has ended.");
    if (work === undefined)
      return refused("TaskCannotClose", "The task runs in a borrowed session.");
    work.run.stopWork(work.workId, STOPPED);
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
      this.#add("session", sessionId, { feed, own: new OwnSession(options) });
      return { kind: "started", sessionId };
    } catch (error) {
      return this.#notStarted(error);
    }
  }

  /** Ends a session. For the task that runs in it, the session has crashed. Undefined: done. */
  async stopSession(sessionId: string): Promise<Refused | undefined> {
    const found = this.#openSession(sessionId);
    if (found === undefined) return noSession;
    await (found.own ?? found.session).stop();
    return undefined;
  }

  /** The feed of the session has the answer, or `{ sessionError }` if it fails or the session is in use. */
  query(sessionId: string, prompt: string): Refused | undefined {
    const found = this.#openSession(sessionId);
    if (found === undefined) return noSession;
    if (found.own === undefined) found.feed.append({ sessionError: BUSY });
    else void found.own.send(prompt);
    return undefined;
  }

  /** Forgets everything, and removes the files. */
  dispose(): void {
    for (const { feed } of this.#found.values()) feed.dispose();
    this.#found.clear();
  }

  async #runTask(
    taskId: string,
    { taskName, userInput }: { readonly taskName: string; readonly userInput: string },
    { own, feed }: Found,
    task: Feed,
  ): Promise<void> {
    // The session of a task is always in use.
    if (own === undefined) return failTask(task, BUSY);
    own.lent(taskId, taskName);
    const { workingDirectory, session } = own;
    const start = { taskName, userInput, workingDirectory, ignorePrerequisiteCheck: true, session };
    const folds = [{ report: (event: RunEvent) => reportTask(task, event, true) }];
    try {
      await (
        await this.#runs.startTask(start, { folds, openFeed: () => feed })
      ).ended;
    } catch (error) {
      failTask(task, this.#masked(error));
    }
  }

  #openSession(id: string): (Found & { readonly session: ICopilotSession }) | undefined {
    const found = this.#find("session", id);
    const session = this.#runs.feeds.find(id);
    return found && session && { ...found, session };
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
    const reason = error instanceof NotStarted ? error.reason : "NotStarted";
    return refused(reason, this.#masked(error));
  }

  #masked(error: unknown): string {
    return this.#runs.host.redactor.text(errorMessage(error));
  }
}
