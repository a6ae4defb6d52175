/** The answers of the routes of the server (docs/server.md). */
import type { ChartGraph } from "../../src/entry/chart.ts";
import type { GridRow, ModelPrice, PreparedJob } from "../../src/entry/model.ts";
import type { JournalInfo as JournalSummary, JournalPage } from "../../src/reports/run-summary.ts";

export interface ApiError {
  /** The name that the documents give it; `Unreachable` if there was no answer. */
  readonly error: string;
  /** A sentence for people. */
  readonly reason: string;
  /** The parameters that it is about. */
  readonly parameters?: readonly string[];
}

export type Answer<T> =
  { readonly ok: true; readonly value: T } | ({ readonly ok: false } & ApiError);

export interface Config {
  readonly repoRoot: string;
}

export interface Model {
  readonly name: string;
  readonly id: string;
  readonly price?: ModelPrice;
}

export interface Jobs {
  readonly grid: readonly GridRow[];
  readonly jobs: Readonly<Record<string, PreparedJob>>;
  readonly chart: Readonly<Record<string, ChartGraph>>;
  /** By the name of the job that is one. */
  readonly workflows?: Readonly<Record<string, WorkflowFacts>>;
  readonly inputs?: Readonly<Record<string, InputFacts>>;
}

export interface WorkflowFacts {
  readonly title?: string;
  readonly parameters: readonly ParameterFacts[];
}

/** A parameter must be given if it has no default, unless it is optional. */
export interface ParameterFacts {
  readonly name: string;
  readonly default?: string;
  readonly description?: string;
  readonly optional?: boolean;
  /** The only values. */
  readonly options?: readonly string[];
}

/** An input that an entry declares. */
export interface InputFacts {
  readonly description: string;
  readonly required?: boolean;
  readonly default?: string;
  readonly options?: readonly string[];
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
  readonly workingDirectory: string;
  readonly userInput: string;
  /** The parameters of a workflow. */
  readonly params?: Readonly<Record<string, string>>;
  /** The inputs of the entry. */
  readonly inputs?: Readonly<Record<string, string>>;
  /** The questions that wait for an answer. */
  readonly questions?: readonly { readonly id: string }[];
  readonly tasks: readonly {
    readonly workIdInJob: number;
    readonly status: "Waiting" | "Skipped" | RunStatus;
  }[];
}

/** A session that was started by a client. */
export interface SessionListItem {
  readonly sessionId: string;
  readonly modelId: string;
  readonly workingDirectory: string;
  /** ISO 8601. */
  readonly startTime: string;
  /** ISO 8601; absent while it is open. */
  readonly endTime?: string;
  /** `after`: the number of the last response in its feed when it was asked. */
  readonly prompts: readonly { readonly after: number; readonly text: string }[];
  readonly tasks: readonly {
    readonly after: number;
    readonly taskId: string;
    readonly taskName: string;
  }[];
}

export type { JournalPage, JournalSummary };
