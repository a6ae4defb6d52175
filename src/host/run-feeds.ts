/**
 * Folds of a run into what the feeds of jobs and tasks respond. Invariants: the response `workStarted` comes before
 * anything of its task; every task feed is closed before `workStopped`, and that of the job after the last response.
 */
import { randomUUID } from "node:crypto";
import { decisionText } from "../events/decision.ts";
import { decisionOf } from "../events/decision-of.ts";
import type { RunEvent, WorkOutcome } from "../events/event.ts";
import { plannedWorks } from "../events/plan.ts";
import type { Reporter } from "../events/sink.ts";
import type { Feed } from "./feed.ts";
import { endStatus, isSuccess, JobFold } from "./job-callbacks.ts";
import type { HostRun } from "../run/host.ts";
import type { OpenQuestion, Questions } from "./questions.ts";

export function newLiveTaskId(): string {
  return `task-${randomUUID()}`;
}

export type TaskStatus = "Running" | "Succeeded" | "Failed" | "Canceled";

export class TaskFeed {
  readonly feed: Feed;
  /** A borrowed session is not reported: the caller knows it. */
  readonly #borrowed: boolean;
  #status: TaskStatus = "Running";

  constructor(feed: Feed, borrowed: boolean) {
    this.feed = feed;
    this.#borrowed = borrowed;
  }

  get status(): TaskStatus {
    return this.#status;
  }

  report(event: RunEvent): void {
    if (!this.#borrowed) this.#reportSession(event);
    const decided = decisionOf(event);
    if (decided !== undefined) {
      const reason = decisionText(decided.decision);
      this.feed.append({ callback: "taskDecision", reason });
    }
    if (event.type === "work.ended") this.#end(event.outcome);
  }

  /** Its run is over. A task that has not ended by then has failed. */
  end(): void {
    if (this.#status === "Running") this.fail(ABANDONED);
  }

  /** It has crashed, or never came to a run. */
  fail(message: string): void {
    this.#status = "Failed";
    this.feed.append({ taskError: message });
    this.feed.append({ callback: "taskFailed" });
    this.feed.close();
  }

  #reportSession(event: RunEvent): void {
    if (event.type === "session.started") {
      const { sessionId } = event;
      const isDriving = event.role !== "task";
      this.feed.append({
        callback: "taskSessionStarted",
        taskId: sessionId,
        isDrivingSession: isDriving,
        sessionId,
        isDriving,
      });
    }
    if (event.type === "session.ended") {
      const { sessionId, succeeded } = event;
      this.feed.append({ callback: "taskSessionStopped", taskId: sessionId, sessionId, succeeded });
    }
  }

  #end(outcome: WorkOutcome): void {
    if (outcome.kind === "crashed") return this.fail(outcome.crash.message);
    this.#status = endStatus[outcome.kind];
    this.feed.append({ callback: isSuccess(outcome) ? "taskSucceeded" : "taskFailed" });
    this.feed.close();
  }
}

/** Only after a bug: otherwise every work ends. */
const ABANDONED = "The run has ended unexpectedly.";

/** A `TaskWork` of a job, as it stands. */
export interface WorkState {
  /** Its number in the job. */
  readonly workIdInJob: number;
  /** The live id of its latest start. */
  readonly taskId?: string;
  /** `Waiting`: it has not started; `Skipped`: the job ended before. Otherwise that of its latest start. */
  readonly status: "Waiting" | TaskStatus | "Skipped";
}

/** A job that runs, or has ended within the hour. */
export interface JobState {
  /** The `runId` of its events. */
  readonly jobId: string;
  /** In the entry. */
  readonly jobName: string;
  /** In milliseconds since 1970. */
  readonly startTime: number;
  /** Undefined while it runs. */
  readonly endTime: number | undefined;
  /** `Canceled` as soon as it was stopped. */
  readonly status: TaskStatus;
  /** The client's own path. A rehearsal may work in a copy. */
  readonly workingDirectory: string;
  /** Secrets are masked. Empty if there was none. */
  readonly userInput: string;
  /** Parameters of a workflow. Secrets are masked. */
  readonly params: Readonly<Record<string, string>>;
  /** Inputs of the entry. Secrets are masked. */
  readonly inputs: Readonly<Record<string, string>>;
  /** Every `TaskWork` of the job. */
  readonly tasks: readonly WorkState[];
  /** Questions of its workflows that wait for an answer. */
  readonly questions: readonly OpenQuestion[];
}

interface JobFeedsOptions {
  readonly feed: Feed;
  readonly journal: Feed;
  /** Called at each start of a work, before the first response of its task. */
  readonly openTask: (taskId: string, workId: number) => TaskFeed;
  /** Called after its last response. */
  readonly closeTask: (taskId: string) => void;
}

export class JobFeeds implements Reporter {
  readonly name = "live feeds";
  readonly feed: Feed;
  readonly journal: Feed;
  readonly #options: JobFeedsOptions;
  readonly #fold: JobFold;
  /** By work id: its latest start. */
  readonly #tasks = new Map<number, { taskId: string; task: TaskFeed } | undefined>();
  #crash: string | undefined;
  #endTime: number | undefined;

  constructor(options: JobFeedsOptions) {
    this.#options = options;
    const { feed, journal } = options;
    this.feed = feed;
    this.journal = journal;
    this.#fold = new JobFold({
      workStarted: (workId) => {
        const taskId = this.#tasks.get(workId)?.taskId;
        feed.append({ callback: "workStarted", workId, taskId });
      },
      workStopped: (workId, succeeded) =>
        feed.append({ callback: "workStopped", workId, succeeded }),
      jobSucceeded: () => feed.append({ callback: "jobSucceeded" }),
      jobFailed: () => {
        if (this.#crash !== undefined) feed.append({ jobError: this.#crash });
        feed.append({ callback: "jobFailed" });
      },
      jobCanceled: () => feed.append({ callback: "jobCanceled" }),
    });
  }

  get state(): Pick<JobState, "endTime" | "status" | "tasks"> {
    const { status } = this.#fold;
    const endTime = this.#endTime;
    const unstarted = endTime === undefined ? "Waiting" : "Skipped";
    const tasks = [...this.#tasks].map(([workIdInJob, started]): WorkState =>
      started === undefined
        ? { workIdInJob, status: unstarted }
        : { workIdInJob, taskId: started.taskId, status: started.task.status },
    );
    return { endTime, status: status === "Executing" ? "Running" : status, tasks };
  }

  cancel(): void {
    this.#fold.cancel();
  }

  /** Idempotent. */
  end(): void {
    for (const started of this.#tasks.values()) {
      if (started?.task.status !== "Running") continue;
      started.task.end();
      this.#options.closeTask(started.taskId);
    }
    this.feed.close();
    this.journal.close();
  }

  report(event: RunEvent): void {
    this.journal.append(event);
    if (event.type === "run.started")
      for (const { workId } of plannedWorks(event.work)) this.#tasks.set(workId, undefined);
    if (event.type === "work.started") {
      const taskId = newLiveTaskId();
      const { workId } = event.work;
      this.#tasks.set(workId, { taskId, task: this.#options.openTask(taskId, workId) });
    }
    // The end of a work is the last of its task; from its start, the task has nothing to say.
    this.#reportTask(event);
    this.#fold.report(event);
    if (event.type !== "run.ended") return;
    this.#endTime = event.at;
    this.end();
  }

  #reportTask(event: RunEvent): void {
    if (!("work" in event) || event.type === "run.started" || event.work === null) return;
    const started = this.#tasks.get(event.work.workId);
    if (started?.task.status !== "Running") return;
    started.task.report(event);
    if (event.type !== "work.ended") return;
    if (event.outcome.kind === "crashed") this.#crash = event.outcome.crash.message;
    this.#options.closeTask(started.taskId);
  }
}

export interface LiveJob {
  readonly run: HostRun;
  readonly feeds: JobFeeds;
  readonly questions: Questions;
  /** The request. Secrets are masked. */
  readonly asked: Pick<
    JobState,
    "jobName" | "startTime" | "workingDirectory" | "userInput" | "params" | "inputs"
  >;
}

export function stateOf({ run, feeds, questions, asked }: LiveJob): JobState {
  return { jobId: run.runId, ...asked, ...feeds.state, questions: questions.open };
}
