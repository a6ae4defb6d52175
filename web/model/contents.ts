/** The contents of turns, and the steps of workflows, as `run-model.ts` folds them. */
import { UNKNOWN_TOOL, type SessionActivity } from "../../src/events/session-activity.ts";
import type { StepEnded, StepStarted } from "../../src/events/event.ts";
import { addUsage, hasFailed, Usage } from "../../src/events/view.ts";
import type {
  Block,
  CallBlock,
  Entry,
  IterationModel,
  RunModel,
  StepModel,
  TextBlock,
  TurnModel,
} from "./model.ts";

/** Returns the block that the activity added or changed. */
export function applyActivity(
  model: RunModel,
  turn: TurnModel,
  activity: SessionActivity,
  at: number,
): Block | undefined {
  const place = { turn, number: turn.blocks.length + 1, at };
  switch (activity.kind) {
    case "reasoning.started":
    case "reasoning.delta":
    case "reasoning.ended":
      return applyText(turn, "reasoning", activity.reasoningId, activity, at);
    case "message.started":
    case "message.delta":
    case "message.ended":
      return applyText(turn, "message", activity.messageId, activity, at);
    case "tool.started":
      return addCall(model, turn, activity, at);
    case "tool.delta": {
      const call = openCall(turn, activity.toolCallId);
      if (call !== undefined) call.output += activity.text;
      return call;
    }
    case "tool.ended": {
      const { toolCallId, toolName = UNKNOWN_TOOL } = activity;
      const call = openCall(turn, toolCallId) ?? addCall(model, turn, { toolCallId, toolName }, at);
      call.end = activity;
      call.endedAt = at;
      call.output = "";
      return call;
    }
    case "sub-agent.tool.failed":
      return addBlock({ ...place, kind: "agent-failure", failure: activity });
    case "model.replied":
      // Messages and tool calls have what the root conversation replied.
      return activity.subAgent ? addBlock({ ...place, kind: "reply", reply: activity }) : undefined;
    case "model.used":
      return addBlock({ ...place, kind: "usage", used: activity });
    case "model.failed":
      return addBlock({ ...place, kind: "model-failure", failure: activity });
    case "permission.denied":
      return addBlock({ ...place, kind: "denial", denial: activity });
    case "tool.announced":
    case "agent.started":
    case "agent.ended":
    case "idle":
      return undefined;
  }
}

type TextActivity = Extract<
  SessionActivity,
  { kind: `${"reasoning" | "message"}.${"started" | "delta" | "ended"}` }
>;

function applyText(
  turn: TurnModel,
  kind: TextBlock["kind"],
  textId: string,
  activity: TextActivity,
  at: number,
): TextBlock | undefined {
  let block = turn.blocks.findLast(
    (one): one is TextBlock => one.kind === kind && one.textId === textId,
  );
  if (block === undefined || (block.complete && !activity.kind.endsWith(".delta"))) {
    const number = turn.blocks.length + 1;
    block = addBlock({ kind, turn, number, at, textId, text: "", complete: false });
  }
  if (block.complete) return undefined;
  if ("text" in activity) {
    block.complete = activity.kind.endsWith(".ended");
    block.text = block.complete ? activity.text : block.text + activity.text;
  }
  return block;
}

function openCall(turn: TurnModel, callId: string): CallBlock | undefined {
  return turn.blocks.findLast(
    (one): one is CallBlock =>
      one.kind === "call" && one.callId === callId && one.end === undefined,
  );
}

function addCall(
  { callsById }: RunModel,
  turn: TurnModel,
  started: Omit<Extract<SessionActivity, { kind: "tool.started" }>, "kind" | "arguments"> & {
    readonly arguments?: unknown;
  },
  at: number,
): CallBlock {
  const { toolCallId: callId, toolName, parentToolCallId: parentCallId } = started;
  const first = !callsById.has(callId);
  const call: CallBlock = {
    kind: "call",
    turn,
    number: turn.blocks.length + 1,
    at,
    callId,
    first,
    parentCallId,
    toolName,
    arguments: started.arguments,
    output: "",
    end: undefined,
    endedAt: undefined,
  };
  if (first) callsById.set(callId, call);
  return addBlock(call);
}

function addBlock<B extends Block>(block: B): B {
  block.turn.blocks.push(block);
  return block;
}

/** The tokens and model calls of a turn, or of all turns of an iteration. */
export function usageOf(entries: readonly Entry[]): Usage {
  const usage = new Usage();
  for (const entry of entries)
    for (const block of entry.kind === "turn" ? entry.blocks : [])
      if (block.kind === "usage") addUsage(usage, block.used);
  return usage;
}

/** A turn without an outcome was cut off. */
export function endTurn(turn: TurnModel, at: number, outcome?: TurnModel["outcome"]): undefined {
  if (turn.endedAt !== undefined) return;
  turn.outcome = outcome;
  turn.endedAt = at;
  for (const block of turn.blocks) if (block.kind === "call") block.endedAt ??= at;
}

export function addStep(
  model: RunModel,
  iteration: IterationModel,
  { step: ofWork, file, activity }: StepStarted | StepEnded,
  start: StepStarted | undefined,
  at: number,
): StepModel {
  const step: StepModel = {
    kind: "step",
    iteration,
    number: model.steps.length + 1,
    step: ofWork,
    file,
    activity,
    at,
    start,
    endedAt: undefined,
    end: undefined,
    status: "running",
    output: "",
  };
  model.steps.push(step);
  iteration.entries.push(step);
  iteration.openSteps.push(step);
  return step;
}

export function endStep(
  model: RunModel,
  iteration: IterationModel,
  event: StepEnded,
  at: number,
): undefined {
  const { openSteps } = iteration;
  const known = openSteps.findLast((one) => one.step === event.step);
  const step = known ?? addStep(model, iteration, event, undefined, at);
  // The steps that it contains are over too.
  for (const one of openSteps.splice(openSteps.indexOf(step))) cancelStep(one, at);
  step.end = event;
  step.output = "";
  const { flow } = iteration.work.view;
  const failed = flow === undefined || hasFailed(flow, { ...event, status: "failed" });
  step.status = event.succeeded ? "succeeded" : failed ? "failed" : "answered-no";
}

export function cancelStep(step: StepModel, at: number): void {
  step.endedAt = at;
  step.status = "canceled";
}
