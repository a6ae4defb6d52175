import type { Decision, DecisionCategory, Purpose, SessionRole } from "./decision.ts";
import type { RunOutcome } from "./event.ts";
import type {
  Finding,
  GivenReply,
  Proposal,
  RefusedOutput,
  ResolvedFinding,
  Verdict,
} from "./output-shapes.ts";
import type { RunPlan, WorkRef } from "./plan.ts";
import type { ModelUsed } from "./session-activity.ts";
import type { ActionsView } from "./view-actions.ts";
import type { FlowView } from "./view-flow.ts";

export type RunStatus = "pending" | "running" | "succeeded" | "failed" | "canceled" | "skipped";
/** `skipped`: it never started, or the change had nothing for it. `answered-no`: it failed as (a part of) a condition. */
export type WorkStatus = RunStatus | "crashed" | "answered-no";

export class Usage {
  modelCalls = 0;
  inputTokens = 0;
  outputTokens = 0;
  cacheReadTokens = 0;
  reasoningTokens = 0;
  /** AI credits: of the calls whose cost is known. */
  cost = 0;
  /** Models with calls of unknown cost: the first ones. */
  unpriced: readonly string[] = [];
}

export class Counters extends Usage {
  /** How often the work was started: more than once in a loop. */
  runs = 0;
  /** Turns that sent the task's prompt: the first one, criteria retries, and further attempts. Not the others of a dialogue. */
  attempts = 0;
  retries = 0;
  crashes = 0;
  denials = 0;
}

export type Counter = Exclude<keyof Counters, "unpriced">;

export interface IterationNumbers extends Pick<
  Counters,
  "attempts" | "modelCalls" | "inputTokens" | "outputTokens"
> {
  readonly finishedMs: number;
}

export interface DecisionEntry {
  readonly at: number;
  /** The iteration of its work; 0 for a decision about the whole job. */
  readonly iteration: number;
  readonly kind: Decision["kind"];
  readonly category: DecisionCategory;
  /** A failure that is the answer of a condition. */
  readonly answer: boolean;
  /** A bounded text without the prefix and without the details of a crash. */
  readonly text: string;
  /** The task that it is about, if that was run on behalf of an action. `text` begins with it. */
  readonly delegate?: string;
  /** The activity of a workflow that it is about, with the id of its file. */
  readonly place?: { readonly file: string; readonly activity: string };
}

/** A denied permission. Equal denials of a work are kept once. */
export interface DenialEntry {
  readonly workId: number;
  readonly taskId: string;
  readonly operation: string;
  readonly target: string;
  readonly reason: string;
  count: number;
}

/** Something that the run continued without: a decision whose audience is `listed`. Equal ones of a work are kept once. */
export interface OmissionEntry {
  readonly workId: number;
  readonly taskId: string;
  readonly text: string;
}

/** A command of an agent whose exit code was not 0. Equal ones of a work are kept once. */
export interface FailedCommand {
  readonly workId: number;
  readonly taskId: string;
  readonly command: string;
  readonly exitCode: number;
  readonly output: string;
  count: number;
}

export interface OpenSession {
  readonly sessionId: string;
  readonly modelId: string;
  readonly role: SessionRole;
  readonly delegate: string | undefined;
  purpose: Purpose | undefined;
  /** UTF-16 units of the answer or reasoning that is being written. */
  streamed: number;
  /** Something has come of the answer to the last request. */
  heard: boolean;
  /** Running tools by the id of their call. */
  readonly tools: Map<string, { readonly name: string; readonly startedAt: number }>;
}

/** The latest outputs of a task, for an item or for none. */
export interface GivenView {
  readonly workId: number;
  readonly taskId: string;
  readonly iteration: number;
  readonly items: readonly string[];
  /** The positions of the items in their lists. */
  readonly place: readonly number[];
  report: { readonly title: string | undefined; readonly markdown: string } | undefined;
  result: { readonly value: unknown } | undefined;
  readonly findings: Finding[];
  verdict: Verdict | undefined;
  /** Refused findings and verdicts that were not corrected afterwards. */
  refused: readonly RefusedOutput[];
  readonly proposals: Proposal[];
  readonly resolved: ResolvedFinding[];
  readonly replies: GivenReply[];
}

/** An item of an `Each` in one work, in the last iteration that ran it. */
export interface ItemView {
  readonly name: string;
  readonly place: readonly number[];
  /** The leg that ran it, such as `2/4`. */
  leg: string | undefined;
  status: WorkStatus;
  reason: string | undefined;
  startedAt: number;
  elapsedMs: number | undefined;
}

/** A work of a job: its status, the reason, and its cost. */
export class WorkView extends Counters {
  /** Its `workIdInJob`. */
  readonly workId: number;
  /** The task that it runs. */
  readonly taskId: string;
  /** It is a condition, or a part of one. */
  condition = false;
  /** The model of its task session. */
  modelId = "";
  /** Its status. */
  status: WorkStatus = "pending";
  /** Why it failed, crashed or was canceled. */
  reason: string | undefined;
  /** Advice about its last crash, if known. */
  advice: string | undefined;
  /** The end of the last iteration. */
  endedAt: number | undefined;
  /** The start of the current iteration; undefined if there is none. Of several at once, of the first. */
  startedAt: number | undefined;
  /** How many iterations are running: items may at the same time. */
  running = 0;
  /** In an `Each`: the first items, in the order of their starts. By their place, see `itemsOf`. */
  readonly items = new Map<string, ItemView>();
  /** How many items there are, those that are not kept included. */
  itemCount = 0;
  /** The time of all finished iterations; `elapsedMs` adds the current one. */
  finishedMs = 0;
  /** The counters at the start of the last iteration. */
  before: IterationNumbers = {
    finishedMs: 0,
    attempts: 0,
    modelCalls: 0,
    inputTokens: 0,
    outputTokens: 0,
  };
  /** The open ones, by id. */
  readonly sessions = new Map<string, OpenSession>();
  /** The agent's last message in reply to the task's prompt. */
  lastMessage: string | undefined;
  /** Its last report: the RESULT of a workflow, the response of a task with actions. Bounded. */
  report: string | undefined;
  /** The iteration that `report` is of. */
  reportedIn: number | undefined;
  /** The path of a workflow, in the current or last iteration; undefined for a task. */
  flow: FlowView | undefined;
  /** The documents and actions of a task with the action protocol, in the current or last iteration. */
  actions: ActionsView | undefined;
  /** The latest ones; `droppedDecisions` is the number of earlier ones. */
  readonly decisions: DecisionEntry[] = [];
  /** How many decisions are not kept. */
  droppedDecisions = 0;

  constructor({ workId, taskId }: Pick<WorkRef, "workId" | "taskId">) {
    super();
    this.workId = workId;
    this.taskId = taskId;
  }
}

/** The state of a run according to its events. Every chart, summary and table is made from it. */
export class RunView {
  /** Empty until the first event. */
  runId = "";
  /** The number of its events, and the times of the first and the latest one. */
  events = 0;
  /** When the first event that is known happened, in milliseconds since 1970; 0 before it. */
  firstAt = 0;
  /** When the latest event that is known happened, in milliseconds since 1970; 0 before one. */
  lastAt = 0;
  /** The planned work; undefined until the run has started. */
  plan: RunPlan | undefined;
  /** Empty until the run has started. */
  jobName = "";
  /** The path that the caller passed; undefined for an entry made in code. */
  entryFile: string | undefined;
  /** Absolute. */
  workingDirectory = "";
  /** The status of the run. */
  status: RunStatus = "pending";
  /** Why it failed or was canceled. */
  reason: string | undefined;
  /** Advice about the failure, if known. */
  advice: string | undefined;
  /** The outcome of the job itself, if the status is that of a rehearsal. */
  jobOutcome: RunOutcome | undefined;
  /** In milliseconds since 1970; undefined until then. */
  startedAt: number | undefined;
  /** In milliseconds since 1970; undefined until then. */
  endedAt: number | undefined;
  /** By work id, in the order of the entry. */
  readonly works = new Map<number, WorkView>();
  /** Sums over the works. */
  readonly totals = new Counters();
  /** About the whole job. */
  readonly decisions: DecisionEntry[] = [];
  /** How many decisions are not kept. */
  droppedDecisions = 0;
  /** The first ones; `totals.denials` counts all. */
  readonly denials: DenialEntry[] = [];
  /** The first ones. */
  readonly omissions: OmissionEntry[] = [];
  /** Notes of tasks for later runs. */
  readonly notes: string[] = [];
  /** The first ones; `failedCommandCount` counts all. */
  readonly failedCommands: FailedCommand[] = [];
  /** How many commands of agents failed. */
  failedCommandCount = 0;
  /** The argument of the last `job_prepare_document`: its first line, trimmed. */
  reportedDocument: string | undefined;
  /** Outputs that tasks handed in with tools: of the last run of each, by task and items. */
  readonly given = new Map<string, GivenView>();
  /** The work whose agent spoke last. */
  lastSpeaker: number | undefined;

  /** A script played the model. */
  get rehearsed(): boolean {
    return this.plan?.rehearsed === true || this.jobOutcome !== undefined;
  }
}

export const KEPT_ITEMS = 1_000;
/** Decisions kept for each work, and for the job. */
export const KEPT_DECISIONS = 200;
export const KEPT_DENIALS = 100;
export const KEPT_OMISSIONS = 100;
export const KEPT_COMMANDS = 100;
const KEPT_UNPRICED = 10;

/** An empty view; `applyEvent` folds the events of a run into it. */
export function createRunView(): RunView {
  return new RunView();
}

/** It succeeded, but not at once. A workflow sends many prompts without a retry. */
export function wasRetried({ status, flow, attempts, runs, crashes }: WorkView): boolean {
  return status === "succeeded" && (flow === undefined ? attempts > runs : crashes > 0);
}

/** Credits, rounded as binary fractions need it. Undefined: no call that cost something has a known cost. */
export function knownCost({
  cost,
  unpriced,
}: Pick<Usage, "cost" | "unpriced">): number | undefined {
  return cost === 0 && unpriced.length > 0 ? undefined : Math.round(cost * 1e6) / 1e6;
}

export function addUsage(usage: Usage, used: ModelUsed): void {
  usage.modelCalls += 1;
  usage.inputTokens += used.inputTokens;
  usage.outputTokens += used.outputTokens;
  usage.cacheReadTokens += used.cacheReadTokens;
  usage.reasoningTokens += used.reasoningTokens;
  if (used.cost !== undefined) usage.cost += used.cost;
  else if (usage.unpriced.length < KEPT_UNPRICED && !usage.unpriced.includes(used.modelId))
    usage.unpriced = [...usage.unpriced, used.modelId];
}
