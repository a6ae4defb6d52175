/**
 * What happens to the documents and actions of a task with the action protocol: one event for each transition of an
 * action. The executor emits them without `work`, which the task adds.
 */

/** The words of the protocol, which the model reads as well. */
export type ActionStatus =
  "waiting" | "running" | "succeeded" | "failed" | "timed_out" | "cancelled" | "skipped";

export type EndedStatus = Exclude<ActionStatus, "waiting" | "running">;

export interface DocumentAccepted {
  readonly type: "actions.accepted";
  /** Accepted documents, from 1 on. */
  readonly iteration: number;
  /** What the model says about itself. The real status of each action is in its events. */
  readonly claimedStatus: string;
  readonly thoughts: readonly { readonly type: string; readonly content: string }[];
  readonly variables: { readonly set: readonly string[]; readonly deleted: readonly string[] };
  readonly actions: number;
  readonly stop: boolean;
  readonly response?: string;
}

export interface DocumentRejected {
  readonly type: "actions.rejected";
  /** The iteration that it would have been. */
  readonly iteration: number;
  readonly problems: readonly {
    readonly path: string;
    readonly code: string;
    readonly message: string;
  }[];
}

/** Something that the runner ignored or corrected. */
export interface DocumentWarning {
  readonly type: "actions.warning";
  readonly iteration: number;
  readonly text: string;
}

export interface ActionWaiting {
  readonly type: "action.waiting";
  readonly id: string;
  readonly iteration: number;
  /** The name of the tool, internal function or relic, `bundle.member`, or the label of the group. */
  readonly action: string;
  readonly kind: "group" | "tool" | "relic" | "task_manager" | "trap_card" | "delegate";
  readonly execution: "SYNC" | "ASYNC";
  /** The id of its group. */
  readonly group?: string;
  readonly inThought?: true;
  /** Ids of actions that must succeed first. */
  readonly requires?: readonly string[];
  readonly display?: ActionDisplay;
}

export interface ActionDisplay {
  readonly kind: "progress_bar" | "status_message";
  readonly label: string;
}

export interface ActionStarted {
  readonly type: "action.started";
  readonly id: string;
  readonly iteration: number;
  /** JSON, after references were replaced; only the beginning if it is long. Absent for groups. */
  readonly params?: string;
}

export interface ActionProgress {
  readonly type: "action.progress";
  readonly id: string;
  readonly iteration: number;
  /** 0 to 95: the rest is up to the end. */
  readonly percent?: number;
  readonly message?: string;
}

export interface ActionEnded {
  readonly type: "action.ended";
  readonly id: string;
  readonly iteration: number;
  readonly status: EndedStatus;
  /** Since its start. 0 if it never started. */
  readonly milliseconds: number;
  /** Why it did not succeed. */
  readonly reason?: string;
  /** Of a skipped action: the one that it needed. */
  readonly cause?: { readonly id: string; readonly status: ActionStatus };
  /** The beginning of the result. */
  readonly output?: string;
  /** Of the whole result. */
  readonly outputCharacters?: number;
  /** The result of an identical earlier action with this id: nothing was run. */
  readonly replayed?: true;
}

/** A standing action ("trap card") ran before a model call. */
export interface CardEnded {
  readonly type: "card.ended";
  readonly id: string;
  readonly status: Exclude<EndedStatus, "skipped">;
  readonly milliseconds: number;
  readonly reason?: string;
}

/** One transition of a document, an action or a card. */
export type ActionEvent =
  | DocumentAccepted
  | DocumentRejected
  | DocumentWarning
  | ActionWaiting
  | ActionStarted
  | ActionProgress
  | ActionEnded
  | CardEnded;
