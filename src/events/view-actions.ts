/** A fold over actions in any order. Every event costs the same, and of many actions and texts only the latest stay. */
import type {
  ActionEvent,
  ActionStatus,
  ActionWaiting,
  DocumentRejected,
  EndedStatus,
} from "./action.ts";
import { truncate } from "../text/truncate.ts";

export class ActionsView {
  sent: Sent | undefined;
  accepted = 0;
  rejected = 0;
  readonly rejections: RejectionView[] = [];
  warnings = 0;
  readonly counts: Record<ActionStatus, number> = {
    waiting: 0,
    running: 0,
    succeeded: 0,
    failed: 0,
    timed_out: 0,
    cancelled: 0,
    skipped: 0,
  };
  /** Actions that wait or run, in the order of their documents. */
  readonly open = new Map<string, OpenAction>();
  readonly ended: ActionView[] = [];
  actionCount = 0;
}

export interface RejectionView {
  readonly iteration: number;
  readonly problems: DocumentRejected["problems"];
  readonly problemCount: number;
}

/** All texts are bounded. `action` is empty in a torn journal. */
export interface OpenAction extends Pick<
  ActionWaiting,
  "id" | "iteration" | "action" | "kind" | "group"
> {
  /** Counts the actions of a work from 1 on. */
  readonly number: number;
  /** The task that was run on behalf of an action, if the action is not one of the work's own task. */
  readonly task: string | undefined;
  readonly background: boolean;
  readonly inThought: boolean;
  readonly label: string | undefined;
  /** Undefined while it waits, or if it never started. */
  startedAt: number | undefined;
  percent: number | undefined;
  message: string | undefined;
}

export interface ActionView extends OpenAction {
  readonly endedAt: number;
  readonly status: EndedStatus;
  readonly reason: string | undefined;
  /** The result of an identical earlier action: nothing was run. */
  readonly replayed: boolean;
}

export const KEPT_ACTIONS = 300;
/** More are never under way at once, unless the journal is damaged. */
export const MAX_OPEN_ACTIONS = 4096;
const KEPT_REJECTIONS = 10;
const KEPT_PROBLEMS = 5;
const MAX_NAME = 200;
const MAX_TEXT = 500;
const MAX_PERCENT = 95;

export interface Sent {
  readonly retry: number;
  readonly attempt: number;
}

/** Whether a turn sends the prompt of the task (again), and is not one more turn of the same dialogue. */
export function isSending(last: Sent | undefined, { retry, attempt }: Sent): boolean {
  return last === undefined || retry !== last.retry || attempt > last.attempt;
}

export function applyAction(
  view: ActionsView,
  event: ActionEvent,
  task: string | undefined,
  at: number,
): void {
  switch (event.type) {
    case "actions.accepted":
      view.accepted += 1;
      return;
    case "actions.rejected":
      view.rejected += 1;
      return keep(view.rejections, rejectionOf(event), KEPT_REJECTIONS);
    case "actions.warning":
      view.warnings += 1;
      return;
    case "action.waiting":
      return void open(view, event, task);
    case "action.started": {
      const action = open(view, event, task);
      if (action.startedAt !== undefined) return;
      action.startedAt = at;
      view.counts.waiting -= 1;
      view.counts.running += 1;
      return;
    }
    case "action.progress": {
      const action = view.open.get(keyOf(event, task));
      if (action === undefined) return;
      const { percent = 0, message } = event;
      if (event.percent !== undefined)
        action.percent = Math.max(action.percent ?? 0, Math.min(MAX_PERCENT, percent));
      if (message !== undefined) action.message = truncate(message, MAX_NAME, "…");
      return;
    }
    case "action.ended": {
      const { status, reason, milliseconds, replayed = false } = event;
      const key = keyOf(event, task);
      const isKnown = view.open.has(key);
      const action = open(view, event, task);
      const startedAt = isKnown || milliseconds === 0 ? action.startedAt : at - milliseconds;
      const text = reason === undefined ? undefined : truncate(reason, MAX_TEXT, "…");
      return end(view, key, action, { startedAt, endedAt: at, status, reason: text, replayed });
    }
    case "card.ended":
      return;
  }
}

function rejectionOf({ iteration, problems }: DocumentRejected): RejectionView {
  const shown = problems.slice(0, KEPT_PROBLEMS).map(({ path, code, message }) => ({
    path: truncate(path, MAX_NAME, "…"),
    code: truncate(code, MAX_NAME, "…"),
    message: truncate(message, MAX_TEXT, "…"),
  }));
  return { iteration, problems: shown, problemCount: problems.length };
}

/** A later document may use an id again. */
function keyOf({ id, iteration }: ActionId, task: string | undefined): string {
  return `${iteration} ${id} ${task ?? ""}`;
}

type ActionId = Pick<ActionWaiting, "id" | "iteration">;

function open(
  view: ActionsView,
  event: ActionId & Partial<Omit<ActionWaiting, "type">>,
  task: string | undefined,
): OpenAction {
  const key = keyOf(event, task);
  const known = view.open.get(key);
  if (known !== undefined) return known;
  const { id, iteration, action = "", kind = "tool", execution, group, inThought, display } = event;
  view.actionCount += 1;
  const opened: OpenAction = {
    number: view.actionCount,
    id: truncate(id, MAX_NAME, "…"),
    task,
    iteration,
    action: truncate(action, MAX_NAME, "…"),
    kind,
    background: execution === "ASYNC",
    group: group && truncate(group, MAX_NAME, "…"),
    inThought: inThought === true,
    label: display && truncate(display.label, MAX_NAME, "…"),
    startedAt: undefined,
    percent: undefined,
    message: undefined,
  };
  view.open.set(key, opened);
  view.counts.waiting += 1;
  const [oldest] = view.open.size > MAX_OPEN_ACTIONS ? view.open : [];
  if (oldest !== undefined) drop(view, ...oldest);
  return opened;
}

function drop(view: ActionsView, key: string, { startedAt }: OpenAction): void {
  view.open.delete(key);
  view.counts[startedAt === undefined ? "waiting" : "running"] -= 1;
}

function end(
  view: ActionsView,
  key: string,
  action: OpenAction,
  ending: Pick<ActionView, "startedAt" | "endedAt" | "status" | "reason" | "replayed">,
): void {
  drop(view, key, action);
  view.counts[ending.status] += 1;
  keep(view.ended, { ...action, ...ending }, KEPT_ACTIONS);
}

export function endActions(view: ActionsView, endedAt: number): void {
  const canceled = { endedAt, status: "cancelled", reason: undefined, replayed: false } as const;
  for (const [key, action] of view.open)
    end(view, key, action, { ...canceled, startedAt: action.startedAt });
}

export function actionOf(
  { open: under, ended }: ActionsView,
  event: ActionId,
  task: string | undefined,
): OpenAction | ActionView | undefined {
  const last = ended.at(-1);
  if (last?.id === event.id && last.iteration === event.iteration && last.task === task)
    return last;
  return under.get(keyOf(event, task));
}

/** Yields running actions in the order of their documents, but not groups, whose members are shown. */
export function* runningActions({ open: under }: ActionsView): Generator<OpenAction> {
  for (const action of under.values())
    if (action.startedAt !== undefined && action.kind !== "group") yield action;
}

function keep<T>(list: T[], item: T, most: number): void {
  list.push(item);
  if (list.length > most) list.shift();
}
