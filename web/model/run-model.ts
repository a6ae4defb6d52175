/**
 * A run as the page shows it: a fold over its events, live or from a journal.
 *
 * - Any events in any order are accepted, as in a torn journal, and nothing throws. What is unknown is created.
 * - One event costs the same however long the run is. Texts are kept once, as the events hold them.
 * - Deltas only show a text earlier: the whole text, which always follows, replaces them.
 * - Statuses and counters are those of `RunView`. Nothing here counts again what it counts.
 */
import {
  decisionCategory,
  decisionMessage,
  decisionTraits,
  withoutDetail,
  type Decision,
  type SessionRole,
} from "../../src/events/decision.ts";
import { decisionOf } from "../../src/events/decision-of.ts";
import type { RunEvent, SessionActed, WorkOutcome, WorkRef } from "../../src/events/event.ts";
import { applyEvent, createRunView, hasProtocol, isSending } from "../../src/events/view.ts";
import { applyAction, closeActions } from "./actions.ts";
import { addMark, addSpan, endSpan, freeLane, markOf, newLane } from "./lanes.ts";
import type {
  Block,
  DecisionItem,
  IterationModel,
  RunModel,
  SessionModel,
  SpanStatus,
  TurnModel,
  WorkModel,
} from "./model.ts";
import { Usage } from "../../src/events/view-model.ts";
import { closeStep, endStep, printStep, startStep } from "./steps.ts";
import { applyActivity, endOpenModel, openModelCall } from "./turn-blocks.ts";
export type * from "./model.ts";

/** An empty model; `applyToModel` folds the events of a run into it. */
export function createRunModel(): RunModel {
  return {
    view: createRunView(),
    works: new Map(),
    turns: [],
    turnsById: new Map(),
    callsById: new Map(),
    decisions: [],
    steps: [],
    documents: [],
    actions: [],
    jobLane: newLane(),
    running: new Set(),
    firstAt: undefined,
    lastAt: undefined,
    events: 0,
    unusable: 0,
  };
}

/** Changes `model` in place. Never throws. */
export function applyToModel(model: RunModel, event: RunEvent): void {
  model.events += 1;
  try {
    apply(model, event);
  } catch {
    // A server or a report of another version may hold events that this page does not know.
    model.unusable += 1;
  }
}

function apply(model: RunModel, event: RunEvent): void {
  const { at } = event;
  if (!Number.isFinite(at)) throw new TypeError("an event without a time");
  applyEvent(model.view, event);
  model.firstAt ??= at;
  model.lastAt = Math.max(model.lastAt ?? at, at);
  const block = applyItself(model, event);
  const decided = decisionOf(event);
  if (decided === undefined) return;
  addDecision(model, at, decided.work, decided.decision, event.type === "decision", block);
}

/** The block that the event added to a turn, if it did. */
function applyItself(model: RunModel, event: RunEvent): Block | undefined {
  const { at } = event;
  switch (event.type) {
    case "run.started":
      for (const work of model.view.works.values()) workOf(model, work);
      addSpan(model.jobLane, "job", at);
      return undefined;
    case "run.ended":
      for (const iteration of model.running) endIteration(model, iteration, at, undefined);
      for (const span of model.jobLane.spans) endSpan(span, at, event.outcome.kind);
      return undefined;
    case "work.started": {
      if (delegateOf(model, event.work) !== undefined) return undefined;
      // A further start ends what a damaged journal has left open; items may run at the same time.
      for (const one of event.work.item === undefined ? model.running : [])
        if (one.work.workId === event.work.workId) endIteration(model, one, at, undefined);
      iterationOf(model, event.work, at).modelId = event.modelId ?? "";
      return undefined;
    }
    case "work.ended":
      if (delegateOf(model, event.work) === undefined)
        endIteration(model, iterationOf(model, event.work, at), at, event.outcome);
      return undefined;
    case "items.listed":
    case "report.given":
    case "result.given":
    case "finding.reported":
    case "verdict.given":
    case "output.refused":
    case "proposal.made":
    case "note.added":
    case "decision":
      return undefined;
    case "session.started":
      return void sessionOf(model, event, at);
    case "session.ended":
      endSession(sessionOf(model, event, at), at);
      return undefined;
    case "turn.started":
      startTurn(model, event, at);
      return undefined;
    case "turn.ended":
      endTurn(turnOf(model, event, at), at, event.outcome);
      return undefined;
    case "activity":
      return applyActivity(model, turnOf(model, event, at), event.activity, at);
    case "step.started":
      startStep(model, iterationOf(model, event.work, at), event, at);
      return undefined;
    case "step.output":
      printStep(iterationOf(model, event.work, at), event);
      return undefined;
    case "step.ended":
      endStep(model, iterationOf(model, event.work, at), event, at);
      return undefined;
    case "action":
      applyAction(
        model,
        iterationOf(model, event.work, at),
        event.action,
        delegateOf(model, event.work),
        at,
      );
      return undefined;
  }
}

function workOf(model: RunModel, { workId, taskId }: Omit<WorkRef, "iteration">): WorkModel {
  const known = model.works.get(workId);
  if (known !== undefined) return known;
  const work: WorkModel = {
    workId,
    taskId,
    iterations: new Map(),
    lane: newLane(),
    sessionLanes: [],
    actionLanes: [],
    sharedActions: 0,
    sessionCount: 0,
  };
  model.works.set(workId, work);
  return work;
}

/** The task of an event, if it was run on behalf of an action. */
function delegateOf(model: RunModel, ref: WorkRef): string | undefined {
  return workOf(model, ref).taskId === ref.taskId ? undefined : ref.taskId;
}

function iterationOf(model: RunModel, ref: WorkRef, at: number): IterationModel {
  const work = workOf(model, ref);
  const known = work.iterations.get(ref.iteration);
  if (known !== undefined) return known;
  const iteration: IterationModel = {
    kind: "iteration",
    work,
    iteration: ref.iteration,
    startedAt: at,
    endedAt: undefined,
    outcome: undefined,
    answeredNo: false,
    modelId: "",
    sessions: new Map(),
    entries: [],
    openSteps: [],
    openActions: new Map(),
    sendings: 0,
    sent: undefined,
    usage: new Usage(),
    span: addSpan(work.lane, "iteration", at),
    idleSince: at,
  };
  iteration.span.source = iteration;
  work.iterations.set(ref.iteration, iteration);
  model.running.add(iteration);
  return iteration;
}

function endIteration(
  model: RunModel,
  iteration: IterationModel,
  at: number,
  outcome: WorkOutcome | undefined,
): void {
  if (outcome !== undefined) iteration.outcome = outcome;
  if (iteration.endedAt !== undefined) return;
  iteration.endedAt = at;
  model.running.delete(iteration);
  for (const session of iteration.sessions.values()) endSession(session, at);
  for (const step of iteration.openSteps.splice(0)) closeStep(step, at);
  closeActions(iteration, at);
  for (const entry of iteration.entries) if (entry.kind === "turn") endTurn(entry, at);
  iteration.answeredNo =
    outcome !== undefined && model.view.works.get(iteration.work.workId)?.status === "answered-no";
  endSpan(iteration.span, at, iterationStatus(iteration));
}

function iterationStatus({ outcome, answeredNo }: IterationModel): SpanStatus {
  if (outcome === undefined) return "canceled";
  return answeredNo ? "answered-no" : statusOf(outcome.kind);
}

function statusOf(kind: WorkOutcome["kind"] | "completed"): SpanStatus {
  switch (kind) {
    case "completed":
    case "succeeded":
      return "succeeded";
    case "failed":
    case "crashed":
      return "failed";
    case "canceled":
    case "skipped":
      return kind;
  }
}

interface SessionRef {
  readonly work: WorkRef;
  readonly sessionId: string;
  readonly role?: SessionRole;
  readonly modelId?: string;
  readonly retry?: number;
  readonly attempt?: number;
}

function sessionOf(model: RunModel, ref: SessionRef, at: number): SessionModel {
  const iteration = iterationOf(model, ref.work, at);
  const known = iteration.sessions.get(ref.sessionId);
  if (known !== undefined) return known;
  const { work } = iteration;
  work.sessionCount += 1;
  const lane = freeLane(work);
  const session: SessionModel = {
    sessionId: ref.sessionId,
    task: delegateOf(model, ref.work),
    iteration,
    role: ref.role ?? "both",
    modelId: ref.modelId ?? "",
    retry: ref.retry ?? 0,
    attempt: ref.attempt ?? 1,
    startedAt: at,
    number: work.sessionCount,
    endedAt: undefined,
    turns: new Map(),
    lane,
  };
  lane.sessions.push(session);
  iteration.sessions.set(ref.sessionId, session);
  return session;
}

function endSession(session: SessionModel, at: number): void {
  session.endedAt ??= at;
}

function startTurn(
  model: RunModel,
  event: Extract<RunEvent, { type: "turn.started" }>,
  at: number,
): void {
  const session = sessionOf(model, event, at);
  const { iteration } = session;
  if (event.purpose === "prompt" && session.task === undefined) {
    const isDialogue = hasProtocol(model.view, event.work);
    if (!isDialogue || isSending(iteration.sent, event)) iteration.sendings += 1;
    iteration.sent = event;
  }
  const turn = addTurn(model, session, event.turnId, event, at);
  openModelCall(turn, at);
  if (at > iteration.idleSince) {
    const start = iteration.idleSince;
    const { spans } = iteration.work.lane;
    spans.push({ kind: "queue", start, end: at, status: "neutral", source: turn });
  }
}

function addTurn(
  model: RunModel,
  session: SessionModel,
  turnId: string,
  start: TurnModel["start"],
  at: number,
): TurnModel {
  const { iteration } = session;
  const turn: TurnModel = {
    kind: "turn",
    isProtocol: isProtocol(model, session, start),
    step: iteration.openSteps.at(-1),
    turnId,
    session,
    iteration,
    sending: Math.max(1, iteration.sendings),
    startedAt: at,
    start,
    endedAt: undefined,
    outcome: undefined,
    blocks: [],
    usage: new Usage(),
    span: addSpan(session.lane, "turn", at),
    openTexts: new Map(),
    openCalls: new Map(),
    openModel: undefined,
  };
  turn.span.source = turn;
  session.turns.set(turnId, turn);
  model.turns.push(turn);
  if (!model.turnsById.has(turnId)) model.turnsById.set(turnId, turn);
  iteration.entries.push(turn);
  return turn;
}

function isProtocol(
  { view }: RunModel,
  { iteration: { work, iteration }, task = work.taskId }: SessionModel,
  start: TurnModel["start"],
): boolean {
  if (start?.purpose !== "prompt") return false;
  return hasProtocol(view, { workId: work.workId, taskId: task, iteration });
}

/** The turn that an event belongs to: the last one of its session with this id. */
function turnOf(
  model: RunModel,
  event: Extract<RunEvent, { type: "turn.ended" }> | SessionActed,
  at: number,
): TurnModel {
  const session = sessionOf(model, event, at);
  return session.turns.get(event.turnId) ?? addTurn(model, session, event.turnId, undefined, at);
}

/** Without an outcome: it was cut off. */
function endTurn(turn: TurnModel, at: number, outcome?: TurnModel["outcome"]): void {
  if (turn.endedAt !== undefined) return;
  turn.outcome = outcome;
  turn.endedAt = at;
  turn.iteration.idleSince = at;
  for (const call of turn.openCalls.values()) endSpan(call.span, at, "canceled");
  const status = turn.outcome === undefined ? "canceled" : statusOf(turn.outcome);
  endOpenModel(turn, at, status);
  endSpan(turn.span, at, status);
}

function addDecision(
  model: RunModel,
  at: number,
  ref: WorkRef | null,
  decision: Decision,
  made: boolean,
  block: Block | undefined,
): void {
  const iteration = ref === null ? undefined : iterationOf(model, ref, at);
  const task = ref === null ? undefined : delegateOf(model, ref);
  const traits = decisionTraits(decision.kind);
  const condition =
    iteration !== undefined && model.view.works.get(iteration.work.workId)?.condition === true;
  const item: DecisionItem = {
    kind: "decision",
    number: model.decisions.length + 1,
    at,
    iteration,
    sending: Math.max(1, iteration?.sendings ?? 1),
    step: iteration?.openSteps.at(-1),
    decision,
    category: decisionCategory(decision),
    severity: traits.severity,
    answer: condition && traits.answer === true,
    text: `${task === undefined ? "" : `${task}: `}${decisionMessage(withoutDetail(decision))}`,
    block,
  };
  model.decisions.push(item);
  const lane = iteration?.work.lane ?? model.jobLane;
  if (made) iteration?.entries.push(item);
  if (decision.kind === "waiting") {
    const end = at + Math.max(0, decision.milliseconds);
    lane.spans.push({ kind: "wait", start: at, end, status: "neutral", source: item });
    if (iteration !== undefined) iteration.idleSince = Math.max(iteration.idleSince, end);
  }
  if (made) addMark(lane, markOf(decision), at, item);
}
