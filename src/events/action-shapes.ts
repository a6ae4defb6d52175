/** The JSON of what happens to the documents and actions of the action protocol. */
import type {
  ActionDisplay,
  ActionEvent,
  ActionStatus,
  ActionWaiting,
  CardEnded,
  EndedStatus,
} from "./action.ts";
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
} from "./shape.ts";

export const endedStatus = words<EndedStatus>({
  succeeded: true,
  failed: true,
  timed_out: true,
  cancelled: true,
  skipped: true,
});
const status = words<ActionStatus>({
  waiting: true,
  running: true,
  succeeded: true,
  failed: true,
  timed_out: true,
  cancelled: true,
  skipped: true,
});
const cardStatus = words<CardEnded["status"]>({
  succeeded: true,
  failed: true,
  timed_out: true,
  cancelled: true,
});
const kind = words<ActionWaiting["kind"]>({
  group: true,
  tool: true,
  relic: true,
  task_manager: true,
  trap_card: true,
  delegate: true,
});
const display = record<ActionDisplay>({
  kind: words<ActionDisplay["kind"]>({ progress_bar: true, status_message: true }),
  label: text,
});
const ofAction = { id: text, iteration: natural };

export const actionEvent = tagged<ActionEvent, "type">("type", {
  "actions.accepted": {
    iteration: natural,
    claimedStatus: text,
    thoughts: list(
      record<{ readonly type: string; readonly content: string }>({ type: text, content: text }),
    ),
    variables: record<{ readonly set: readonly string[]; readonly deleted: readonly string[] }>({
      set: list(text),
      deleted: list(text),
    }),
    actions: count,
    stop: flag,
    response: optional(text),
  },
  "actions.rejected": {
    iteration: natural,
    problems: list(
      record<{ readonly path: string; readonly code: string; readonly message: string }>({
        path: text,
        code: text,
        message: text,
      }),
    ),
  },
  "actions.warning": { iteration: count, text },
  "action.waiting": {
    ...ofAction,
    action: text,
    kind,
    execution: words<ActionWaiting["execution"]>({ SYNC: true, ASYNC: true }),
    group: optional(text),
    inThought: optional(yes),
    requires: optional(list(text)),
    display: optional(display),
  },
  "action.started": { ...ofAction, params: optional(text) },
  "action.progress": { ...ofAction, percent: optional(amount), message: optional(text) },
  "action.ended": {
    ...ofAction,
    status: endedStatus,
    milliseconds: amount,
    reason: optional(text),
    cause: optional(
      record<{ readonly id: string; readonly status: ActionStatus }>({ id: text, status }),
    ),
    output: optional(text),
    outputCharacters: optional(count),
    replayed: optional(yes),
  },
  "card.ended": { id: text, status: cardStatus, milliseconds: amount, reason: optional(text) },
});
