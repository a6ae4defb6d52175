/** Everything of a run that the page shows and links to. `run-model.ts` folds events into it, beside the `RunView`. */
import type { ActionEnded, ActionEvent, ActionWaiting } from "../../src/events/action.ts";
import type {
  Decision,
  DecisionCategory,
  DecisionTraits,
  SessionRole,
} from "../../src/events/decision.ts";
import type {
  TurnEnded,
  TurnStarted,
  WorkOutcome,
  StepEnded,
  StepStarted,
} from "../../src/events/event.ts";
import type {
  ModelFailed,
  ModelReplied,
  ModelUsed,
  PermissionDenied,
  SubAgentToolFailed,
  ToolEnded,
} from "../../src/events/session-activity.ts";
import type { RunView, Sent, WorkView } from "../../src/events/view.ts";

/** Places are in the order in which they began. A `number` is a place's index in its list, from 1. */
export interface RunModel {
  /** All statuses, times and counters of the run and its works. */
  readonly view: RunView;
  /** By work id, in the order of the entry. */
  readonly works: Map<number, WorkModel>;
  readonly turns: TurnModel[];
  /** The first turn of each id. */
  readonly turnsById: Map<string, TurnModel>;
  /** The first tool call of each id: an id is unique only within one answer of a model. */
  readonly callsById: Map<string, CallBlock>;
  /** All decisions, derived ones included. */
  readonly decisions: DecisionItem[];
  readonly steps: StepModel[];
  readonly documents: DocumentModel[];
  readonly actions: ActionModel[];
  /** The iterations that have not ended. */
  readonly running: Set<IterationModel>;
  /** How many events could not be applied: they are of another version of agent-jobs. */
  unusable: number;
}

export interface WorkModel {
  readonly workId: number;
  readonly taskId: string;
  readonly view: WorkView;
  /** By number, in the order of their first events. */
  readonly iterations: Map<number, IterationModel>;
}

/** How something stands, as `parts/status.tsx` shows it. */
export type Status =
  | "pending"
  | "running"
  | "succeeded"
  | "retried"
  | "failed"
  | "crashed"
  | "canceled"
  /** Its end is not known, and never will be. */
  | "incomplete"
  /** The process of the run is gone. */
  | "interrupted"
  | "skipped"
  | "answered-yes"
  | "answered-no"
  /** It waits for a person. */
  | "asking";

/** Anything that has a link of its own, and that a search or the timeline can lead to. */
export type Place = IterationModel | Entry | Block;

/** A part of an iteration that has rows of its own. */
export type Entry = TurnModel | DecisionItem | StepModel | DocumentModel | ActionModel;

export interface IterationModel {
  readonly kind: "iteration";
  readonly work: WorkModel;
  readonly iteration: number;
  readonly at: number;
  endedAt: number | undefined;
  outcome: WorkOutcome | undefined;
  status: "running" | "answered-no" | WorkOutcome["kind"];
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
}

export interface SessionModel {
  readonly sessionId: string;
  /** The task that it works for, if that was run on behalf of an action. */
  readonly task: string | undefined;
  readonly role: SessionRole;
  readonly modelId: string;
  readonly attempt: number;
  readonly startedAt: number;
  endedAt: number | undefined;
  /** The last turn of each id. */
  readonly turns: Map<string, TurnModel>;
}

/** A place of an iteration; a decision about the whole job has none. */
interface InIteration {
  readonly iteration: IterationModel;
  readonly number: number;
  /** The task that was run on behalf of an action, if it is not about the work's own task. */
  readonly task: string | undefined;
  /** The sending of the task's prompt that it belongs to, from 1. */
  readonly sending: number;
  readonly at: number;
}

/** A run of an activity of a workflow. */
export interface StepModel {
  readonly kind: "step";
  readonly iteration: IterationModel;
  readonly number: number;
  /** Its number in the workflow. */
  readonly step: number;
  /** The id of its file in the plan. */
  readonly file: string;
  readonly activity: string;
  readonly at: number;
  /** Undefined: the journal lacks its start. */
  readonly start: StepStarted | undefined;
  endedAt: number | undefined;
  end: StepEnded | undefined;
  status: "running" | "succeeded" | "failed" | "answered-no" | "canceled";
  /** The output of its scripts so far. */
  output: string;
}

/** A document of the action protocol, or something that was said of one. */
export interface DocumentModel extends InIteration {
  readonly kind: "document";
  readonly event: Exclude<ActionEvent, { readonly type: `action.${string}` }>;
}

/** An action of the action protocol. Facts of its acceptance are absent if the journal lacks that. */
export interface ActionModel
  extends InIteration, Partial<Omit<ActionWaiting, "type" | "kind" | "iteration" | "id">> {
  readonly kind: "action";
  readonly id: string;
  readonly of: ActionWaiting["kind"];
  /** The number of its document. */
  readonly document: number;
  /** Undefined: it has not started. */
  since: number | undefined;
  params: string | undefined;
  /** 0 to 95. */
  percent: number | undefined;
  message: string | undefined;
  end: ActionEnded | undefined;
  endedAt: number | undefined;
}

export interface TurnModel extends InIteration {
  readonly kind: "turn";
  /** Whether its answer is a document of the action protocol. */
  readonly isProtocol: boolean;
  /** The step of a workflow that it belongs to. */
  readonly step: StepModel | undefined;
  readonly turnId: string;
  readonly session: SessionModel;
  /** Undefined: the journal lacks its start. */
  readonly start: TurnStarted | undefined;
  endedAt: number | undefined;
  /** Undefined: it runs, or the journal lacks its end. */
  outcome: TurnEnded["outcome"] | undefined;
  readonly blocks: Block[];
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
  /** The output of the tool so far. */
  output: string;
  end: ToolEnded | undefined;
  endedAt: number | undefined;
}

export interface DecisionItem extends Omit<InIteration, "iteration"> {
  readonly kind: "decision";
  /** Undefined: it is about the whole job. */
  readonly iteration: IterationModel | undefined;
  /** The step of a workflow in which it was made. */
  readonly step: StepModel | undefined;
  readonly decision: Decision;
  readonly category: DecisionCategory;
  readonly severity: DecisionTraits["severity"];
  /** The answer "no" of a condition. */
  readonly answer: boolean;
  /** The message, which lacks the category and the details of a crash. */
  readonly text: string;
  /** It was derived from another event, and has no row of its own. */
  readonly derived: boolean;
  /** The block that it was derived from. */
  readonly block: Block | undefined;
}
