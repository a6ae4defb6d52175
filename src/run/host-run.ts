/** One run on a host: what it is given, and the handle of who started it. */
import type { TurnGate, Way } from "../engine/ports.ts";
import type { RunEventBody, RunOutcome } from "../events/event.ts";
import type { Reporter, ReporterFailure } from "../events/sink.ts";

export interface RunOnHostOptions {
  /** Cancels the run; its reason, if it is a string, is the reason shown. */
  readonly signal?: AbortSignal | undefined;
  /** Receive the events of this run only, before the reporters of the host. They are closed at its end. */
  readonly reporters?: readonly Reporter[];
  readonly runId?: string | undefined;
  readonly rewrite?: (event: RunEventBody) => RunEventBody;
  /** Puts a gate before that of the host, which bounds how many turns run at once. */
  readonly gateTurns?: ((own: TurnGate) => TurnGate) | undefined;
  readonly onWay?: ((way: Way) => void) | undefined;
}

export interface HostRun {
  readonly runId: string;
  /** The job, or the task that runs alone. */
  readonly name: string;
  cancel(reason: string): void;
  /** Ends a work that runs as failed; the job goes on. False if the work doesn't run. */
  stopWork(workId: number, reason: string): boolean;
  /** Fulfilled however the run ends, when its own reporters are closed. */
  readonly ended: Promise<RunEnd>;
}

export interface RunEnd {
  readonly outcome: RunOutcome;
  /** Of the reporters of this run; those of the host go to `onReporterFailure`. */
  readonly reporterFailures: readonly ReporterFailure[];
}
