import { plural } from "../text/numbers.ts";
import { isRecord } from "../text/guards.ts";
import { truncate, truncateStart, firstLine } from "../text/truncate.ts";
import type { SessionActed, SessionStarted } from "./event.ts";
import { comparePlaces, itemsIn, placeIn, type WorkRef } from "./plan.ts";
import type { PermissionDenied, ToolEnded } from "./session-activity.ts";
import { ActionsView, endActions } from "./view-actions.ts";
import { createFlowView, endSteps, type FlowView } from "./view-flow.ts";
import {
  addUsage,
  KEPT_COMMANDS,
  KEPT_DENIALS,
  KEPT_ITEMS,
  type Counter,
  type DenialEntry,
  type ItemView,
  type IterationNumbers,
  type OpenSession,
  type RunView,
  type WorkStatus,
  WorkView,
} from "./view-model.ts";

export const MAX_MESSAGE = 64 * 1024;
/** Bounds the texts of a denial or of a failed command. */
const MAX_SHOWN = 500;
const MAX_ITEM = 200;

export function elapsedMs(work: WorkView, now: number): number {
  return work.finishedMs + (work.startedAt === undefined ? 0 : Math.max(0, now - work.startedAt));
}

export function workOf(view: RunView, ref: WorkRef): WorkView {
  const known = view.works.get(ref.workId);
  if (known !== undefined) return known;
  const work = new WorkView(ref);
  view.works.set(work.workId, work);
  return work;
}

/** The clock of a work runs while any of its iterations runs. */
export function startIteration(work: WorkView, ref: WorkRef, at: number, leg?: string): void {
  const { item } = ref;
  if (item === undefined || work.startedAt === undefined) {
    if (work.startedAt !== undefined) stopClock(work, at);
    const { finishedMs, attempts, modelCalls, inputTokens, outputTokens } = work;
    work.before = { finishedMs, attempts, modelCalls, inputTokens, outputTokens };
    work.startedAt = at;
    work.running = 0;
  }
  work.running += 1;
  if (item === undefined) return;
  const key = itemKey(ref);
  const known = work.items.get(key);
  if (known === undefined) work.itemCount += 1;
  if (known === undefined && work.items.size >= KEPT_ITEMS) return;
  const name = truncate(itemsIn(ref).join(" › "), MAX_ITEM, "…");
  const fresh = { name, place: placeIn(ref), leg, startedAt: at };
  work.items.set(key, { ...fresh, status: "running", reason: undefined, elapsedMs: undefined });
}

/** Returns the counts of the last iteration alone. */
export function iterationOf({ before, ...work }: WorkView): IterationNumbers {
  return {
    finishedMs: work.finishedMs - before.finishedMs,
    attempts: work.attempts - before.attempts,
    modelCalls: work.modelCalls - before.modelCalls,
    inputTokens: work.inputTokens - before.inputTokens,
    outputTokens: work.outputTokens - before.outputTokens,
  };
}

/** The item of an iteration that has ended gets its status, and the work that of the worst item. */
export function endIteration(work: WorkView, ref: WorkRef, at: number): void {
  work.endedAt = at;
  work.running -= 1;
  const item = ref.item === undefined ? undefined : work.items.get(itemKey(ref));
  if (item !== undefined) {
    item.status = work.status;
    item.reason = work.reason;
    item.elapsedMs = at - item.startedAt;
    const items = [...work.items.values()];
    if (work.status === "skipped" && items.some(({ status }) => status === "succeeded")) {
      work.status = "succeeded";
      work.reason = undefined;
    }
    const worst = items.find(isFailure);
    if (!isFailure(work) && worst !== undefined) {
      work.status = worst.status;
      work.reason = worst.reason;
    }
    if (work.running > 0 && !isFailure(work)) work.status = "running";
  }
  if (work.running <= 0) stopClock(work, at);
}

/** Failed items come first; otherwise they are in their order. */
export function itemsOf({ items }: WorkView): readonly ItemView[] {
  return [...items.values()].toSorted(
    (a, b) => Number(isFailure(b)) - Number(isFailure(a)) || comparePlaces(a.place, b.place),
  );
}

export function itemOf(work: WorkView, ref: WorkRef): ItemView | undefined {
  return ref.item === undefined ? undefined : work.items.get(itemKey(ref));
}

/** `50 items: 2 failed, 47 succeeded, 1 running`. Empty if the work is in no `Each`. */
export function itemsText({ items, itemCount }: WorkView): string {
  if (itemCount === 0) return "";
  const counts = new Map<string, number>();
  for (const { status } of items.values()) {
    const text = statusText(status);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const parts = [...counts]
    .toSorted(([a], [b]) => Number(b === "failed") - Number(a === "failed"))
    .map(([status, count]) => `${count} ${status}`);
  return `${plural(itemCount, "item")}: ${parts.join(", ")}`;
}

export function isFailure({ status }: { readonly status: WorkStatus }): boolean {
  return status === "failed" || status === "crashed";
}

export function statusText(status: WorkStatus): string {
  return status === "answered-no" ? "answered no" : status;
}

export function worksOf({ works }: RunView): readonly WorkView[] {
  return [...works.values()].sort((a, b) => a.workId - b.workId);
}

/** At most `most` works, in their order: the failures, and then the first others. */
export function failuresFirst(works: readonly WorkView[], most: number): readonly WorkView[] {
  const ranked = works.toSorted((a, b) => Number(isFailure(b)) - Number(isFailure(a)));
  const kept = new Set(ranked.slice(0, most));
  return works.filter((work) => kept.has(work));
}

function itemKey(ref: WorkRef): string {
  return JSON.stringify(itemsIn(ref));
}

export function sessionOf(
  work: WorkView,
  head: Pick<SessionStarted, "work" | "sessionId" | "modelId" | "role">,
): OpenSession {
  const { work: ref, sessionId, modelId, role } = head;
  const known = work.sessions.get(sessionId);
  if (known !== undefined) return known;
  const session: OpenSession = {
    sessionId,
    modelId,
    role,
    delegate: delegateIn(work, ref),
    purpose: undefined,
    streamed: 0,
    heard: false,
    tools: new Map(),
  };
  work.sessions.set(sessionId, session);
  return session;
}

function stopClock(work: WorkView, at: number): void {
  work.finishedMs = elapsedMs(work, at);
  work.startedAt = undefined;
  work.running = 0;
  // Sessions of a killed runtime may never have been reported as ended.
  work.sessions.clear();
  if (work.flow !== undefined) endSteps(work.flow, at);
  if (work.actions !== undefined) endActions(work.actions, at);
}

export function settle(work: WorkView, at: number): void {
  stopClock(work, at);
  if (work.status === "pending") work.status = "skipped";
  if (work.status === "running") work.status = "canceled";
  for (const item of work.items.values()) {
    if (item.status === "running") item.status = "canceled";
  }
}

export function count(view: RunView, work: WorkView, counter: Counter, by: number): void {
  work[counter] += by;
  view.totals[counter] += by;
}

export function flowOf(work: WorkView): FlowView {
  return (work.flow ??= createFlowView());
}

export function actionsOf(work: WorkView): ActionsView {
  return (work.actions ??= new ActionsView());
}

/** The task of an event, if it is not the work's own: it was run on behalf of an action. */
export function delegateIn(work: WorkView, { taskId }: WorkRef): string | undefined {
  return taskId === work.taskId ? undefined : taskId;
}

export function hasProtocol({ plan, works }: RunView, { workId, taskId }: WorkRef): boolean {
  if (plan?.actionTasks !== undefined) return plan.actionTasks.includes(taskId);
  return works.get(workId)?.actions !== undefined;
}

export function applyActivity(
  view: RunView,
  work: WorkView,
  { work: ref, sessionId, activity }: SessionActed,
  at: number,
): void {
  const session = work.sessions.get(sessionId);
  if (session !== undefined) session.heard = activity.kind !== "agent.started";
  switch (activity.kind) {
    case "message.delta":
    case "reasoning.delta":
      if (session !== undefined) session.streamed += activity.text.length;
      return;
    case "reasoning.ended":
      if (session !== undefined) session.streamed = 0;
      return;
    case "message.ended":
      if (session !== undefined) session.streamed = 0;
      if (activity.text.trim() === "" || (session?.purpose ?? "prompt") !== "prompt") return;
      // A document has its own event, with the response for people.
      if (delegateIn(work, ref) !== undefined || hasProtocol(view, ref)) return;
      keepMessage(view, work, activity.text);
      return;
    case "tool.started":
      session?.tools.set(activity.toolCallId, { name: activity.toolName, startedAt: at });
      return reportDocument(view, activity.toolName, activity.arguments);
    case "tool.ended":
      keepCommand(view, ref, activity);
      session?.tools.delete(activity.toolCallId);
      return;
    case "model.used":
      addUsage(work, activity);
      addUsage(view.totals, activity);
      return;
    case "permission.denied":
      count(view, work, "denials", 1);
      keepOnce(view.denials, denialOf(ref, activity), KEPT_DENIALS);
      return;
    default:
      return;
  }
}

export function reportDocument(view: RunView, tool: string | undefined, given: unknown): void {
  const argument = textIn(given, "argument");
  if (tool === "job_prepare_document" && argument !== undefined)
    view.reportedDocument = firstLine(argument);
}

export function keepMessage(view: RunView, work: WorkView, text: string): void {
  work.lastMessage = truncate(text, MAX_MESSAGE, "…");
  view.lastSpeaker = work.workId;
}

function denialOf(
  { workId, taskId }: WorkRef,
  { operation, target, reason }: PermissionDenied,
): DenialEntry {
  return {
    workId,
    taskId,
    operation: truncate(operation, MAX_SHOWN, "…"),
    target: truncate(target, MAX_SHOWN, "…"),
    reason: truncate(reason, MAX_SHOWN, "…"),
    count: 1,
  };
}

function keepCommand(
  view: RunView,
  { workId, taskId }: WorkRef,
  { arguments: given, exitCode, result, toolName = "", stopped }: ToolEnded,
): void {
  if (exitCode === undefined || stopped === true) return;
  view.failedCommandCount += 1;
  const command = truncate(textIn(given, "command") ?? toolName, MAX_SHOWN, "…");
  // The last line is the runtime's own: `<shellId: 0 completed with exit code 1>`.
  const text = (result?.content ?? "").trim().replace(/(^|\n)<shellId: .*>$/, "");
  const entry = {
    workId,
    taskId,
    command,
    exitCode,
    output: truncateStart(text, MAX_SHOWN),
    count: 1,
  };
  keepOnce(view.failedCommands, entry, KEPT_COMMANDS);
}

/** Keeps the first of many different entries. The output of a command may differ. */
export function keepOnce<T extends { readonly workId: number; count?: number }>(
  entries: T[],
  entry: T,
  most: number,
): void {
  const keyOf = (one: T): string => JSON.stringify({ ...one, count: 0, output: "" });
  const key = keyOf(entry);
  const known = entries.find((one) => one.workId === entry.workId && keyOf(one) === key);
  if (known === undefined) {
    if (entries.length < most) entries.push(entry);
  } else if (known.count !== undefined) known.count += 1;
}

function textIn(value: unknown, key: string): string | undefined {
  const found: unknown = isRecord(value) ? value[key] : undefined;
  return typeof found === "string" ? found : undefined;
}
