/**
 * The documents and actions of a task with the action protocol: a fold over them, of the iteration of the work that
 * began last.
 *
 * - Every event costs the same, however many came before it.
 * - Memory is bounded: of the actions under way and of those that have ended, the latest are kept, with bounded texts.
 *   `counts` counts all of them, except those that were under way and are no longer kept.
 * - Events are accepted in any order: an end without a beginning is an action too.
 */
import { clip } from "./cut.ts";
import type {
  ActionEnded,
  ActionEvent,
  ActionProgress,
  ActionStarted,
  ActionStatus,
  ActionWaiting,
  CardEnded,
  DocumentAccepted,
  DocumentRejected,
  DocumentWarning,
  EndedStatus,
} from "./action.ts";

export interface ActionsView {
  /** Of the latest turn that sent a prompt. */
  sent: Sent | undefined;
  accepted: number;
  /** The latest; `accepted` counts all. */
  readonly documents: DocumentView[];
  rejected: number;
  /** The latest; `rejected` counts all. */
  readonly rejections: RejectionView[];
  /** How many there were. */
  warnings: number;
  /** The texts of the latest ones. */
  readonly latestWarnings: string[];
  /** Runs of standing actions. */
  readonly cards: { succeeded: number; failed: number };
  /** Actions of all documents, members of groups as well. */
  readonly counts: Record<ActionStatus, number>;
  /** Those that wait or run, in the order of their documents. */
  readonly open: Map<string, OpenAction>;
  /** The latest, in the order of their ends. */
  readonly ended: ActionView[];
  /** How many there were, ended or not. */
  actionCount: number;
}

export interface DocumentView {
  readonly iteration: number;
  /** The task that was run on behalf of an action, if the document is not from the work's own task. */
  readonly task: string | undefined;
  readonly at: number;
  readonly actions: number;
  readonly stop: boolean;
}

export interface RejectionView {
  readonly iteration: number;
  readonly task: string | undefined;
  readonly at: number;
  /** The first ones. */
  readonly problems: DocumentRejected["problems"];
  readonly problemCount: number;
}

/** What is known of an action from its beginning. All texts are bounded. */
interface ActionHead {
  /** Of the actions of its work, from 1 on. */
  readonly number: number;
  readonly id: string;
  /** The task that was run on behalf of an action, if the action is not one of the work's own task. */
  readonly task: string | undefined;
  readonly iteration: number;
  /** Empty in a torn journal. */
  readonly action: string;
  readonly kind: ActionWaiting["kind"];
  readonly background: boolean;
  readonly group: string | undefined;
  readonly inThought: boolean;
  /** Of its display, if it has one. */
  readonly label: string | undefined;
  readonly waitingSince: number;
}

export interface OpenAction extends ActionHead {
  /** Undefined while it waits. */
  startedAt: number | undefined;
  /** 0 to 95. */
  percent: number | undefined;
  message: string | undefined;
}

export interface ActionView extends ActionHead {
  /** Undefined if it never started. */
  readonly startedAt: number | undefined;
  readonly endedAt: number;
  readonly status: EndedStatus;
  readonly reason: string | undefined;
  /** Of a skipped action: the id of the one that it needed. */
  readonly cause: string | undefined;
  /** The result of an identical earlier action: nothing was run. */
  readonly replayed: boolean;
}

/** Ended actions kept of a work. */
export const KEPT_ACTIONS = 300;
/** More are never under way at once, unless the journal is damaged. */
export const MAX_OPEN_ACTIONS = 4096;
const KEPT_DOCUMENTS = 100;
const KEPT_REJECTIONS = 10;
const KEPT_WARNINGS = 20;
const KEPT_PROBLEMS = 5;
const MAX_NAME = 200;
const MAX_TEXT = 500;
/** The rest is up to the end. */
const MAX_PERCENT = 95;

/** Which criteria retry a turn belongs to, and which attempt it is. */
export interface Sent {
  readonly retry: number;
  readonly attempt: number;
}

/** Whether a turn sends the prompt of the task (again), and is not one more turn of the same dialogue. */
export function isSending(last: Sent | undefined, { retry, attempt }: Sent): boolean {
  return last === undefined || retry !== last.retry || attempt > last.attempt;
}

export function createActionsView(): ActionsView {
  return {
    sent: undefined,
    accepted: 0,
    documents: [],
    rejected: 0,
    rejections: [],
    warnings: 0,
    latestWarnings: [],
    cards: { succeeded: 0, failed: 0 },
    counts: {
      waiting: 0,
      running: 0,
      succeeded: 0,
      failed: 0,
      timed_out: 0,
      cancelled: 0,
      skipped: 0,
    },
    open: new Map(),
    ended: [],
    actionCount: 0,
  };
}

/** `task`: the one that was run on behalf of an action, if the event is not about the work's own task. */
export function applyAction(
  view: ActionsView,
  event: ActionEvent,
  task: string | undefined,
  at: number,
): void {
  switch (event.type) {
    case "actions.accepted":
      return accept(view, event, task, at);
    case "actions.rejected":
      return reject(view, event, task, at);
    case "actions.warning":
      return warn(view, event);
    case "action.waiting":
      return void open(view, event, task, at);
    case "action.started":
      return start(view, event, task, at);
    case "action.progress":
      return progress(view, event, task);
    case "action.ended":
      return end(view, event, task, at);
    case "card.ended":
      return endCard(view, event);
  }
}

function accept(
  view: ActionsView,
  { iteration, actions, stop }: DocumentAccepted,
  task: string | undefined,
  at: number,
): void {
  view.accepted += 1;
  keep(view.documents, { iteration, task, at, actions, stop }, KEPT_DOCUMENTS);
}

function reject(
  view: ActionsView,
  { iteration, problems }: DocumentRejected,
  task: string | undefined,
  at: number,
): void {
  view.rejected += 1;
  const shown = problems.slice(0, KEPT_PROBLEMS).map(({ path, code, message }) => ({
    path: clip(path, MAX_NAME),
    code: clip(code, MAX_NAME),
    message: clip(message, MAX_TEXT),
  }));
  const rejection = { iteration, task, at, problems: shown, problemCount: problems.length };
  keep(view.rejections, rejection, KEPT_REJECTIONS);
}

function warn(view: ActionsView, { text }: DocumentWarning): void {
  view.warnings += 1;
  keep(view.latestWarnings, clip(text, MAX_TEXT), KEPT_WARNINGS);
}

function endCard({ cards }: ActionsView, { status }: CardEnded): void {
  if (status === "succeeded") cards.succeeded += 1;
  else cards.failed += 1;
}

/** A later document may use an id again. */
function keyOf(
  { id, iteration }: { readonly id: string; readonly iteration: number },
  task: string | undefined,
): string {
  return `${iteration} ${id} ${task ?? ""}`;
}

type Head = Pick<ActionWaiting, "id" | "iteration"> & Partial<Omit<ActionWaiting, "type">>;

function open(view: ActionsView, head: Head, task: string | undefined, at: number): OpenAction {
  const key = keyOf(head, task);
  const known = view.open.get(key);
  if (known !== undefined) return known;
  const action: OpenAction = {
    ...headOf(view, head, task, at),
    startedAt: undefined,
    percent: undefined,
    message: undefined,
  };
  view.open.set(key, action);
  view.counts.waiting += 1;
  const [oldest] = view.open.size > MAX_OPEN_ACTIONS ? view.open : [];
  if (oldest !== undefined) drop(view, ...oldest);
  return action;
}

function drop(view: ActionsView, key: string, { startedAt }: OpenAction): void {
  view.open.delete(key);
  view.counts[startedAt === undefined ? "waiting" : "running"] -= 1;
}

function headOf(
  view: ActionsView,
  { id, iteration, action = "", kind = "tool", execution, group, inThought, display }: Head,
  task: string | undefined,
  at: number,
): ActionHead {
  view.actionCount += 1;
  return {
    number: view.actionCount,
    id: clip(id, MAX_NAME),
    task,
    iteration,
    action: clip(action, MAX_NAME),
    kind,
    background: execution === "ASYNC",
    group: group === undefined ? undefined : clip(group, MAX_NAME),
    inThought: inThought === true,
    label: display === undefined ? undefined : clip(display.label, MAX_NAME),
    waitingSince: at,
  };
}

function start(
  view: ActionsView,
  event: ActionStarted,
  task: string | undefined,
  at: number,
): void {
  const action = open(view, event, task, at);
  if (action.startedAt !== undefined) return;
  action.startedAt = at;
  view.counts.waiting -= 1;
  view.counts.running += 1;
}

function progress(view: ActionsView, event: ActionProgress, task: string | undefined): void {
  const action = view.open.get(keyOf(event, task));
  if (action === undefined) return;
  const { percent, message } = event;
  if (percent !== undefined)
    action.percent = Math.max(action.percent ?? 0, Math.min(MAX_PERCENT, percent));
  if (message !== undefined) action.message = clip(message, MAX_NAME);
}

function end(view: ActionsView, event: ActionEnded, task: string | undefined, at: number): void {
  const { status, reason, cause, milliseconds, replayed } = event;
  const key = keyOf(event, task);
  const known = view.open.get(key);
  if (known !== undefined) drop(view, key, known);
  const {
    percent: _percent,
    message: _message,
    ...head
  } = known ?? {
    ...headOf(view, event, task, at),
    startedAt: milliseconds > 0 ? at - milliseconds : undefined,
    percent: undefined,
    message: undefined,
  };
  keepEnded(view, {
    ...head,
    endedAt: at,
    status,
    reason: reason === undefined ? undefined : clip(reason, MAX_TEXT),
    cause: cause === undefined ? undefined : clip(cause.id, MAX_NAME),
    replayed: replayed === true,
  });
}

function keepEnded(view: ActionsView, action: ActionView): void {
  view.counts[action.status] += 1;
  keep(view.ended, action, KEPT_ACTIONS);
}

/** Nothing runs after the end of the work. */
export function endActions(view: ActionsView, at: number): void {
  for (const [key, action] of view.open) {
    drop(view, key, action);
    const { percent: _percent, message: _message, ...head } = action;
    keepEnded(view, {
      ...head,
      endedAt: at,
      status: "cancelled",
      reason: undefined,
      cause: undefined,
      replayed: false,
    });
  }
}

/** The action of an event that has just been applied. */
export function actionOf(
  { open: under, ended }: ActionsView,
  event: { readonly id: string; readonly iteration: number },
  task: string | undefined,
): OpenAction | ActionView | undefined {
  const last = ended.at(-1);
  if (last?.id === event.id && last.iteration === event.iteration && last.task === task)
    return last;
  return under.get(keyOf(event, task));
}

/** Those that run, without groups, whose members are shown; in the order of their documents. */
export function* runningActions({ open: under }: ActionsView): Generator<OpenAction> {
  for (const action of under.values())
    if (action.startedAt !== undefined && action.kind !== "group") yield action;
}

/** Those that are known by name, in the order of their documents. */
export function keptActions({ open: under, ended }: ActionsView): (OpenAction | ActionView)[] {
  return [...ended, ...under.values()].sort((a, b) => a.number - b.number);
}

function keep<T>(list: T[], item: T, most: number): void {
  list.push(item);
  if (list.length > most) list.shift();
}
