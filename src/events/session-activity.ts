import type { Delta, SessionActivity } from "./activity-shapes.ts";

export type {
  AnswerFinish,
  Delta,
  ModelFailed,
  ModelReplied,
  ModelUsed,
  PermissionDenied,
  SessionActivity,
  SubAgentToolFailed,
  ToolEnded,
  ToolError,
} from "./activity-shapes.ts";

/** The name of a failed tool call whose tool is unknown. */
export const UNKNOWN_TOOL = "unknown";

export function isDelta(activity: SessionActivity): activity is Delta {
  return (
    activity.kind === "message.delta" ||
    activity.kind === "reasoning.delta" ||
    activity.kind === "tool.delta"
  );
}

/** Which text of its session an activity is a piece or the end of. */
export function textOf(activity: SessionActivity): string | undefined {
  switch (activity.kind) {
    case "message.delta":
    case "message.ended":
      return `message ${activity.messageId}`;
    case "reasoning.delta":
    case "reasoning.ended":
      return `reasoning ${activity.reasoningId}`;
    case "tool.delta":
    case "tool.ended":
      return `tool ${activity.toolCallId}`;
    default:
      return undefined;
  }
}
