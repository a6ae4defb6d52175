/** One event for each transition of an action. The executor emits them without `work`, which the task adds. */
import * as is from "../document/describe.ts";
import type { TypeOf } from "../document/describe.ts";

/** The words of the protocol, which the model reads as well. */
const ran = ["succeeded", "failed", "timed_out", "cancelled"] as const;
export const endedStatus = is.words(...ran, "skipped");
const status = is.words("waiting", "running", ...ran, "skipped");

const ofAction = { id: is.text, iteration: is.natural };

export const actionEvent = is.tagged("type", {
  "actions.accepted": {
    /** Accepted documents, from 1 on. */
    iteration: is.natural,
    /** Claimed by the model. The real status of each action is in its events. */
    claimedStatus: is.text,
    thoughts: is.list(is.record({ type: is.text, content: is.text })),
    variables: is.record({ set: is.list(is.text), deleted: is.list(is.text) }),
    actions: is.count,
    stop: is.flag,
    response: is.optional(is.text),
  },
  "actions.rejected": {
    /** The iteration that it would have been. */
    iteration: is.natural,
    problems: is.list(is.record({ path: is.text, code: is.text, message: is.text })),
  },
  /** Something that the runner ignored or corrected. */
  "actions.warning": { iteration: is.count, text: is.text },
  "action.waiting": {
    ...ofAction,
    /** The name of the tool, internal function or relic, `bundle.member`, or the label of the group. */
    action: is.text,
    kind: is.words("group", "tool", "relic", "task_manager", "trap_card", "delegate"),
    execution: is.words("SYNC", "ASYNC"),
    group: is.optional(is.text),
    inThought: is.optional(is.yes),
    /** Ids of actions that must succeed first. */
    requires: is.optional(is.list(is.text)),
    display: is.optional(
      is.record({ kind: is.words("progress_bar", "status_message"), label: is.text }),
    ),
  },
  "action.started": {
    ...ofAction,
    /** JSON, after references were replaced; only the beginning if it is long. Absent for groups. */
    params: is.optional(is.text),
  },
  "action.progress": {
    ...ofAction,
    /** 0 to 95: the rest is up to the end. */
    percent: is.optional(is.amount),
    message: is.optional(is.text),
  },
  "action.ended": {
    ...ofAction,
    status: endedStatus,
    /** Since its start. 0 if it never started. */
    milliseconds: is.amount,
    reason: is.optional(is.text),
    /** The failed action that a skipped one needed. */
    cause: is.optional(is.record({ id: is.text, status })),
    output: is.optional(is.text),
    outputCharacters: is.optional(is.count),
    /** The result of an identical earlier action with this id: nothing was run. */
    replayed: is.optional(is.yes),
  },
  /** A standing action ("trap card") ran before a model call. */
  "card.ended": {
    id: is.text,
    status: is.words(...ran),
    milliseconds: is.amount,
    reason: is.optional(is.text),
  },
});

export type ActionStatus = TypeOf<typeof status>;
export type EndedStatus = TypeOf<typeof endedStatus>;
/** One transition of a document, an action or a card. */
export type ActionEvent = TypeOf<typeof actionEvent>;
type Case<Type extends ActionEvent["type"]> = Extract<ActionEvent, { readonly type: Type }>;
export type DocumentRejected = Case<"actions.rejected">;
export type ActionWaiting = Case<"action.waiting">;
export type ActionDisplay = NonNullable<ActionWaiting["display"]>;
export type ActionProgress = Case<"action.progress">;
export type ActionEnded = Case<"action.ended">;
