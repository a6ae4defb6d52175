/** The contents of a `RunModel`: everything of a run that the page shows. `run-model.ts` folds events into it. */
import type {
  Decision,
  DecisionCategory,
  DecisionTraits,
  SessionRole,
} from "../../src/events/decision.ts";
import type { ActionEnded, ActionEvent, ActionWaiting } from "../../src/events/action.ts";
import type { TurnEnded, TurnStarted, WorkOutcome } from "../../src/events/event.ts";
import type {
  ModelFailed,
  ModelReplied,
  ModelUsed,
  PermissionDenied,
  SubAgentToolFailed,
  ToolEnded,
} from "../../src/events/session-activity.ts";
import type { StepEnded, StepStarted } from "../../src/events/step.ts";
import type { RunView, Sent, Usage } from "../../src/events/view.ts";

export interface RunModel {
  /** Statuses and counters, as everywhere else. */
  readonly view: RunView;
  /** By work id, in the order of the entry. */
  readonly works: Map<number, WorkModel>;
  /** All turns, in the order of their start. */
  readonly turns: TurnModel[];
  /** The first turn of each id. */
  readonly turnsById: Map<string, TurnModel>;
  /** The first tool call of each id: an id is unique only within one answer of a model. */
  readonly callsById: Map<string, CallBlock>;
  /** All decisions, also those that `decisionOf` derives. */
  readonly decisions: DecisionItem[];
  /** All steps of workflows, in the order of their start. */
  readonly steps: StepModel[];
  /** All documents of the action protocol, and what was said of them, in their order. */
  readonly documents: DocumentModel[];
  /** All actions, in the order of their documents. */
  readonly actions: ActionModel[];
  /** The lane of the job, then those of each work: its own, and those of its sessions. */
  readonly jobLane: Lane;
  /** Those that have not ended. */
  readonly running: Set<IterationModel>;
  /** Times of the first and the last event; undefined before the first one. */
  firstAt: number | undefined;
  lastAt: number | undefined;
  /** How many events were applied. */
  events: number;
  /** How many of them could not be applied: they are of another version of agent-jobs. */
  unusable: number;
}

export interface WorkModel {
  readonly workId: number;
  readonly taskId: string;
  /** By number, in the order of their first events. */
  readonly iterations: Map<number, IterationModel>;
  readonly lane: Lane;
  readonly sessionLanes: Lane[];
  /** Of actions, one after the other on each. */
  readonly actionLanes: Lane[];
  /** How many actions had to share a lane. */
  sharedActions: number;
  /** How many sessions were started. */
  sessionCount: number;
}

/** Anything that has a link of its own, and that a search or the timeline can lead to. */
export type Place =
  IterationModel | TurnModel | Block | DecisionItem | StepModel | DocumentModel | ActionModel;

/** What an iteration consists of. */
export type Entry = TurnModel | DecisionItem | StepModel | DocumentModel | ActionModel;

export interface IterationModel {
  readonly kind: "iteration";
  readonly work: WorkModel;
  readonly iteration: number;
  readonly startedAt: number;
  endedAt: number | undefined;
  outcome: WorkOutcome | undefined;
  /** It is a condition, and failed as one that says no. */
  answeredNo: boolean;
  modelId: string;
  readonly sessions: Map<string, SessionModel>;
  /** In the order in which they happened. */
  readonly entries: Entry[];
  /** The steps that have not ended, the innermost last. */
  readonly openSteps: StepModel[];
  /** The actions that have not ended, by document and id. */
  readonly openActions: Map<string, ActionModel>;
  /** How often the prompt of the task was sent. */
  sendings: number;
  /** By its latest turn. */
  sent: Sent | undefined;
  readonly usage: Usage;
  readonly span: Span;
  /** The end of what happened last, for the time until the next turn. */
  idleSince: number;
}

export interface SessionModel {
  readonly sessionId: string;
  /** The task that it works for, if that was run on behalf of an action. */
  readonly task: string | undefined;
  readonly iteration: IterationModel;
  readonly role: SessionRole;
  readonly modelId: string;
  readonly retry: number;
  readonly attempt: number;
  readonly startedAt: number;
  /** Its number among the sessions of its work, from 1. */
  readonly number: number;
  endedAt: number | undefined;
  /** The last turn of each id. */
  readonly turns: Map<string, TurnModel>;
  readonly lane: Lane;
}

/** A run of an activity of a workflow. */
export interface StepModel {
  readonly kind: "step";
  /** Its number in the run, from 1. */
  readonly number: number;
  /** Its number in the workflow. */
  readonly step: number;
  readonly iteration: IterationModel;
  /** The id of its file in the plan. */
  readonly file: string;
  readonly activity: string;
  readonly startedAt: number;
  /** Undefined: the journal lacks its start. */
  readonly start: StepStarted | undefined;
  endedAt: number | undefined;
  end: StepEnded | undefined;
  /** What its scripts have printed so far. */
  output: string;
  readonly span: Span;
}

/** A document of the action protocol, or something that was said of one. */
export interface DocumentModel {
  readonly kind: "document";
  /** Its number in the run, from 1. */
  readonly number: number;
  readonly iteration: IterationModel;
  /** The task that was run on behalf of an action, if it is not from the work's own task. */
  readonly task: string | undefined;
  /** The sending of the prompt that it belongs to. */
  readonly sending: number;
  readonly at: number;
  readonly event: Exclude<ActionEvent, { readonly type: `action.${string}` }>;
}

/** An action of the action protocol. */
export interface ActionModel {
  readonly kind: "action";
  /** Its number in the run, from 1. */
  readonly number: number;
  readonly iteration: IterationModel;
  readonly task: string | undefined;
  /** The sending of the prompt that it belongs to. */
  readonly sending: number;
  readonly id: string;
  /** The number of its document. */
  readonly document: number;
  /** What it calls; empty if the journal lacks it. */
  readonly name: string;
  readonly of: ActionWaiting["kind"];
  readonly isBackground: boolean;
  readonly group: string | undefined;
  readonly isInThought: boolean;
  readonly requires: readonly string[];
  readonly label: string | undefined;
  /** When it was accepted. */
  readonly at: number;
  /** Undefined: it has not started. */
  since: number | undefined;
  params: string | undefined;
  /** 0 to 95. */
  percent: number | undefined;
  message: string | undefined;
  end: ActionEnded | undefined;
  endedAt: number | undefined;
  /** Undefined if it never started, and for groups. */
  span: Span | undefined;
}

export interface TurnModel {
  readonly kind: "turn";
  /** Whether its answer is a document of the action protocol. */
  readonly isProtocol: boolean;
  /** The step of a workflow that it belongs to. */
  readonly step: StepModel | undefined;
  readonly turnId: string;
  readonly session: SessionModel;
  readonly iteration: IterationModel;
  /** Which sending of the task's prompt it belongs to, from 1. */
  readonly sending: number;
  readonly startedAt: number;
  /** Undefined: the journal lacks its start. */
  readonly start: TurnStarted | undefined;
  endedAt: number | undefined;
  /** Undefined: it runs, or the journal lacks its end. */
  outcome: TurnEnded["outcome"] | undefined;
  readonly blocks: Block[];
  readonly usage: Usage;
  readonly span: Span;
  /** Texts that are being written, by kind and id. */
  readonly openTexts: Map<string, TextBlock>;
  /** Tool calls that are running, by id. */
  readonly openCalls: Map<string, CallBlock>;
  /** The model call that seems to be running: none is reported before it has ended. */
  openModel: Span | undefined;
}

interface InTurn {
  readonly turn: TurnModel;
  /** Its number in the turn, from 1. */
  readonly number: number;
  readonly at: number;
}

export type Block =
  | TextBlock
  | CallBlock
  | (InTurn & { readonly kind: "reply"; readonly reply: ModelReplied })
  | (InTurn & { readonly kind: "usage"; readonly used: ModelUsed })
  | (InTurn & { readonly kind: "model-failure"; readonly failure: ModelFailed })
  | (InTurn & { readonly kind: "agent-failure"; readonly failure: SubAgentToolFailed })
  | (InTurn & { readonly kind: "denial"; readonly denial: PermissionDenied });

export interface TextBlock extends InTurn {
  readonly kind: "reasoning" | "message";
  readonly textId: string;
  text: string;
  /** Whether the whole text is known. */
  complete: boolean;
}

export interface CallBlock extends InTurn {
  readonly kind: "call";
  readonly callId: string;
  /** The first call of the run with this id: a link can name it by the id alone. */
  readonly first: boolean;
  readonly parentCallId: string | undefined;
  readonly toolName: string;
  /** Undefined: the journal lacks its start. */
  readonly arguments: unknown;
  /** What the tool has written so far. */
  output: string;
  end: ToolEnded | undefined;
  endedAt: number | undefined;
  readonly span: Span;
}

export interface DecisionItem {
  readonly kind: "decision";
  /** Its number in the run, from 1. */
  readonly number: number;
  readonly at: number;
  /** Undefined: it is about the whole job. */
  readonly iteration: IterationModel | undefined;
  /** The sending of the prompt that it belongs to. */
  readonly sending: number;
  /** The step of a workflow in which it was made. */
  readonly step: StepModel | undefined;
  readonly decision: Decision;
  readonly category: DecisionCategory;
  readonly severity: DecisionTraits["severity"];
  /** The answer "no" of a condition. */
  readonly answer: boolean;
  /** Without the category, and without the details of a crash. */
  readonly text: string;
  /** What it was derived from, if a turn shows that already. */
  readonly block: Block | undefined;
}

/** `queue`: until a turn could start (a free slot, a new session). `wait`: a wait that was decided. */
export type SpanKind =
  "job" | "iteration" | "queue" | "wait" | "step" | "action" | "turn" | "model" | "tool";
export type SpanStatus =
  "running" | "succeeded" | "failed" | "answered-no" | "canceled" | "skipped" | "neutral";

export interface Span {
  readonly kind: SpanKind;
  readonly start: number;
  /** Undefined: it has not ended. */
  end: number | undefined;
  status: SpanStatus;
  /** What it shows; undefined for the job itself. */
  source: Place | undefined;
}

export type MarkKind = "crash" | "retry" | "attempt" | "denial" | "limit" | "failure" | "restart";

export interface Mark {
  readonly kind: MarkKind;
  readonly at: number;
  readonly source: Place;
}

export interface Lane {
  /** In the order in which they became known. */
  readonly spans: Span[];
  readonly marks: Mark[];
  /** The sessions that it shows, one after the other; empty for a work or the job. */
  readonly sessions: SessionModel[];
}

/** The sessions of a work get a lane each, up to that many; from then on, lanes are used again. */
export const SESSION_LANES = 6;
export const ACTION_LANES = 12;
/** So many at most, even if no session of a damaged journal ends. */
export const MAX_SESSION_LANES = 48;
