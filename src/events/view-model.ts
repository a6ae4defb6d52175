/** What a `RunView` holds: see `view.ts`, which folds events into it. */
import type { Decision, DecisionCategory, Purpose, SessionRole } from "./decision.ts";
import type { RunOutcome } from "./event.ts";
import type { RunPlan } from "./plan.ts";

export type RunStatus = "pending" | "running" | "succeeded" | "failed" | "canceled";
/**
 * `skipped`: the run is over and it never started. `answered-no`: it failed as a condition of an `Alt` or `Loop`
 * (or as a part of one), and that is its answer.
 */
export type WorkStatus = RunStatus | "crashed" | "skipped" | "answered-no";

export interface Usage {
  modelCalls: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  reasoningTokens: number;
  /** In the runtime's own unit (premium requests). */
  cost: number;
}

export interface Counters extends Usage {
  /** How often the work was started (loops). */
  runs: number;
  /** Turns that sent the task's prompt: the first one, criteria retries, and attempts after a crash. */
  attempts: number;
  /** Criteria retries. */
  retries: number;
  crashes: number;
  /** Denied permissions. */
  denials: number;
}

export interface DecisionEntry {
  readonly at: number;
  /** The run of its work; 0 for a decision about the whole job. */
  readonly run: number;
  readonly kind: Decision["kind"];
  readonly category: DecisionCategory;
  /** A failure that is the answer of a condition. */
  readonly answer: boolean;
  /** Without the prefix and without the details of a crash, bounded. */
  readonly text: string;
}

/** Something that the permissions did not allow; the same denial of one work is kept once. */
export interface DenialEntry {
  readonly workId: number;
  readonly taskId: string;
  readonly operation: string;
  /** Bounded, as is the reason. */
  readonly target: string;
  readonly reason: string;
  count: number;
}

export interface OpenSession {
  readonly sessionId: string;
  readonly modelId: string;
  readonly role: SessionRole;
  /** What its current turn is for; undefined between turns. */
  purpose: Purpose | undefined;
  /** UTF-16 units of the answer or reasoning that is being written. */
  streamed: number;
  /** By tool call id, in the order of their start. */
  readonly tools: Map<string, { readonly name: string; readonly startedAt: number }>;
}

/** One work of a job: what has become of it, why, and what it cost. */
export interface WorkView extends Counters {
  /** Its `workIdInJob`. */
  readonly workId: number;
  /** The task that it runs. */
  readonly taskId: string;
  /** It is a condition, or a part of one. */
  condition: boolean;
  /** Of its task session. */
  modelId: string;
  /** What has become of it. */
  status: WorkStatus;
  /** Why it failed, crashed or was canceled. */
  reason: string | undefined;
  /** What to do about its last crashes, where that is known. */
  advice: string | undefined;
  /** The end of the last run. */
  endedAt: number | undefined;
  /** The start of the run that goes on; undefined while none does. */
  startedAt: number | undefined;
  /** Of all finished runs; `elapsedMs` adds the one that goes on. */
  finishedMs: number;
  /** Those that are open now, by id. */
  readonly sessions: Map<string, OpenSession>;
  /** What the agent last said to the task's prompt. */
  lastMessage: string | undefined;
  /** The latest ones; `droppedDecisions` tells how many came before. */
  readonly decisions: DecisionEntry[];
  /** How many decisions are not kept. */
  droppedDecisions: number;
}

/** A run as far as its events have told it: what every chart, summary and table is made from. */
export interface RunView {
  /** Empty until the run has started. */
  runId: string;
  /** What the run was to do; undefined until it has started. */
  plan: RunPlan | undefined;
  /** Empty until the run has started. */
  jobName: string;
  /** As the caller named it; undefined for an entry made in code. */
  entryFile: string | undefined;
  /** Absolute. */
  workingDirectory: string;
  /** What has become of the run. */
  status: RunStatus;
  /** Why it failed or was canceled. */
  reason: string | undefined;
  /** What the job itself came to, where the status is the verdict on a rehearsal. */
  jobOutcome: RunOutcome | undefined;
  /** In milliseconds since 1970; undefined until then. */
  startedAt: number | undefined;
  /** In milliseconds since 1970; undefined until then. */
  endedAt: number | undefined;
  /** By work id, in the order of the entry. */
  readonly works: Map<number, WorkView>;
  /** Sums over the works. */
  readonly totals: Counters;
  /** About the whole job. */
  readonly decisions: DecisionEntry[];
  /** How many decisions are not kept. */
  droppedDecisions: number;
  /** How often each kind of decision was made, of the job and of all works, dropped ones included, answers not. */
  readonly decided: Map<Decision["kind"], number>;
  /** The first ones; `totals.denials` counts all. */
  readonly denials: DenialEntry[];
  /** The argument of the last `job_prepare_document`: its first line, trimmed. */
  reportedDocument: string | undefined;
  /** The work whose agent spoke last. */
  lastSpeaker: number | undefined;
}

/** Decisions kept for each work, and for the job. */
export const KEPT_DECISIONS = 50;
/** Different denials kept of a run. */
export const KEPT_DENIALS = 100;

/** An empty view; `applyEvent` folds the events of a run into it. */
export function createRunView(): RunView {
  return {
    runId: "",
    plan: undefined,
    jobName: "",
    entryFile: undefined,
    workingDirectory: "",
    status: "pending",
    reason: undefined,
    jobOutcome: undefined,
    startedAt: undefined,
    endedAt: undefined,
    works: new Map(),
    totals: noCounters(),
    decisions: [],
    droppedDecisions: 0,
    decided: new Map(),
    denials: [],
    reportedDocument: undefined,
    lastSpeaker: undefined,
  };
}

export function noCounters(): Counters {
  return {
    runs: 0,
    attempts: 0,
    retries: 0,
    crashes: 0,
    denials: 0,
    modelCalls: 0,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    reasoningTokens: 0,
    cost: 0,
  };
}
