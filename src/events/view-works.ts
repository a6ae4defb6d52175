/** The works of a view: what an event is about is found here, or made if nothing has announced it. */
import type { SessionRole } from "./decision.ts";
import type { WorkRef } from "./plan.ts";
import { createActionsView, endActions, type ActionsView } from "./view-actions.ts";
import { createFlowView, endSteps, type FlowView } from "./view-flow.ts";
import {
  noCounters,
  type Counters,
  type OpenSession,
  type RunView,
  type WorkView,
} from "./view-model.ts";

/** How long all iterations of the work have taken at the time `now`. */
export function elapsedMs(work: WorkView, now: number): number {
  return work.finishedMs + (work.startedAt === undefined ? 0 : Math.max(0, now - work.startedAt));
}

export function workOf(view: RunView, ref: WorkRef): WorkView {
  const known = view.works.get(ref.workId);
  if (known !== undefined) return known;
  const { workId, taskId } = ref;
  const work: WorkView = {
    workId,
    taskId,
    condition: false,
    modelId: "",
    status: "pending",
    reason: undefined,
    advice: undefined,
    endedAt: undefined,
    startedAt: undefined,
    finishedMs: 0,
    sessions: new Map(),
    lastMessage: undefined,
    report: undefined,
    flow: undefined,
    actions: undefined,
    decisions: [],
    droppedDecisions: 0,
    ...noCounters(),
  };
  view.works.set(workId, work);
  return work;
}

interface SessionHead {
  readonly work: WorkRef;
  readonly sessionId: string;
  readonly modelId: string;
  readonly role: SessionRole;
}

export function sessionOf(
  work: WorkView,
  { work: ref, sessionId, modelId, role }: SessionHead,
): OpenSession {
  const known = work.sessions.get(sessionId);
  if (known !== undefined) return known;
  const session: OpenSession = {
    sessionId,
    modelId,
    role,
    delegate: delegateIn(work, ref),
    purpose: undefined,
    streamed: 0,
    tools: new Map(),
  };
  work.sessions.set(sessionId, session);
  return session;
}

export function stopClock(work: WorkView, at: number): void {
  work.finishedMs = elapsedMs(work, at);
  work.startedAt = undefined;
  // Sessions of a killed runtime may never have been reported as ended.
  work.sessions.clear();
  if (work.flow !== undefined) endSteps(work.flow, at);
  if (work.actions !== undefined) endActions(work.actions, at);
}

/** Nothing runs after the end of the run. */
export function settle(work: WorkView, at: number): void {
  stopClock(work, at);
  if (work.status === "pending") work.status = "skipped";
  if (work.status === "running") work.status = "canceled";
}

export function count(view: RunView, work: WorkView, counter: keyof Counters, by: number): void {
  work[counter] += by;
  view.totals[counter] += by;
}

export function flowOf(work: WorkView): FlowView {
  work.flow ??= createFlowView();
  return work.flow;
}

export function actionsOf(work: WorkView): ActionsView {
  work.actions ??= createActionsView();
  return work.actions;
}

/** The task of an event, if it is not the work's own: it was run on behalf of an action. */
export function delegateIn(work: WorkView, { taskId }: WorkRef): string | undefined {
  return taskId === work.taskId ? undefined : taskId;
}

/** Whether the answers of the task are documents of the action protocol. */
export function hasProtocol({ plan, works }: RunView, { workId, taskId }: WorkRef): boolean {
  if (plan?.actionTasks !== undefined) return plan.actionTasks.includes(taskId);
  return works.get(workId)?.actions !== undefined;
}
