/**
 * The state of a run as a fold over its events. Owns the numbers: every display of tokens or attempts reads them here.
 * `applyEvent` accepts any events in any order (a torn journal) and never throws. Memory depends on the number of works,
 * never on how often they run.
 */
import { defined, parsedJson } from "../text/guards.ts";
import {
  decisionCategory,
  decisionMessage,
  decisionTraits,
  withoutDetail,
  type Decision,
} from "./decision.ts";
import { truncateMiddle, truncate } from "../text/truncate.ts";
import {
  decisionOf,
  outcomeText,
  type Acted,
  type RunEvent,
  type RunStamp,
  type RunStarted,
  type WorkOutcome,
  type WorkRef,
} from "./event.ts";
import { plannedWorks, type RunPlan } from "./plan.ts";
import { actionOf, ActionsView, applyAction, isSending } from "./view-actions.ts";
import { createFlowView, endStep, printStep, startStep } from "./view-flow.ts";
import { applyHandedIn, give, isOfRun, keyOfGiven } from "./view-given.ts";
import {
  createRunView,
  KEPT_DECISIONS,
  KEPT_OMISSIONS,
  type DecisionEntry,
  type RunView,
  type WorkView,
} from "./view-model.ts";
import {
  actionsOf,
  applyActivity,
  count,
  delegateIn,
  flowOf,
  endIteration,
  keepMessage,
  keepOnce,
  MAX_MESSAGE,
  reportDocument,
  sessionOf,
  settle,
  startIteration,
  workOf,
} from "./view-works.ts";

export { givenInOrder, keyOfGiven } from "./view-given.ts";
export * from "./view-model.ts";
export type * from "./view-actions.ts";
export { actionOf, isSending, KEPT_ACTIONS, runningActions } from "./view-actions.ts";
export type * from "./view-flow.ts";
export { currentStep, flowNode, hasFailed, KEPT_STEPS, KEPT_VISITS } from "./view-flow.ts";
export {
  delegateIn,
  elapsedMs,
  hasProtocol,
  itemOf,
  iterationOf,
  itemsOf,
  itemsText,
  failuresFirst,
  statusText,
  isFailure,
  worksOf,
} from "./view-works.ts";

const MAX_DECISION_TEXT = 2000;
const MAX_DELEGATE = 200;

/** By `runId`, in the order of their first events. `views` of earlier events are changed in place. */
export function viewsOf(
  events: Iterable<RunEvent>,
  views = new Map<string, RunView>(),
): ReadonlyMap<string, RunView> {
  for (const event of events) {
    const view = views.get(event.runId) ?? createRunView();
    views.set(event.runId, view);
    applyEvent(view, event);
  }
  return views;
}

/** Changes `view` in place. */
export function applyEvent(view: RunView, event: RunEvent): void {
  view.runId = event.runId;
  if (view.events === 0) view.firstAt = event.at;
  view.events += 1;
  view.lastAt = Math.max(view.lastAt, event.at);
  applyWithoutDecision(view, event);
  const decided = decisionOf(event);
  if (decided !== undefined) applyDecision(view, decided.work, decided.decision, event.at);
}

function applyWithoutDecision(view: RunView, event: RunEvent): void {
  switch (event.type) {
    case "run.started":
      view.jobName = event.jobName;
      view.entryFile = event.entryFile;
      view.workingDirectory = event.workingDirectory;
      view.status = "running";
      view.startedAt = event.at;
      view.plan = planIn(event);
      for (const planned of plannedWorks(event.work)) {
        const work = workOf(view, { ...planned, iteration: 0 });
        work.modelId = planned.modelId ?? "";
        work.condition = planned.condition;
        if (planned.chart !== undefined) flowOf(work).chart = planned.chart;
        if (event.actionTasks?.includes(planned.taskId) === true) actionsOf(work);
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
      if (delegateIn(work, event.work) !== undefined) return;
      startIteration(work, event.work, event.at, event.leg);
      // A run that was left out names none.
      work.modelId = event.modelId ?? work.modelId;
      work.status = "running";
      work.reason = undefined;
      work.advice = undefined;
      if (work.flow !== undefined) work.flow = createFlowView(work.flow.chart);
      if (work.actions !== undefined) work.actions = new ActionsView();
      count(view, work, "runs", 1);
      return;
    }
    case "work.ended": {
      const work = workOf(view, event.work);
      if (delegateIn(work, event.work) !== undefined) return;
      const { outcome } = event;
      work.status = outcome.kind;
      if (isAnswer(work, outcome)) {
        work.status = "answered-no";
        const index = work.decisions.findLastIndex(
          ({ kind, delegate }) => kind === "task-failed" && delegate === undefined,
        );
        const last = work.decisions[index];
        if (last?.iteration === event.work.iteration)
          work.decisions[index] = { ...last, answer: true };
      }
      work.reason = outcomeReason(outcome);
      if (event.report !== undefined) setReport(work, event.work, event.report);
      // One that was canceled has not finished: what the run before it has left stays.
      else if (outcome.kind !== "canceled") forgetOlder(view, work, event.work);
      endIteration(work, event.work, event.at);
      return;
    }
    case "decision":
    case "items.listed":
      return;
    case "session.started":
      sessionOf(workOf(view, event.work), event);
      return;
    case "session.ended":
      workOf(view, event.work).sessions.delete(event.sessionId);
      return;
    case "turn.started": {
      const work = workOf(view, event.work);
      const session = sessionOf(work, { ...event, role: "both" });
      session.purpose = event.purpose;
      session.tools.clear();
      session.streamed = 0;
      session.heard = false;
      if (event.purpose !== "prompt" || delegateIn(work, event.work) !== undefined) return;
      if (isSending(work.actions?.sent, event)) count(view, work, "attempts", 1);
      if (work.actions !== undefined)
        work.actions.sent = { retry: event.retry, attempt: event.attempt };
      return;
    }
    case "turn.ended": {
      const session = workOf(view, event.work).sessions.get(event.sessionId);
      if (session !== undefined) session.purpose = undefined;
      session?.tools.clear();
      return;
    }
    case "activity":
      applyActivity(view, workOf(view, event.work), event, event.at);
      return;
    case "step.started":
      return void startStep(flowOf(workOf(view, event.work)), event, event.at);
    case "step.output":
      return printStep(flowOf(workOf(view, event.work)), event);
    case "step.ended":
      return endStep(flowOf(workOf(view, event.work)), event, event.at);
    case "report.given": {
      const { title, markdown } = event;
      give(view, event.work, {
        report: { title, markdown: truncateMiddle(markdown, MAX_MESSAGE) },
      });
      const work = workOf(view, event.work);
      if (delegateIn(work, event.work) === undefined) setReport(work, event.work, markdown);
      return;
    }
    case "result.given":
    case "verdict.given":
    case "finding.reported":
    case "finding.resolved":
    case "reply.given":
    case "output.refused":
    case "proposal.made":
      return applyHandedIn(view, event);
    case "note.added":
      return void view.notes.push(event.note);
    case "action":
      return applyActed(view, event);
  }
}

function setReport(work: WorkView, { iteration }: WorkRef, report: string): void {
  work.report = truncateMiddle(report, MAX_MESSAGE);
  work.reportedIn = iteration;
}

/** Only the outputs of the last finished run count, also if there are none. */
function forgetOlder(view: RunView, work: WorkView, ref: WorkRef): void {
  if (ref.item === undefined && work.reportedIn !== ref.iteration) work.report = undefined;
  const key = keyOfGiven(ref);
  if (!isOfRun(view.given.get(key), ref)) view.given.delete(key);
}

function applyActed(view: RunView, { work: ref, action, at }: Acted & RunStamp): void {
  const work = workOf(view, ref);
  const delegate = delegateIn(work, ref);
  applyAction(actionsOf(work), action, delegate, at);
  if (action.type === "action.started") {
    const started = actionOf(actionsOf(work), action, delegate);
    reportDocument(view, started?.action, parsedJson(action.params ?? ""));
  }
  if (action.type !== "actions.accepted" || delegate !== undefined) return;
  const { response = "" } = action;
  if (response.trim() === "") return;
  keepMessage(view, work, response);
  setReport(work, ref, response);
}

function planIn(started: RunStarted & RunStamp): RunPlan {
  const { type: _type, at: _at, runId: _run, jobName: _job, entryFile: _file, ...more } = started;
  const { workingDirectory: _folder, ...plan } = more;
  return plan;
}

/** A work that fails as a condition has answered, unless a limit or a crash prevented the answer. */
function isAnswer(work: WorkView, outcome: WorkOutcome): boolean {
  return work.condition && outcome.kind === "failed" && outcome.unanswered !== true;
}

function applyDecision(view: RunView, ref: WorkRef | null, decision: Decision, at: number): void {
  const work = ref === null ? undefined : workOf(view, ref);
  const answer = work?.condition === true && decisionTraits(decision.kind).answer === true;
  const place = placeOf(work, decision);
  const delegate = work === undefined || ref === null ? undefined : delegateIn(work, ref);
  const text = truncate(decisionMessage(withoutDetail(decision)), MAX_DECISION_TEXT, "…");
  const entry: DecisionEntry = {
    at,
    iteration: ref?.iteration ?? 0,
    kind: decision.kind,
    category: decisionCategory(decision),
    answer,
    text: delegate === undefined ? text : `${truncate(delegate, MAX_DELEGATE, "…")}: ${text}`,
    ...defined({ delegate, place }),
  };
  const owner = work ?? view;
  owner.decisions.push(entry);
  if (owner.decisions.length > KEPT_DECISIONS) {
    owner.decisions.shift();
    owner.droppedDecisions += 1;
  }
  if (work === undefined) return;
  if (decisionTraits(decision.kind).audience.listed === true) {
    const { workId, taskId } = work;
    keepOnce(view.omissions, { workId, taskId, text: entry.text }, KEPT_OMISSIONS);
  }
  if (delegate !== undefined) return;
  if (decision.kind === "attempts-exhausted") work.advice = decision.advice;
  if (decision.kind === "criteria-retry") count(view, work, "retries", 1);
  if (decision.kind === "session-crashed") count(view, work, "crashes", 1);
}

function placeOf(work: WorkView | undefined, decision: Decision): DecisionEntry["place"] {
  if (decision.kind !== "name-missing" && decision.kind !== "script-skipped") return undefined;
  const { activity } = decision;
  const { open = [], steps = [], chart } = work?.flow ?? {};
  const step = open.findLast((one) => one.activity === activity) ?? steps.at(-1);
  const file = step?.file ?? chart?.main;
  return file === undefined ? undefined : { file, activity };
}

export function outcomeReason(outcome: WorkOutcome): string | undefined {
  switch (outcome.kind) {
    case "succeeded":
      return undefined;
    case "failed":
    case "canceled":
    case "skipped":
      return outcome.reason;
    case "crashed":
      return outcome.crash.message;
  }
}

export function endText({ status, reason = "", advice }: RunView): string {
  return advice === undefined || status !== "failed"
    ? reason
    : outcomeText({ kind: "failed", reason, advice });
}
