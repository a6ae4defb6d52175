/**
 * A job of a server: the responses of its feeds, its questions and its state. Invariants: the response `workStarted`
 * comes before anything of its task; every task feed is closed before `workStopped`, and that of the job after the
 * last response.
 */
import { randomUUID } from "node:crypto";
import { decisionText } from "../events/decision.ts";
import { decisionOf, type RunEvent } from "../events/event.ts";
import { workKey } from "../events/plan.ts";
import type { Reporter } from "../events/sink.ts";
import type { WorkView } from "../events/view.ts";
import type { Clock } from "../platform/clock.ts";
import { onAbort } from "../platform/waiting.ts";
import type { HostRun } from "../run/host.ts";
import type { Answer, Asker } from "../workflow/model.ts";
import type { Feed } from "./feed.ts";
import { endStatus, isSuccess, jobStatus } from "./job-callbacks.ts";
import { refused, type Refused } from "./refusals.ts";

export function newLiveTaskId(): string {
  return `task-${randomUUID()}`;
}

/** Appends the responses of a task. `borrowed`: the caller knows its session, so that is not reported. */
export function reportTask(feed: Feed, event: RunEvent, borrowed = false): void {
  if (feed.closed) return;
  if (event.type === "session.started" && !borrowed) {
    const { sessionId, role } = event;
    const isDriving = role !== "task";
    const session = { taskId: sessionId, isDrivingSession: isDriving, sessionId, isDriving };
    feed.append({ callback: "taskSessionStarted", ...session });
  }
  if (event.type === "session.ended" && !borrowed) {
    const { sessionId, succeeded } = event;
    feed.append({ callback: "taskSessionStopped", taskId: sessionId, sessionId, succeeded });
  }
  const decided = decisionOf(event);
  if (decided !== undefined)
    feed.append({ callback: "taskDecision", reason: decisionText(decided.decision) });
  if (event.type !== "work.ended") return;
  const { outcome } = event;
  if (outcome.kind === "crashed") return failTask(feed, outcome.crash.message);
  feed.append({ callback: isSuccess(outcome) ? "taskSucceeded" : "taskFailed" });
  feed.close();
}

/** Ends a task that has crashed, or never came to a run. */
export function failTask(feed: Feed, message: string): void {
  if (feed.closed) return;
  feed.append({ taskError: message });
  feed.append({ callback: "taskFailed" });
  feed.close();
}

/** A question of a workflow that waits for an answer. */
export interface OpenQuestion {
  /** `WORK.ITERATION.STEP`, of its `step.started`. */
  readonly id: string;
  /** The work that is the workflow. */
  readonly workIdInJob: number;
  /** The id of the ASK. */
  readonly activity: string;
  /** Secrets are masked. */
  readonly question: string;
  /** In milliseconds since 1970. */
  readonly since: number;
}

/** An ASK waits here for the first answer. Each id is new in its run, so a late answer never goes to the next one. */
export class Questions {
  readonly #clock: Clock;
  readonly #mask: (text: string) => string;
  readonly #waiting = new Map<string, { shown: OpenQuestion; answer: (text: string) => void }>();

  constructor(clock: Clock, mask: (text: string) => string) {
    this.#clock = clock;
    this.#mask = mask;
  }

  get open(): readonly OpenQuestion[] {
    return [...this.#waiting.values()].map(({ shown }) => shown);
  }

  readonly ask: Asker = ({ work, step, activity, question }, signal) => {
    const { workId, iteration } = work;
    const id = `${workId}.${iteration}.${step}`;
    const shown = {
      id,
      workIdInJob: workId,
      activity,
      question: this.#mask(question),
      since: this.#clock.now(),
    };
    return new Promise((resolve) => {
      const end = (answer: Answer): void => {
        this.#waiting.delete(id);
        release();
        resolve(answer);
      };
      this.#waiting.set(id, { shown, answer: (text) => end({ kind: "answered", text }) });
      let release = (): void => undefined;
      release = onAbort(signal, () =>
        end({ kind: "unanswered", reason: `Nobody has answered ${activity}.` }),
      );
    });
  };

  /** Answers the question with this id, or the only one that waits. Undefined: done. */
  answer(text: string, id: string | undefined): Refused | undefined {
    const count = this.#waiting.size;
    const [only] = count === 1 ? this.#waiting.keys() : [];
    const waiting = this.#waiting.get(id ?? only ?? "");
    if (waiting === undefined)
      return noQuestion(
        id === undefined && count > 1
          ? `${count} questions wait for an answer. Name one by its id.`
          : "No such question waits for an answer. Somebody else may have answered it.",
      );
    waiting.answer(text);
    return undefined;
  }
}

export function noQuestion(message: string): Refused {
  return refused("QuestionNotFound", message);
}

export type TaskStatus = "Running" | "Succeeded" | "Failed" | "Canceled";

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
  /** Makes the feed of a task, at each start of a work. */
  readonly openTask: (taskId: string, workId: number) => Feed;
}

export class JobFeeds implements Reporter {
  readonly name = "live feeds";
  readonly takesPast = true;
  readonly feed: Feed;
  readonly journal: Feed;
  /** The caller has stopped the job, so it is canceled, whatever its outcome. */
  stopped = false;
  readonly #openTask: JobFeedsOptions["openTask"];
  /** The tasks that run, by the key of their work. */
  readonly #running = new Map<string, Feed>();
  /** The live id of the latest start, by work id. */
  readonly taskIds = new Map<number, string>();
  #crash: string | undefined;

  constructor({ feed, journal, openTask }: JobFeedsOptions) {
    this.feed = feed;
    this.journal = journal;
    this.#openTask = openTask;
  }

  report(event: RunEvent): void {
    const { feed } = this;
    this.journal.append(event);
    if (event.past === true) return;
    if (event.type === "work.started") {
      const { workId } = event.work;
      const taskId = newLiveTaskId();
      this.taskIds.set(workId, taskId);
      this.#running.set(workKey(event.work), this.#openTask(taskId, workId));
      feed.append({ callback: "workStarted", workId, taskId });
    }
    if (event.type !== "run.started" && "work" in event && event.work !== null) {
      const task = this.#running.get(workKey(event.work));
      if (task !== undefined) reportTask(task, event);
    }
    if (event.type === "work.ended") {
      const { outcome, work } = event;
      if (outcome.kind === "crashed") this.#crash = outcome.crash.message;
      this.#running.delete(workKey(work));
      const succeeded = isSuccess(outcome);
      feed.append({ callback: "workStopped", workId: work.workId, succeeded });
    }
    if (event.type !== "run.ended") return;
    const status = this.stopped ? "Canceled" : endStatus[event.outcome.kind];
    if (status === "Failed" && this.#crash !== undefined) feed.append({ jobError: this.#crash });
    feed.append({ callback: `job${status}` });
    this.end();
  }

  /** The run is over, also if a bug has ended it without its last events. */
  end(): void {
    for (const task of this.#running.values()) failTask(task, "The run has ended unexpectedly.");
    this.#running.clear();
    this.feed.close();
    this.journal.close();
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
  const { runId: jobId, view } = run;
  const status = jobStatus(view, feeds.stopped);
  return {
    jobId,
    ...asked,
    endTime: view.endedAt,
    status: status === "Executing" ? "Running" : status,
    tasks: [...view.works.values()].map((work) =>
      workState(work, feeds.taskIds.get(work.workId), view.endedAt !== undefined),
    ),
    questions: questions.open,
  };
}

function workState(
  { workId: workIdInJob, status }: WorkView,
  taskId: string | undefined,
  hasEnded: boolean,
): WorkState {
  if (taskId === undefined) return { workIdInJob, status: hasEnded ? "Skipped" : "Waiting" };
  const isRunning = status === "running" || status === "pending";
  return { workIdInJob, taskId, status: isRunning ? "Running" : endStatus[status] };
}
