/** Where a link leads, and what things are called: the addresses of the parts of a run. */
import type { ActionEnded } from "../../src/events/action.ts";
import type { FlowChart } from "../../src/events/flow.ts";
import { capitalized, purposeName } from "../../src/events/decision.ts";
import type { RunPart } from "../routes.ts";
import type {
  DocumentModel,
  IterationModel,
  Place,
  RunModel,
  Status,
  TurnModel,
  WorkModel,
} from "./model.ts";

/** The part of a run that an address shows. */
export interface Target {
  /** Undefined: the run has no works, or not this one. */
  readonly work: WorkModel | undefined;
  /** Undefined: the work has not started. */
  readonly iteration: IterationModel | undefined;
  /** The place that is marked and brought into view. */
  readonly place: Place | undefined;
  /** An activity of a workflow: only its steps are listed. */
  readonly activity?: FlowPlace;
  /** The run has no such part; it may still come. */
  readonly missing: boolean;
}

export function targetOf(model: RunModel, part: RunPart): Target {
  switch (part.kind) {
    case "overview": {
      const target = targetOfWork(interesting(model));
      return { ...target, place: failureOf(model, target.iteration) };
    }
    case "work": {
      const work = model.works.get(part.workId);
      if (work === undefined) return nothing;
      if (part.iteration === undefined) return targetOfWork(work);
      const iteration = work.iterations.get(part.iteration);
      if (iteration === undefined) return targetOfWork(work, true);
      return { work, iteration, place: undefined, missing: false };
    }
    case "turn": {
      const turn = model.turnsById.get(part.turnId);
      return targetOfPlace(model, part.block === undefined ? turn : turn?.blocks[part.block - 1]);
    }
    case "call":
      return targetOfPlace(model, model.callsById.get(part.toolCallId));
    case "decision": {
      const decision = model.decisions[part.number - 1];
      return targetOfPlace(model, decision?.block ?? decision);
    }
    case "step":
      return targetOfPlace(model, model.steps[part.number - 1]);
    case "document":
      return targetOfPlace(model, model.documents[part.number - 1]);
    case "action":
      return targetOfPlace(model, model.actions[part.number - 1]);
    case "activity": {
      const work = model.works.get(part.workId);
      const chart = work?.view.flow?.chart;
      const activity = chart === undefined ? undefined : flowPlaces(chart)[part.node];
      if (work === undefined || activity === undefined) return targetOfWork(work, true);
      return { ...targetOfWork(work), activity };
    }
  }
}

/** An activity, with the id of its file. */
export interface FlowPlace {
  readonly file: string;
  readonly activity: string;
}

/** All activities of a workflow; their places in the list are their numbers in addresses. */
export function flowPlaces({ main, files }: FlowChart): readonly FlowPlace[] {
  const ids = [main, ...Object.keys(files).filter((id) => id !== main)];
  return ids.flatMap((file) =>
    (files[file]?.activities ?? []).map(({ id }) => ({ file, activity: id })),
  );
}

const nothing: Target = {
  work: undefined,
  iteration: undefined,
  place: undefined,
  missing: true,
};

function targetOfWork(work: WorkModel | undefined, missing = false): Target {
  const iteration = work === undefined ? undefined : lastOf(work.iterations);
  return { work, iteration, place: undefined, missing };
}

function lastOf<T>(map: ReadonlyMap<unknown, T>): T | undefined {
  let last: T | undefined;
  for (const value of map.values()) last = value;
  return last;
}

function targetOfPlace(model: RunModel, place: Place | undefined): Target {
  if (place === undefined) return nothing;
  const iteration = iterationOfPlace(place);
  if (iteration === undefined) return { ...targetOfWork(interesting(model)), place };
  return { work: iteration.work, iteration, place, missing: false };
}

/** A reader wants to see first what failed, or else what runs. */
function interesting({ view, works, running }: RunModel): WorkModel | undefined {
  if (view.endedAt === undefined) {
    const [first] = running;
    if (first !== undefined) return first.work;
  }
  let last: WorkModel | undefined;
  let asked: WorkModel | undefined;
  let askedAt = 0;
  for (const work of works.values()) {
    const { status, condition, endedAt = 0 } = work.view;
    if (status === "failed" || status === "crashed") return work;
    if (work.iterations.size > 0) last = work;
    if (condition && endedAt > askedAt) [asked, askedAt] = [work, endedAt];
  }
  // A loop failed, because the condition that was asked last didn't let it end.
  if (view.status === "failed" && asked !== undefined) return asked;
  return last ?? works.values().next().value;
}

/** Where in a run that has failed the reason is: the last step that failed, or the last error. */
function failureOf({ view }: RunModel, iteration: IterationModel | undefined): Place | undefined {
  if (view.status !== "failed" || iteration === undefined) return undefined;
  const { entries } = iteration;
  return (
    entries.findLast(
      (entry) =>
        entry.kind === "step" && entry.start?.input !== undefined && entry.end?.succeeded === false,
    ) ?? entries.findLast((entry) => entry.kind === "decision" && entry.severity === "error")
  );
}

export function iterationOfPlace(place: Place): IterationModel | undefined {
  if (place.kind === "iteration") return place;
  return ("turn" in place ? place.turn : place).iteration;
}

/** The sending of the prompt that a place belongs to; undefined for a whole iteration, and for steps. */
export function sendingOf(place: Place): number | undefined {
  const owner = "turn" in place ? place.turn : place;
  return "sending" in owner ? owner.sending : undefined;
}

/** The address of a place. The shortest one: `call/{id}` where the id leads there. */
export function partOf(place: Place): RunPart {
  switch (place.kind) {
    case "iteration":
      return { kind: "work", workId: place.work.workId, iteration: place.iteration };
    case "turn":
      return { kind: "turn", turnId: place.turnId, block: undefined };
    case "decision":
    case "step":
    case "document":
    case "action":
      return { kind: place.kind, number: place.number };
    case "call":
      if (place.first && place.callId !== "") return { kind: "call", toolCallId: place.callId };
      break;
    default:
  }
  return { kind: "turn", turnId: place.turn.turnId, block: place.number };
}

/** How something went. `over`: no more events can come, so what is open is incomplete. */
export function stateOf(place: Place, over: boolean): Status {
  const state = knownState(place);
  return state === "running" && over ? "incomplete" : state;
}

function knownState(place: Place): Status {
  switch (place.kind) {
    case "iteration":
    case "step":
      return place.status;
    case "turn": {
      const { outcome, endedAt } = place;
      if (outcome === undefined) return endedAt === undefined ? "running" : "canceled";
      return outcome === "completed" ? "succeeded" : outcome;
    }
    case "call": {
      const { end, endedAt } = place;
      if (end === undefined) return endedAt === undefined ? "running" : "canceled";
      return end.succeeded ? "succeeded" : end.stopped === true ? "canceled" : "failed";
    }
    case "action": {
      const { end, endedAt, since } = place;
      if (end !== undefined) return actionStates[end.status];
      if (endedAt !== undefined) return "canceled";
      return since === undefined ? "pending" : "running";
    }
    case "usage":
      return place.used.finish === undefined ? "succeeded" : "failed";
    case "model-failure":
      return "failed";
    default:
      return "succeeded";
  }
}

const actionStates = {
  succeeded: "succeeded",
  failed: "failed",
  timed_out: "failed",
  cancelled: "canceled",
  skipped: "skipped",
} as const satisfies Record<ActionEnded["status"], Status>;

/** Names a place in words: `Tool call bash`. */
export function titleOf(place: Place): string {
  switch (place.kind) {
    case "iteration": {
      const { taskId, workId, iterations } = place.work;
      const title = `${taskId} #${workId}`;
      return iterations.size > 1 ? `${title}, iteration ${place.iteration}` : title;
    }
    case "turn":
      return turnTitle(place);
    case "decision":
      return "Decision";
    case "step":
      return `Step ${place.step}, ${place.activity}`;
    case "document":
      return documentTitle(place);
    case "action":
      return `Action ${place.task === undefined ? "" : `${place.task}: `}${place.id}`;
    case "reasoning":
      return "Reasoning";
    case "message":
      return "Message";
    case "call":
      return `Tool call ${place.toolName}`;
    case "reply":
      return "Answer of a sub-agent";
    case "usage":
      return `Model call ${place.used.modelId}`;
    case "model-failure":
      return "Model call failed";
    case "agent-failure":
      return "Tool call of a sub-agent failed";
    case "denial":
      return "Permission denied";
  }
}

export function documentTitle({ event, task }: DocumentModel): string {
  const whose = task === undefined ? "" : `${task}: `;
  switch (event.type) {
    case "actions.accepted":
      return `${whose}Document ${event.iteration}`;
    case "actions.rejected":
      return `${whose}Document ${event.iteration} rejected`;
    case "actions.warning":
      return `${whose}Warning`;
    case "card.ended":
      return `${whose}Standing action ${event.id}`;
  }
}

/** With the name of its task, if that was run on behalf of an action. */
export function turnTitle({ start, session }: TurnModel): string {
  const whose = session.task === undefined ? "" : `${session.task}: `;
  if (start === undefined) return `${whose}Turn`;
  const { purpose, retry, attempt } = start;
  const name = `${whose}${capitalized(purposeName(purpose))}`;
  return `${name}${retry > 0 ? `, retry ${retry}` : ""}${attempt > 1 ? `, attempt ${attempt}` : ""}`;
}
