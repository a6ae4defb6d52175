/** A job as a promise: the options and the result of `JobHost.runJob`. */
import type { RunEvent, RunOutcome } from "../events/event.ts";
import type { ReporterFailure } from "../events/sink.ts";
import { applyEvent, createRunView, type RunView, type WorkView } from "../events/view.ts";
import type { ICopilotJobCallback } from "./job-callbacks.ts";

/** The options of a job. */
export interface RunJobOptions {
  /** For `$user-input`. Default: empty. */
  readonly userInput?: string;
  /** Of an entry that is a workflow: its parameters. Default: none. */
  readonly params?: Readonly<Record<string, string>>;
  /** Where the agents work. Default: the current directory. */
  readonly workingDirectory?: string;
  /** Cancels the job; the promise is then fulfilled with the outcome `canceled`. */
  readonly signal?: AbortSignal;
}

/** How a job has ended. */
export interface JobResult {
  /** Of all events of the job. */
  readonly runId: string;
  /** `succeeded`, or `failed` or `canceled` with a reason. */
  readonly outcome: RunOutcome;
  /** Every work of the job, by `workId`: how it ended, why, what it cost, and the last message of the agent. */
  readonly works: readonly WorkView[];
  /** Everything that is shown of a run: totals, decisions, denials. */
  readonly view: RunView;
  /** Which records of the job are incomplete, such as its journal, and why. */
  readonly incomplete: readonly string[];
}

/** Folds the events of a job into its result. */
export class ResultFold {
  readonly #view = createRunView();
  #outcome: RunOutcome | undefined;

  report(event: RunEvent): void {
    applyEvent(this.#view, event);
    if (event.type === "run.ended") this.#outcome = event.outcome;
  }

  result(runId: string, failures: readonly ReporterFailure[]): JobResult {
    const outcome = this.#outcome ?? { kind: "failed", reason: "The job has not ended." };
    const incomplete = failures.map(incompleteText);
    return { runId, outcome, works: [...this.#view.works.values()], view: this.#view, incomplete };
  }
}

export function incompleteText({ reporter, message }: ReporterFailure): string {
  return `The ${reporter} is incomplete: ${message}`;
}

/** For a job without listeners. */
export const noCallbacks: ICopilotJobCallback = {
  jobSucceeded: () => undefined,
  jobFailed: () => undefined,
  jobCanceled: () => undefined,
  workStarted: () => undefined,
  workStopped: () => undefined,
};
