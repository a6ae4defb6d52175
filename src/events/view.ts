/**
 * The state of a run as a fold over its events. The terminal, the job summary and a journal that is read back
 * all show it. Owns the numbers: every display of tokens or attempts reads them here.
 *
 * - `applyEvent` accepts any events in any order (a torn journal, a work that was never announced) and never
 *   throws; it ignores what it can't place.
 * - Memory depends on the number of works of the job, never on how often they run: a work keeps its
 *   totals, its open sessions, its last decisions, and the path of a workflow (`view-flow.ts`).
 * - Times are the events' own `at`, in milliseconds.
 */
import {
  decisionCategory,
  decisionMessage,
  decisionTraits,
  withoutDetail,
  type Decision,
  type SessionRole,
} from "./decision.ts";
import { decisionOf } from "./decision-of.ts";
import {
  outcomeText,
  type RunEvent,
  type RunStarted,
  type WorkOutcome,
  type WorkRef,
} from "./event.ts";
import { plannedWorks, type RunPlan } from "./plan.ts";
import type { PermissionDenied, SessionActivity } from "./session-activity.ts";
import {
  addUsage,
  createRunView,
  KEPT_DECISIONS,
  KEPT_DENIALS,
  noCounters,
  type Counters,
  type DecisionEntry,
  type OpenSession,
  type RunView,
  type WorkView,
} from "./view-model.ts";
import {
  bothEnds,
  createFlowView,
  endStep,
  endSteps,
  printStep,
  startStep,
  type FlowView,
} from "./view-flow.ts";

export { createRunView, KEPT_DECISIONS, KEPT_DENIALS, wasRetried } from "./view-model.ts";
export type {
  Counters,
  DecisionEntry,
  DenialEntry,
  OpenSession,
  RunStatus,
  RunView,
  Usage,
  WorkStatus,
  WorkView,
} from "./view-model.ts";
export {
  bothEnds,
  currentStep,
  flowNode,
  hasFailed,
  KEPT_STEPS,
  KEPT_VISITS,
  type ActivityView,
  type FlowView,
  type StepStatus,
  type StepView,
} from "./view-flow.ts";

const MAX_DECISION_TEXT = 2000;
const MAX_MESSAGE = 64 * 1024;
const MAX_DENIAL_TEXT = 500;

/** How long all iterations of the work have taken at the time `now`. */
export function elapsedMs(work: WorkView, now: number): number {
  return work.finishedMs + (work.startedAt === undefined ? 0 : Math.max(0, now - work.startedAt));
}

/** The runs that the events belong to, by `runId`, in the order of their first events. */
export function viewsOf(events: Iterable<RunEvent>): ReadonlyMap<string, RunView> {
  const views = new Map<string, RunView>();
  for (const event of events) {
    const view = views.get(event.runId) ?? createRunView();
    views.set(event.runId, view);
    applyEvent(view, event);
  }
  return views;
}

/** Changes `view` in place. */
export function applyEvent(view: RunView, event: RunEvent): void {
  applyItself(view, event);
  const decided = decisionOf(event);
  if (decided !== undefined) applyDecision(view, decided.work, decided.decision, event.at);
}

function applyItself(view: RunView, event: RunEvent): void {
  switch (event.type) {
    case "run.started":
      view.jobName = event.jobName;
      view.entryFile = event.entryFile;
      view.workingDirectory = event.workingDirectory;
      view.status = "running";
      view.startedAt = event.at;
      view.runId = event.runId;
      view.plan = planIn(event);
      for (const planned of plannedWorks(event.work)) {
        const work = workOf(view, { ...planned, iteration: 0 });
        work.modelId = planned.modelId;
        work.condition = planned.condition;
        if (planned.chart !== undefined) flowOf(work).chart = planned.chart;
      }
      return;
    case "run.ended":
      view.status = event.outcome.kind;
      view.reason = event.outcome.kind === "succeeded" ? undefined : event.outcome.reason;
      view.advice = event.outcome.kind === "failed" ? event.outcome.advice : undefined;
      view.jobOutcome = event.jobOutcome;
      view.endedAt = event.at;
      for (const work of view.works.values()) settle(work, event.at);
      return;
    case "work.started": {
      const work = workOf(view, event.work);
      if (work.startedAt !== undefined) stopClock(work, event.at);
      work.modelId = event.modelId;
      work.status = "running";
      work.reason = undefined;
      work.advice = undefined;
      work.startedAt = event.at;
      if (work.flow !== undefined) work.flow = createFlowView(work.flow.chart);
      count(view, work, "runs", 1);
      return;
    }
    case "work.ended": {
      const work = workOf(view, event.work);
      const { outcome } = event;
      work.status = outcome.kind;
      if (isAnswer(work, outcome)) {
        work.status = "answered-no";
        const index = work.decisions.findLastIndex(({ kind }) => kind === "task-failed");
        const last = work.decisions[index];
        if (last?.iteration === event.work.iteration)
          work.decisions[index] = { ...last, answer: true };
      }
      work.reason = outcomeReason(outcome);
      work.endedAt = event.at;
      if (event.report !== undefined) work.report = bothEnds(event.report, MAX_MESSAGE);
      stopClock(work, event.at);
      return;
    }
    case "decision":
      return;
    case "session.started":
      sessionOf(workOf(view, event.work), event.sessionId, event.modelId, event.role);
      return;
    case "session.ended":
      workOf(view, event.work).sessions.delete(event.sessionId);
      return;
    case "turn.started": {
      const work = workOf(view, event.work);
      const session = sessionOf(work, event.sessionId, event.modelId, "both");
      session.purpose = event.purpose;
      session.tools.clear();
      session.streamed = 0;
      if (event.purpose === "prompt") count(view, work, "attempts", 1);
      return;
    }
    case "turn.ended": {
      const session = workOf(view, event.work).sessions.get(event.sessionId);
      if (session !== undefined) session.purpose = undefined;
      session?.tools.clear();
      return;
    }
    case "activity":
      applyActivity(view, workOf(view, event.work), event.sessionId, event.activity, event.at);
      return;
    case "step.started":
      return startStep(flowOf(workOf(view, event.work)), event, event.at);
    case "step.output":
      return printStep(flowOf(workOf(view, event.work)), event);
    case "step.ended":
      return endStep(flowOf(workOf(view, event.work)), event, event.at);
    case "action":
      return;
  }
}

function flowOf(work: WorkView): FlowView {
  work.flow ??= createFlowView();
  return work.flow;
}

function planIn(started: RunStarted): RunPlan {
  const { version, entryFingerprint, models, limits, permissions, userInput, work } = started;
  return { version, entryFingerprint, models, limits, permissions, userInput, work };
}

/** A work that fails as a condition has answered, unless a limit or a crash prevented the answer. */
function isAnswer(work: WorkView, outcome: WorkOutcome): boolean {
  return work.condition && outcome.kind === "failed" && outcome.unanswered !== true;
}

function applyDecision(view: RunView, ref: WorkRef | null, decision: Decision, at: number): void {
  const work = ref === null ? undefined : workOf(view, ref);
  const answer = work?.condition === true && decisionTraits(decision.kind).answer === true;
  const place = placeOf(work, decision);
  const entry: DecisionEntry = {
    at,
    iteration: ref?.iteration ?? 0,
    kind: decision.kind,
    category: decisionCategory(decision),
    answer,
    text: clip(decisionMessage(withoutDetail(decision)), MAX_DECISION_TEXT),
    ...(place === undefined ? {} : { place }),
  };
  if (!answer) view.decided.set(decision.kind, (view.decided.get(decision.kind) ?? 0) + 1);
  const owner = work ?? view;
  owner.decisions.push(entry);
  if (owner.decisions.length > KEPT_DECISIONS) {
    owner.decisions.shift();
    owner.droppedDecisions += 1;
  }
  if (work === undefined) return;
  if (decision.kind === "attempts-exhausted") work.advice = decision.advice;
  if (decision.kind === "criteria-retry") count(view, work, "retries", 1);
  if (decision.kind === "session-crashed") count(view, work, "crashes", 1);
}

function placeOf(work: WorkView | undefined, decision: Decision): DecisionEntry["place"] {
  if (decision.kind !== "name-missing" && decision.kind !== "script-skipped") return undefined;
  const { activity } = decision;
  const { open = [], last, chart } = work?.flow ?? {};
  const file = (open.findLast((step) => step.activity === activity) ?? last)?.file ?? chart?.main;
  return file === undefined ? undefined : { file, activity };
}

function applyActivity(
  view: RunView,
  work: WorkView,
  sessionId: string,
  activity: SessionActivity,
  at: number,
): void {
  const session = work.sessions.get(sessionId);
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
      work.lastMessage = clip(activity.text, MAX_MESSAGE);
      view.lastSpeaker = work.workId;
      return;
    case "tool.started":
      session?.tools.set(activity.toolCallId, { name: activity.toolName, startedAt: at });
      if (activity.toolName === "job_prepare_document") {
        view.reportedDocument = reportedDocument(activity.arguments) ?? view.reportedDocument;
      }
      return;
    case "tool.ended":
      session?.tools.delete(activity.toolCallId);
      return;
    case "model.used":
      addUsage(work, activity);
      addUsage(view.totals, activity);
      return;
    case "permission.denied":
      count(view, work, "denials", 1);
      keepDenial(view, work, activity);
      return;
    default:
      return;
  }
}

function keepDenial(view: RunView, { workId, taskId }: WorkView, denied: PermissionDenied): void {
  const operation = clip(denied.operation, MAX_DENIAL_TEXT);
  const target = clip(denied.target, MAX_DENIAL_TEXT);
  const reason = clip(denied.reason, MAX_DENIAL_TEXT);
  const known = view.denials.find(
    (entry) =>
      entry.workId === workId &&
      entry.operation === operation &&
      entry.target === target &&
      entry.reason === reason,
  );
  if (known !== undefined) known.count += 1;
  else if (view.denials.length < KEPT_DENIALS) {
    view.denials.push({ workId, taskId, operation, target, reason, count: 1 });
  }
}

/** The value of `$reported-document` (docs/entry-format.md): the first line of what the tool was given. */
function reportedDocument(given: unknown): string | undefined {
  if (typeof given !== "object" || given === null || !("argument" in given)) return undefined;
  return typeof given.argument === "string"
    ? given.argument.split(/\r\n|\r|\n/, 1)[0]?.trim()
    : undefined;
}

function workOf(view: RunView, ref: WorkRef): WorkView {
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
    decisions: [],
    droppedDecisions: 0,
    ...noCounters(),
  };
  view.works.set(workId, work);
  return work;
}

function sessionOf(
  work: WorkView,
  sessionId: string,
  modelId: string,
  role: SessionRole,
): OpenSession {
  const known = work.sessions.get(sessionId);
  if (known !== undefined) return known;
  const session: OpenSession = {
    sessionId,
    modelId,
    role,
    purpose: undefined,
    streamed: 0,
    tools: new Map(),
  };
  work.sessions.set(sessionId, session);
  return session;
}

function stopClock(work: WorkView, at: number): void {
  work.finishedMs = elapsedMs(work, at);
  work.startedAt = undefined;
  // Sessions of a killed runtime may never have been reported as ended.
  work.sessions.clear();
  if (work.flow !== undefined) endSteps(work.flow, at);
}

/** Nothing runs after the end of the run. */
function settle(work: WorkView, at: number): void {
  stopClock(work, at);
  if (work.status === "pending") work.status = "skipped";
  if (work.status === "running") work.status = "canceled";
}

export function outcomeReason(outcome: WorkOutcome): string | undefined {
  switch (outcome.kind) {
    case "succeeded":
      return undefined;
    case "failed":
    case "canceled":
      return outcome.reason;
    case "crashed":
      return outcome.crash.message;
  }
}

function count(view: RunView, work: WorkView, counter: keyof Counters, by: number): void {
  work[counter] += by;
  view.totals[counter] += by;
}

function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

/** Why the run failed or was canceled, and what to do about it. */
export function endText({ status, reason = "", advice }: RunView): string {
  return advice === undefined || status !== "failed"
    ? reason
    : outcomeText({ kind: "failed", reason, advice });
}
