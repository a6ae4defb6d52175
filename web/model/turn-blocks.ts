/** What happens in a turn, as the blocks that the page shows of it. */
import {
  UNKNOWN_TOOL,
  type SessionActivity,
  type ToolEnded,
} from "../../src/events/session-activity.ts";
import { addUsage } from "../../src/events/view-model.ts";
import { addMark, addSpan, dropSpan, endSpan } from "./lanes.ts";
import type { Block, CallBlock, RunModel, SpanStatus, TextBlock, TurnModel } from "./model.ts";

/** The block that the activity added or changed. */
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
    case "tool.announced":
      return undefined;
    case "tool.started":
      dropOpenModel(turn);
      return addCall(model, turn, activity, at);
    case "tool.delta": {
      const call = turn.openCalls.get(activity.toolCallId);
      if (call !== undefined) call.output += activity.text;
      return call;
    }
    case "tool.ended": {
      const { toolCallId, toolName = UNKNOWN_TOOL } = activity;
      const call =
        turn.openCalls.get(toolCallId) ?? addCall(model, turn, { toolCallId, toolName }, at);
      call.end = activity;
      call.endedAt = at;
      call.output = "";
      turn.openCalls.delete(toolCallId);
      endSpan(call.span, at, callStatus(activity));
      if (turn.openCalls.size === 0) openModelCall(turn, at);
      return call;
    }
    case "sub-agent.tool.failed":
      return addBlock({ ...place, kind: "agent-failure", failure: activity });
    case "model.replied":
      // Those of the root conversation are told by its messages and tool calls.
      if (!activity.subAgent) return undefined;
      return addBlock({ ...place, kind: "reply", reply: activity });
    case "model.used": {
      addUsage(turn.usage, activity);
      addUsage(turn.iteration.usage, activity);
      const block = addBlock({ ...place, kind: "usage", used: activity });
      if (!activity.subAgent) dropOpenModel(turn);
      // It can't have begun before its turn, whatever the clock of the runtime says.
      const earliest = turn.start === undefined ? -Infinity : turn.startedAt;
      const start = Math.max(earliest, at - Math.max(0, activity.durationMs));
      const span = addSpan(turn.session.lane, "model", start);
      span.source = block;
      endSpan(span, at, activity.finish === undefined ? "succeeded" : "failed");
      return block;
    }
    case "model.failed": {
      const block = addBlock({ ...place, kind: "model-failure", failure: activity });
      addMark(turn.session.lane, "failure", at, block);
      if (!activity.subAgent) failOpenModel(turn, block, at);
      return block;
    }
    case "permission.denied": {
      const block = addBlock({ ...place, kind: "denial", denial: activity });
      addMark(turn.session.lane, "denial", at, block);
      return block;
    }
    case "agent.started":
    case "agent.ended":
    case "idle":
      return undefined;
  }
}

/** From now on, the model works on its next answer. */
export function openModelCall(turn: TurnModel, at: number): void {
  if (turn.openModel !== undefined || turn.endedAt !== undefined) return;
  turn.openModel = addSpan(turn.session.lane, "model", at);
  turn.openModel.source = turn;
}

/** What has been reported now takes its place. */
function dropOpenModel(turn: TurnModel): void {
  if (turn.openModel !== undefined) dropSpan(turn.session.lane, turn.openModel);
  turn.openModel = undefined;
}

/** The runtime may try it again by itself. */
function failOpenModel(turn: TurnModel, source: Block, at: number): void {
  if (turn.openModel === undefined) return;
  turn.openModel.source = source;
  endSpan(turn.openModel, at, "failed");
  turn.openModel = undefined;
  openModelCall(turn, at);
}

/** A turn that completed has had all its model calls reported; another one ends with the call that it was in. */
export function endOpenModel(turn: TurnModel, at: number, status: SpanStatus): void {
  if (turn.openModel === undefined) return;
  if (status === "succeeded" && turn.usage.modelCalls > 0) dropOpenModel(turn);
  else endSpan(turn.openModel, at, status);
  turn.openModel = undefined;
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
  const key = `${kind} ${textId}`;
  let block = turn.openTexts.get(key);
  if (block === undefined || (block.complete && !activity.kind.endsWith(".delta"))) {
    block = {
      kind,
      turn,
      number: turn.blocks.length + 1,
      at,
      textId,
      text: "",
      complete: false,
    };
    turn.blocks.push(block);
    turn.openTexts.set(key, block);
  }
  if (block.complete) return undefined;
  if ("text" in activity) {
    block.complete = activity.kind.endsWith(".ended");
    block.text = block.complete ? activity.text : block.text + activity.text;
  }
  return block;
}

function addCall(
  model: RunModel,
  turn: TurnModel,
  started: {
    readonly toolCallId: string;
    readonly toolName: string;
    readonly parentToolCallId?: string;
    readonly arguments?: unknown;
  },
  at: number,
): CallBlock {
  const { toolCallId: callId, toolName, parentToolCallId: parentCallId } = started;
  const first = !model.callsById.has(callId);
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
    span: addSpan(turn.session.lane, "tool", at),
  };
  call.span.source = call;
  if (first) model.callsById.set(callId, call);
  turn.blocks.push(call);
  turn.openCalls.set(callId, call);
  return call;
}

function callStatus({ succeeded, stopped }: ToolEnded): SpanStatus {
  if (succeeded) return "succeeded";
  return stopped === true ? "canceled" : "failed";
}

function addBlock<B extends Block>(block: B): B {
  block.turn.blocks.push(block);
  return block;
}
