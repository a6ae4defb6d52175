/** What the routes of the server answer (docs/server.md). */
import type { ChartGraph } from "../../src/entry/chart.ts";
import type { GridRow, PreparedJob } from "../../src/entry/model.ts";
import type { JournalInfo } from "../../src/report/run-summary.ts";

export interface ApiError {
  /** The name that the documents give it; `Unreachable` if there was no answer. */
  readonly error: string;
  /** A sentence for people. */
  readonly reason: string;
}

export type Answer<T> =
  { readonly ok: true; readonly value: T } | ({ readonly ok: false } & ApiError);

export interface Config {
  readonly repoRoot: string;
}

export interface Model {
  readonly name: string;
  readonly id: string;
  readonly multiplier: number;
}

export interface Jobs {
  readonly grid: readonly GridRow[];
  readonly jobs: Readonly<Record<string, PreparedJob>>;
  readonly chart: Readonly<Record<string, ChartGraph>>;
}

export interface TaskListItem {
  readonly name: string;
  readonly requireUserInput: boolean;
}

export type RunStatus = "Running" | "Succeeded" | "Failed" | "Canceled";

export interface RunListItem {
  readonly jobId: string;
  readonly jobName: string;
  /** ISO 8601. */
  readonly startTime: string;
  /** ISO 8601; absent while it runs. */
  readonly endTime?: string;
  readonly status: RunStatus;
  /** As it was started. */
  readonly workingDirectory: string;
  readonly userInput: string;
  readonly tasks: readonly {
    readonly workIdInJob: number;
    readonly status: "Waiting" | "Skipped" | RunStatus;
  }[];
}

/** A journal of the server's folder. */
export type JournalSummary = JournalInfo;
