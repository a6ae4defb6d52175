/** Where a link leads, and what things are called: the addresses of the parts of a run. */
import type { Purpose, SessionRole } from "../../src/events/decision.ts";
import type { RunPart } from "../routes.ts";
import type { Block, IterationModel, Place, RunModel, TurnModel, WorkModel } from "./model.ts";

/** What an address shows. */
export interface Target {
  /** Undefined: nothing has started. */
  readonly work: WorkModel | undefined;
  /** Undefined: the work has not started. */
  readonly iteration: IterationModel | undefined;
  /** What is marked and brought into view. */
  readonly place: Place | undefined;
  /** The run has no such part; it may still come. */
  readonly missing: boolean;
}

export function targetOf(model: RunModel, part: RunPart): Target {
  switch (part.kind) {
    case "overview":
      return targetOfWork(interesting(model));
    case "work": {
      const work = model.works.get(part.workId);
      if (work === undefined) return targetOfWork(interesting(model), true);
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
  }
}

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
  if (place === undefined) return targetOfWork(interesting(model), true);
  const iteration = iterationOfPlace(place);
  if (iteration === undefined) return { ...targetOfWork(interesting(model)), place };
  return { work: iteration.work, iteration, place, missing: false };
}

/** What a reader wants to see first: what failed, or else what runs. */
function interesting({ view, works, running }: RunModel): WorkModel | undefined {
  if (view.endedAt === undefined) {
    const [first] = running;
    if (first !== undefined) return first.work;
  }
  let last: WorkModel | undefined;
  for (const work of works.values()) {
    const status = view.works.get(work.workId)?.status;
    if (status === "failed" || status === "crashed") return work;
    if (work.iterations.size > 0) last = work;
  }
  return last ?? works.values().next().value;
}

export function iterationOfPlace(place: Place): IterationModel | undefined {
  switch (place.kind) {
    case "iteration":
      return place;
    case "turn":
    case "decision":
      return place.iteration;
    default:
      return place.turn.iteration;
  }
}

/** The sending of the prompt that a place belongs to; undefined for a whole iteration. */
export function sendingOf(place: Place): number | undefined {
  switch (place.kind) {
    case "iteration":
      return undefined;
    case "turn":
    case "decision":
      return place.sending;
    default:
      return place.turn.sending;
  }
}

/** The address of a place. The shortest one: `call/{id}` where the id leads there. */
export function partOf(place: Place): RunPart {
  switch (place.kind) {
    case "iteration":
      return { kind: "work", workId: place.work.workId, iteration: place.iteration };
    case "turn":
      return { kind: "turn", turnId: place.turnId, block: undefined };
    case "decision":
      return { kind: "decision", number: place.number };
    case "call":
      if (place.first && place.callId !== "") return { kind: "call", toolCallId: place.callId };
      break;
    default:
  }
  return { kind: "turn", turnId: place.turn.turnId, block: place.number };
}

/** When a place began. */
export function timeOf(place: Place): number {
  return place.kind === "iteration" || place.kind === "turn" ? place.startedAt : place.at;
}

/** What a place is, in words: `Tool call bash`. */
export function titleOf(place: Place): string {
  switch (place.kind) {
    case "iteration":
      return place.work.iterations.size > 1
        ? `${place.work.taskId}, iteration ${place.iteration}`
        : place.work.taskId;
    case "turn":
      return turnTitle(place);
    case "decision":
      return "Decision";
    default:
      return blockTitle(place);
  }
}

export function turnTitle({ start }: TurnModel): string {
  if (start === undefined) return "Turn";
  const { purpose, retry, attempt } = start;
  const name = purposeName(purpose);
  return [
    name,
    ...(retry > 0 ? [`retry ${retry}`] : []),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
  ].join(", ");
}

function purposeName(purpose: Purpose): string {
  switch (purpose) {
    case "availability":
      return "Availability check";
    case "prompt":
      return "Prompt";
    case "criteria":
      return "Criteria check";
  }
}

export function roleName(role: SessionRole): string {
  switch (role) {
    case "driving":
      return "Driving session";
    case "task":
      return "Task session";
    case "both":
      return "Session";
  }
}

function blockTitle(block: Block): string {
  switch (block.kind) {
    case "reasoning":
      return "Reasoning";
    case "message":
      return "Message";
    case "call":
      return `Tool call ${block.toolName}`;
    case "reply":
      return "Answer of a sub-agent";
    case "usage":
      return `Model call ${block.used.modelId}`;
    case "model-failure":
      return "Model call failed";
    case "agent-failure":
      return "Tool call of a sub-agent failed";
    case "denial":
      return "Permission denied";
  }
}
