/** The documents and actions of the action protocol, as `run-model.ts` folds them. */
import type {
  ActionEnded,
  ActionEvent,
  ActionProgress,
  ActionStarted,
  ActionWaiting,
} from "../../src/events/action.ts";
import { addSpan, endSpan, newLane } from "./lanes.ts";
import {
  ACTION_LANES,
  type ActionModel,
  type DocumentModel,
  type IterationModel,
  type Lane,
  type RunModel,
  type SpanStatus,
  type WorkModel,
} from "./model.ts";

/** The rest is up to the end. */
const MAX_PERCENT = 95;

/** `task`: the one that was run on behalf of an action, if the event is not about the work's own task. */
export function applyAction(
  model: RunModel,
  iteration: IterationModel,
  event: ActionEvent,
  task: string | undefined,
  at: number,
): void {
  // What goes on between two turns is no wait for a slot.
  if (event.type !== "action.progress") iteration.idleSince = Math.max(iteration.idleSince, at);
  switch (event.type) {
    case "actions.accepted":
    case "actions.rejected":
    case "actions.warning":
    case "card.ended":
      return addDocument(model, iteration, event, task, at);
    case "action.waiting":
      return void (
        openAction(iteration, event, task) ?? addAction(model, iteration, event, task, at)
      );
    case "action.started":
      return start(model, iteration, event, task, at);
    case "action.progress":
      return progress(openAction(iteration, event, task), event);
    case "action.ended":
      return end(model, iteration, event, task, at);
  }
}

function addDocument(
  model: RunModel,
  iteration: IterationModel,
  event: DocumentModel["event"],
  task: string | undefined,
  at: number,
): void {
  const number = model.documents.length + 1;
  const sending = Math.max(1, iteration.sendings);
  const document: DocumentModel = { kind: "document", number, iteration, task, sending, at, event };
  model.documents.push(document);
  iteration.entries.push(document);
}

interface Ref {
  readonly id: string;
  readonly iteration: number;
}

/** A later document may use an id again. */
function keyOf({ id, iteration }: Ref, task: string | undefined): string {
  return `${iteration} ${id} ${task ?? ""}`;
}

function openAction(
  { openActions }: IterationModel,
  ref: Ref,
  task: string | undefined,
): ActionModel | undefined {
  return openActions.get(keyOf(ref, task));
}

function addAction(
  model: RunModel,
  iteration: IterationModel,
  ref: Ref & Partial<Omit<ActionWaiting, "type">>,
  task: string | undefined,
  at: number,
): ActionModel {
  const action: ActionModel = {
    kind: "action",
    number: model.actions.length + 1,
    iteration,
    task,
    sending: Math.max(1, iteration.sendings),
    id: ref.id,
    document: ref.iteration,
    name: ref.action ?? "",
    of: ref.kind ?? "tool",
    isBackground: ref.execution === "ASYNC",
    group: ref.group,
    isInThought: ref.inThought === true,
    requires: ref.requires ?? [],
    label: ref.display?.label,
    at,
    since: undefined,
    params: undefined,
    percent: undefined,
    message: undefined,
    end: undefined,
    endedAt: undefined,
    span: undefined,
  };
  model.actions.push(action);
  iteration.entries.push(action);
  iteration.openActions.set(keyOf(ref, task), action);
  return action;
}

function start(
  model: RunModel,
  iteration: IterationModel,
  event: ActionStarted,
  task: string | undefined,
  at: number,
): void {
  const action = openAction(iteration, event, task) ?? addAction(model, iteration, event, task, at);
  if (action.since !== undefined) return;
  action.since = at;
  action.params = event.params;
  // The members of a group are shown.
  if (action.of === "group") return;
  action.span = addSpan(freeActionLane(iteration.work), "action", at);
  action.span.source = action;
}

function progress(action: ActionModel | undefined, { percent, message }: ActionProgress): void {
  if (action === undefined) return;
  if (percent !== undefined)
    action.percent = Math.max(action.percent ?? 0, Math.min(MAX_PERCENT, percent));
  if (message !== undefined) action.message = message;
}

function end(
  model: RunModel,
  iteration: IterationModel,
  event: ActionEnded,
  task: string | undefined,
  at: number,
): void {
  const action = openAction(iteration, event, task) ?? addAction(model, iteration, event, task, at);
  iteration.openActions.delete(keyOf(event, task));
  action.end = event;
  action.endedAt = at;
  if (action.span !== undefined) endSpan(action.span, at, spanStatus(event.status));
}

/** Ends what has no end of its own. */
export function closeActions({ openActions }: IterationModel, at: number): void {
  for (const action of openActions.values()) {
    action.endedAt = at;
    if (action.span !== undefined) endSpan(action.span, at, "canceled");
  }
  openActions.clear();
}

function spanStatus(status: ActionEnded["status"]): SpanStatus {
  switch (status) {
    case "succeeded":
      return "succeeded";
    case "failed":
    case "timed_out":
      return "failed";
    case "cancelled":
    case "skipped":
      return "canceled";
  }
}

/** One whose actions have all ended, else a new one. Once there are many, they are shared. */
function freeActionLane(work: WorkModel): Lane {
  const { actionLanes } = work;
  const free = actionLanes.find(({ spans }) => spans.at(-1)?.end !== undefined);
  if (free !== undefined) return free;
  work.sharedActions += actionLanes.length === ACTION_LANES ? 1 : 0;
  const shared = actionLanes[work.sharedActions % ACTION_LANES];
  if (actionLanes.length === ACTION_LANES && shared !== undefined) return shared;
  const lane = newLane();
  actionLanes.push(lane);
  return lane;
}
