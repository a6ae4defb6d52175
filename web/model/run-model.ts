/**
 * Folds the events of a run into what the page shows, live or from a journal.
 *
 * - Any events in any order are accepted, as in a torn journal, and nothing throws. What is unknown is created.
 * - Texts are kept once, as the events hold them. Deltas only show a text earlier: the whole text replaces them.
 * - Statuses and counters are those of `RunView`. Nothing here counts again what it counts.
 */
import type { ActionEvent, ActionWaiting } from "../../src/events/action.ts";
import {
  decisionCategory,
  decisionMessage,
  decisionTraits,
  withoutDetail,
} from "../../src/events/decision.ts";
import {
  decisionOf,
  type DecisionOfWork,
  type EventOf,
  type RunEvent,
  type WorkOutcome,
  type WorkRef,
} from "../../src/events/event.ts";
import {
  applyEvent,
  createRunView,
  delegateIn,
  hasProtocol,
  isSending,
} from "../../src/events/view.ts";
import type {
  ActionModel,
  Block,
  IterationModel,
  RunModel,
  SessionModel,
  TurnModel,
  WorkModel,
} from "./model.ts";
import { addStep, applyActivity, cancelStep, endStep, endTurn } from "./contents.ts";
export type * from "./model.ts";

/** Characters kept of what running scripts print: the end. */
const MAX_OUTPUT = 200_000;
/** The rest of the progress of an action is up to its end. */
const MAX_PERCENT = 95;

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
    running: new Set(),
    unusable: 0,
  };
}

/** Changes `model` in place. Never throws. */
export function applyToModel(model: RunModel, event: RunEvent): void {
  try {
    if (!Number.isFinite(event.at)) throw new TypeError("an event without a time");
    applyEvent(model.view, event);
    const block = applyItself(model, event);
    const decided = decisionOf(event);
    if (decided !== undefined)
      addDecision(model, event.at, decided, event.type !== "decision", block);
  } catch {
    // A server or a report of another version may hold events that this page does not know.
    model.unusable += 1;
  }
}

/** Returns the block that the event added to a turn, if it did. */
function applyItself(model: RunModel, event: RunEvent): Block | undefined {
  const { at } = event;
  switch (event.type) {
    case "run.started":
      for (const workId of model.view.works.keys()) workOf(model, workId);
      return undefined;
    case "run.ended":
      for (const iteration of model.running) endIteration(model, iteration, at, undefined);
      return undefined;
    case "work.started":
      if (delegateOf(model, event.work) !== undefined) return undefined;
      // A further start ends what a damaged journal has left open; items may run at the same time.
      for (const one of event.work.item === undefined ? model.running : [])
        if (one.work.workId === event.work.workId) endIteration(model, one, at, undefined);
      iterationOf(model, event.work, at);
      return undefined;
    case "work.ended":
      if (delegateOf(model, event.work) === undefined)
        endIteration(model, iterationOf(model, event.work, at), at, event.outcome);
      return undefined;
    case "items.listed":
    case "report.given":
    case "result.given":
    case "finding.reported":
    case "finding.resolved":
    case "reply.given":
    case "verdict.given":
    case "output.refused":
    case "proposal.made":
    case "note.added":
    case "decision":
      return undefined;
    case "session.started":
      return void sessionOf(model, event, at);
    case "session.ended":
      return void (sessionOf(model, event, at).endedAt ??= at);
    case "turn.started":
      return startTurn(model, event, at);
    case "turn.ended":
      return endTurn(turnOf(model, event, at), at, event.outcome);
    case "activity":
      return applyActivity(model, turnOf(model, event, at), event.activity, at);
    case "step.started":
      return void addStep(model, iterationOf(model, event.work, at), event, event, at);
    case "step.output": {
      const { openSteps } = iterationOf(model, event.work, at);
      const step = openSteps.findLast((one) => one.step === event.step);
      if (step === undefined) return undefined;
      step.output += event.text;
      if (step.output.length > 2 * MAX_OUTPUT) step.output = step.output.slice(-MAX_OUTPUT);
      return undefined;
    }
    case "step.ended":
      return endStep(model, iterationOf(model, event.work, at), event, at);
    case "action":
      return applyAction(model, event.work, event.action, at);
  }
}

function workOf(model: RunModel, workId: number): WorkModel {
  const known = model.works.get(workId);
  if (known !== undefined) return known;
  const view = model.view.works.get(workId);
  if (view === undefined) throw new TypeError("an event of a work that the view lacks");
  const work: WorkModel = { workId, taskId: view.taskId, view, iterations: new Map() };
  model.works.set(workId, work);
  return work;
}

/** The task of an event, if it was run on behalf of an action. */
function delegateOf(model: RunModel, ref: WorkRef): string | undefined {
  return delegateIn(workOf(model, ref.workId).view, ref);
}

function iterationOf(model: RunModel, ref: WorkRef, at: number): IterationModel {
  const work = workOf(model, ref.workId);
  const known = work.iterations.get(ref.iteration);
  if (known !== undefined) return known;
  const iteration: IterationModel = {
    kind: "iteration",
    work,
    iteration: ref.iteration,
    at,
    endedAt: undefined,
    outcome: undefined,
    status: "running",
    sessions: new Map(),
    entries: [],
    openSteps: [],
    openActions: new Map(),
    sendings: 0,
    sent: undefined,
  };
  work.iterations.set(ref.iteration, iteration);
  model.running.add(iteration);
  return iteration;
}

/** The first end counts. Without an outcome, it was cut off. */
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
  for (const session of iteration.sessions.values()) session.endedAt ??= at;
  for (const step of iteration.openSteps.splice(0)) cancelStep(step, at);
  for (const action of iteration.openActions.values()) action.endedAt = at;
  iteration.openActions.clear();
  for (const entry of iteration.entries) if (entry.kind === "turn") endTurn(entry, at);
  const isAnswer = outcome?.kind === "failed" && iteration.work.view.status === "answered-no";
  iteration.status = isAnswer ? "answered-no" : (outcome?.kind ?? "canceled");
}

type SessionStarted = EventOf<"session.started">;
type SessionRef = Pick<SessionStarted, "work" | "sessionId"> &
  Partial<Pick<SessionStarted, "role" | "modelId" | "attempt">>;

function sessionOf(model: RunModel, ref: SessionRef, at: number): SessionModel {
  const { sessions } = iterationOf(model, ref.work, at);
  const known = sessions.get(ref.sessionId);
  if (known !== undefined) return known;
  const { work, sessionId, role = "both", modelId = "", attempt = 1 } = ref;
  const session: SessionModel = {
    sessionId,
    task: delegateOf(model, work),
    role,
    modelId,
    attempt,
    startedAt: at,
    endedAt: undefined,
    turns: new Map(),
  };
  sessions.set(sessionId, session);
  return session;
}

/** The facts that all places of an iteration have. */
function placeIn(
  model: RunModel,
  list: readonly unknown[],
  iteration: IterationModel,
  ref: WorkRef,
  at: number,
) {
  const sending = Math.max(1, iteration.sendings);
  return { iteration, number: list.length + 1, task: delegateOf(model, ref), sending, at };
}

function startTurn(model: RunModel, event: EventOf<"turn.started">, at: number): undefined {
  const iteration = iterationOf(model, event.work, at);
  if (event.purpose === "prompt" && delegateOf(model, event.work) === undefined) {
    const isDialogue = hasProtocol(model.view, event.work);
    if (!isDialogue || isSending(iteration.sent, event)) iteration.sendings += 1;
    iteration.sent = event;
  }
  addTurn(model, event, at, event);
}

type InTurn = Pick<EventOf<"turn.ended">, "work" | "sessionId" | "turnId">;

function addTurn(model: RunModel, ref: InTurn, at: number, start?: TurnModel["start"]): TurnModel {
  const session = sessionOf(model, start ?? { work: ref.work, sessionId: ref.sessionId }, at);
  const iteration = iterationOf(model, ref.work, at);
  const turn: TurnModel = {
    kind: "turn",
    ...placeIn(model, model.turns, iteration, ref.work, at),
    isProtocol: start?.purpose === "prompt" && hasProtocol(model.view, ref.work),
    step: iteration.openSteps.at(-1),
    turnId: ref.turnId,
    session,
    start,
    endedAt: undefined,
    outcome: undefined,
    blocks: [],
  };
  session.turns.set(ref.turnId, turn);
  model.turns.push(turn);
  if (!model.turnsById.has(ref.turnId)) model.turnsById.set(ref.turnId, turn);
  iteration.entries.push(turn);
  return turn;
}

/** The turn that an event belongs to: the last one of its session with this id. */
function turnOf(model: RunModel, ref: InTurn, at: number): TurnModel {
  const { work, sessionId, turnId } = ref;
  return sessionOf(model, { work, sessionId }, at).turns.get(turnId) ?? addTurn(model, ref, at);
}

function applyAction(model: RunModel, ref: WorkRef, event: ActionEvent, at: number): undefined {
  const iteration = iterationOf(model, ref, at);
  switch (event.type) {
    case "actions.accepted":
    case "actions.rejected":
    case "actions.warning":
    case "card.ended": {
      const place = placeIn(model, model.documents, iteration, ref, at);
      const document = { kind: "document", ...place, event } as const;
      model.documents.push(document);
      iteration.entries.push(document);
      return;
    }
    case "action.waiting":
      actionOf(model, iteration, ref, event, at);
      return;
    case "action.started": {
      const action = actionOf(model, iteration, ref, event, at);
      action.since ??= at;
      action.params ??= event.params;
      return;
    }
    case "action.progress": {
      const action = iteration.openActions.get(keyOf(event, ref));
      if (action === undefined) return;
      const { percent, message } = event;
      if (percent !== undefined)
        action.percent = Math.max(action.percent ?? 0, Math.min(MAX_PERCENT, percent));
      if (message !== undefined) action.message = message;
      return;
    }
    case "action.ended": {
      const action = actionOf(model, iteration, ref, event, at);
      iteration.openActions.delete(keyOf(event, ref));
      action.end = event;
      action.endedAt = at;
    }
  }
}

type ActionRef = Pick<ActionWaiting, "id" | "iteration">;

/** A later document may use an id again. */
function keyOf({ id, iteration }: ActionRef, { taskId }: WorkRef): string {
  return `${iteration} ${id} ${taskId}`;
}

/** The open action that an event is about; an unknown one is created. */
function actionOf(
  model: RunModel,
  iteration: IterationModel,
  ref: WorkRef,
  event: ActionRef & Partial<Omit<ActionWaiting, "type">>,
  at: number,
): ActionModel {
  const known = iteration.openActions.get(keyOf(event, ref));
  if (known !== undefined) return known;
  const { id, action, execution, group, inThought, requires, display } = event;
  const opened: ActionModel = {
    action,
    execution,
    group,
    inThought,
    requires,
    display,
    kind: "action",
    ...placeIn(model, model.actions, iteration, ref, at),
    id,
    of: event.kind ?? "tool",
    document: event.iteration,
    since: undefined,
    params: undefined,
    percent: undefined,
    message: undefined,
    end: undefined,
    endedAt: undefined,
  };
  model.actions.push(opened);
  iteration.entries.push(opened);
  iteration.openActions.set(keyOf(event, ref), opened);
  return opened;
}

function addDecision(
  model: RunModel,
  at: number,
  { work: ref, decision }: DecisionOfWork,
  derived: boolean,
  block: Block | undefined,
): void {
  const iteration = ref === null ? undefined : iterationOf(model, ref, at);
  const task = ref === null ? undefined : delegateOf(model, ref);
  const { severity, answer = false } = decisionTraits(decision.kind);
  const item = {
    kind: "decision",
    number: model.decisions.length + 1,
    at,
    iteration,
    task,
    sending: Math.max(1, iteration?.sendings ?? 1),
    step: iteration?.openSteps.at(-1),
    decision,
    category: decisionCategory(decision),
    severity,
    answer: answer && iteration?.work.view.condition === true,
    text: `${task === undefined ? "" : `${task}: `}${decisionMessage(withoutDetail(decision))}`,
    derived,
    block,
  } as const;
  model.decisions.push(item);
  if (!derived) iteration?.entries.push(item);
}
