/**
 * What happens to the documents and actions of a task with the action protocol: one event for each transition of an
 * action. The executor emits them without `work`, which the task adds.
 */
import {
  amount,
  count,
  flag,
  list,
  natural,
  optional,
  record,
  tagged,
  text,
  words,
  yes,
  type TypeOf,
} from "./shape.ts";

/** The words of the protocol, which the model reads as well. */
const ran = ["succeeded", "failed", "timed_out", "cancelled"] as const;
export const endedStatus = words(...ran, "skipped");
const status = words("waiting", "running", ...ran, "skipped");

const ofAction = { id: text, iteration: natural };

/** One transition of a document, an action or a card. */
export const actionEvent = tagged("type", {
  "actions.accepted": {
    /** Accepted documents, from 1 on. */
    iteration: natural,
    /** What the model says about itself. The real status of each action is in its events. */
    claimedStatus: text,
    thoughts: list(record({ type: text, content: text })),
    variables: record({ set: list(text), deleted: list(text) }),
    actions: count,
    stop: flag,
    response: optional(text),
  },
  "actions.rejected": {
    /** The iteration that it would have been. */
    iteration: natural,
    problems: list(record({ path: text, code: text, message: text })),
  },
  /** Something that the runner ignored or corrected. */
  "actions.warning": { iteration: count, text },
  "action.waiting": {
    ...ofAction,
    /** The name of the tool, internal function or relic, `bundle.member`, or the label of the group. */
    action: text,
    kind: words("group", "tool", "relic", "task_manager", "trap_card", "delegate"),
    execution: words("SYNC", "ASYNC"),
    /** The id of its group. */
    group: optional(text),
    inThought: optional(yes),
    /** Ids of actions that must succeed first. */
    requires: optional(list(text)),
    display: optional(record({ kind: words("progress_bar", "status_message"), label: text })),
  },
  "action.started": {
    ...ofAction,
    /** JSON, after references were replaced; only the beginning if it is long. Absent for groups. */
    params: optional(text),
  },
  "action.progress": {
    ...ofAction,
    /** 0 to 95: the rest is up to the end. */
    percent: optional(amount),
    message: optional(text),
  },
  "action.ended": {
    ...ofAction,
    status: endedStatus,
    /** Since its start. 0 if it never started. */
    milliseconds: amount,
    /** Why it did not succeed. */
    reason: optional(text),
    /** Of a skipped action: the one that it needed. */
    cause: optional(record({ id: text, status })),
    /** The beginning of the result. */
    output: optional(text),
    /** Of the whole result. */
    outputCharacters: optional(count),
    /** The result of an identical earlier action with this id: nothing was run. */
    replayed: optional(yes),
  },
  /** A standing action ("trap card") ran before a model call. */
  "card.ended": {
    id: text,
    status: words(...ran),
    milliseconds: amount,
    reason: optional(text),
  },
});

export type ActionStatus = TypeOf<typeof status>;
export type EndedStatus = TypeOf<typeof endedStatus>;
/** One transition of a document, an action or a card. */
export type ActionEvent = TypeOf<typeof actionEvent>;
type Case<Type extends ActionEvent["type"]> = Extract<ActionEvent, { readonly type: Type }>;
export type DocumentAccepted = Case<"actions.accepted">;
export type DocumentRejected = Case<"actions.rejected">;
export type DocumentWarning = Case<"actions.warning">;
export type ActionWaiting = Case<"action.waiting">;
export type ActionDisplay = NonNullable<ActionWaiting["display"]>;
export type ActionStarted = Case<"action.started">;
export type ActionProgress = Case<"action.progress">;
export type ActionEnded = Case<"action.ended">;
export type CardEnded = Case<"card.ended">;
