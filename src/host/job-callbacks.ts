/** The public handles, callbacks and results of a job and a task (docs/library.md), and the folds from events to them. */
import type { ICopilotSession } from "../sessions/callbacks.ts";
import { decisionText } from "../events/decision.ts";
import {
  decisionOf,
  outcomeText,
  type RunEvent,
  type RunOutcome,
  type WorkOutcome,
} from "../events/event.ts";
import type { Reporter, ReporterFailure } from "../events/sink.ts";
import type { HostRun } from "../run/host.ts";
import type { FieldsOn } from "../run/option-table.ts";
import type { RunView, WorkView } from "../events/view.ts";

/** A running task, as `startTask` returns it. */
export interface ICopilotTask {
  /**
   * The session that checks conditions: in borrowing mode the lent one, with a single model the one
   * session of the task. Throws while the task has not opened one yet.
   */
  readonly drivingSession: ICopilotSession;
  /** A stopped task is `Failed`. */
  readonly status: "Executing" | "Succeeded" | "Failed";
  /** Why the task crashed, if it did. */
  readonly crashError?: unknown;
  /** Ends all its sessions; no callback comes after it. */
  stop(): void;
}

/** The callbacks of a running task. */
export interface ICopilotTaskCallback {
  /** The task has ended, and its criteria are met. */
  taskSucceeded(): void;
  /** The task has failed or crashed. */
  taskFailed(): void;
  /** A decision of the runner with its reason, as `[CATEGORY] text`. */
  taskDecision(reason: string): void;
  /**
   * Not called in borrowing mode. `taskId` is the id of the session. With a single model, `isDrivingSession`
   * is true.
   */
  taskSessionStarted(taskSession: ICopilotSession, taskId: string, isDrivingSession: boolean): void;
  /**
   * Not called in borrowing mode. `taskId` is the id of the session. `succeeded`, for a session that served
   * one check or one prompt: whether that went well (a check that was answered "false" did not); for one
   * that was open when the task ended: whether the task succeeded.
   */
  taskSessionStopped(taskSession: ICopilotSession, taskId: string, succeeded: boolean): void;
}

/** A running job, as `startJob` returns it. */
export interface ICopilotJob {
  /** All events of the job carry it. */
  readonly runId: string;
  /** The works that run now, by their `workIdInJob`. */
  readonly runningWorkIds: number[];
  /** `Canceled` as soon as `stop` was called. */
  readonly status: "Executing" | "Succeeded" | "Failed" | "Canceled";
  /** Probably unintended: a user input that no prompt of the job uses. */
  readonly warnings: readonly string[];
  /** Cancels it: every running work is reported as stopped, then `jobCanceled` is called, then nothing. */
  stop(): void;
}

/** The callbacks of a running job. The last call is exactly one of the first three. */
export interface ICopilotJobCallback {
  /** The job has succeeded. */
  jobSucceeded(): void;
  /** The job has failed. `reason` is the sentence that the log ends with. */
  jobFailed(reason: string): void;
  /** The job was stopped, by `stop()` or its signal. */
  jobCanceled(): void;
  /** A work has started; in a loop, again. `workId` is its `workIdInJob`. */
  workStarted(workId: number, taskId: string): void;
  /** A work has ended; `succeeded` is false also if it was canceled or crashed. */
  workStopped(workId: number, succeeded: boolean): void;
}

type JobStatus = ICopilotJob["status"];

export const endStatus = {
  succeeded: "Succeeded",
  skipped: "Succeeded",
  failed: "Failed",
  crashed: "Failed",
  "answered-no": "Failed",
  canceled: "Canceled",
} as const;

/** Nothing was to be done where it was skipped, which is no failure. */
export function isSuccess({ kind }: WorkOutcome | RunOutcome): boolean {
  return endStatus[kind] === "Succeeded";
}

/** `stopped`: by the caller, so the job is canceled, whatever its outcome. */
export function jobStatus({ status }: RunView, stopped: boolean): JobStatus {
  if (stopped) return "Canceled";
  return status === "pending" || status === "running" ? "Executing" : endStatus[status];
}

export function jobReporter(callback: ICopilotJobCallback, isStopped: () => boolean): Reporter {
  return {
    report(event) {
      switch (event.type) {
        case "work.started":
          return callback.workStarted(event.work.workId, event.work.taskId);
        case "work.ended":
          return callback.workStopped(event.work.workId, isSuccess(event.outcome));
        case "run.ended": {
          const { outcome } = event;
          if (isStopped() || outcome.kind === "canceled") return callback.jobCanceled();
          if (isSuccess(outcome)) return callback.jobSucceeded();
          return callback.jobFailed(outcomeText(outcome));
        }
        default:
          return undefined;
      }
    },
  };
}

export interface TaskFoldOptions {
  readonly callback: ICopilotTaskCallback;
  readonly exceptionHandler: (error: unknown) => void;
  readonly findSession: (sessionId: string) => ICopilotSession | undefined;
  readonly borrowed: ICopilotSession | undefined;
}

/** The callbacks of a task, and what its handle has besides its status. */
export class TaskFold implements Reporter {
  readonly #options: TaskFoldOptions;
  readonly #sessions = new Map<string, ICopilotSession>();
  #driving: ICopilotSession | undefined;
  crashError: Error | undefined;
  /** The caller has stopped the task, and no callback comes any more. */
  stopped = false;

  constructor(options: TaskFoldOptions) {
    this.#options = options;
    this.#driving = options.borrowed;
  }

  get drivingSession(): ICopilotSession {
    if (this.#driving === undefined)
      throw new Error("The task has not opened a driving session yet.");
    return this.#driving;
  }

  report(event: RunEvent): void {
    if (this.stopped) return;
    this.#notify(event);
    const decided = decisionOf(event);
    if (decided !== undefined) this.#options.callback.taskDecision(decisionText(decided.decision));
  }

  #notify(event: RunEvent): void {
    const { callback, exceptionHandler, findSession } = this.#options;
    switch (event.type) {
      case "session.started": {
        const session = findSession(event.sessionId);
        if (session === undefined) break;
        this.#sessions.set(event.sessionId, session);
        const isDriving = event.role !== "task";
        if (isDriving) this.#driving = session;
        callback.taskSessionStarted(session, event.sessionId, isDriving);
        break;
      }
      case "session.ended": {
        const session = this.#sessions.get(event.sessionId);
        this.#sessions.delete(event.sessionId);
        if (session !== undefined)
          callback.taskSessionStopped(session, event.sessionId, event.succeeded);
        break;
      }
      case "work.ended":
        if (event.outcome.kind === "crashed") {
          const { crash } = event.outcome;
          this.crashError = new Error(crash.message, { cause: crash });
        }
        break;
      case "run.ended":
        if (this.crashError !== undefined) exceptionHandler(this.crashError);
        if (isSuccess(event.outcome)) callback.taskSucceeded();
        else callback.taskFailed();
        break;
      default:
        break;
    }
  }
}

/** The options of a job. */
export interface RunJobOptions extends Omit<FieldsOn<"job">, "shard"> {
  /** For `$user-input`. Default: empty. */
  readonly userInput?: string;
  /** By name: the `inputs` of the entry. Default: none. */
  readonly inputs?: Readonly<Record<string, string>>;
  /** Parameters of an entry that is a workflow. Default: none. */
  readonly params?: Readonly<Record<string, string>>;
  /** Where the agents work. Default: the current directory. */
  readonly workingDirectory?: string;
  /** The file for the journal of this run, or its name in `journalStore`. Default: the `journals` of the host. */
  readonly journal?: string;
  /**
   * The journal of an earlier run of this job to continue. Steps that ended with an answer aren't run again. With
   * `shard`: the journal of the plan, or of an interrupted run of the same shard. If the `journal` of this run is in a
   * `journalStore` and contains such a run, the shard continues from there instead.
   */
  readonly resume?: string;
  /** With `resume`: tasks that had not started may have changed. Default: rejects. */
  readonly resumeAnyway?: boolean;
  /** With `resume`: reruns commands that were interrupted. Default: rejects. */
  readonly rerun?: boolean;
  /**
   * Runs only what comes before the job's first `Each` or `Par` at its top, and lists the items. `shards`: how many
   * shards are wanted, from 1 to 256; `shards` of the result lists the actual ones. Requires `journal`.
   */
  readonly plan?: { readonly shards: number };
  /** With `resume`: runs only one part of several, such as `1/3`. */
  readonly shard?: string;
  /**
   * With `shard`: what it may spend of the `limits.tokens` and `limits.cost` that the plan left: `items` (in proportion to
   * its items) or `all`. Default: `items`; with a shared `budget`, always `all`.
   */
  readonly share?: "items" | "all";
  /** Merges the journals of a plan and its shards, in any order, and runs the steps after the fan-out. */
  readonly merge?: readonly string[];
  /** With `merge`: whether the job fails if a shard is missing or unfinished. Default: `fail`. */
  readonly onMissing?: "fail" | "continue";
  /** Cancels the job; the promise is then fulfilled with the outcome `canceled`. */
  readonly signal?: AbortSignal;
}

/** How a job has ended. */
export interface JobResult {
  /** All events of the job carry it. */
  readonly runId: string;
  /** `succeeded`, or `failed` or `canceled` with a reason. */
  readonly outcome: RunOutcome;
  /** Every work of the job, by `workId`: how it ended, why, what it cost, and the last message of the agent. */
  readonly works: readonly WorkView[];
  /** Everything that is shown of a run: totals, decisions, denials. */
  readonly view: RunView;
  /** Which records of the job are incomplete, such as its journal, and why. */
  readonly incomplete: readonly string[];
  /** The values for `shard` after a plan that has succeeded. There are never more shards than items. */
  readonly shards?: readonly string[];
}

/** Waits for the end of the run. */
export async function jobResult({ runId, view, ended }: HostRun): Promise<JobResult> {
  const { reporterFailures, outcome } = await ended;
  const incomplete = reporterFailures.map(incompleteText);
  return { runId, outcome, works: [...view.works.values()], view, incomplete };
}

export function incompleteText({ reporter, message }: ReporterFailure): string {
  return `The ${reporter} is incomplete: ${message}`;
}

export function warnIncomplete(failure: ReporterFailure): void {
  process.emitWarning(incompleteText(failure), "AgentJobsWarning");
}
