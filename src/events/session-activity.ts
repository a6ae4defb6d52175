/** What happens inside a session: the SDK's events, translated once to types of agent-jobs. */
import {
  amount,
  anything,
  count,
  flag,
  list,
  optional,
  record,
  tagged,
  text,
  words,
  yes,
  type TypeOf,
} from "./shape.ts";

const toolError = record({
  message: text,
  /** `denied`: the permissions refused it. `unfinished`: the turn ended before the tool did. Otherwise a code of the runtime. */
  code: optional(text),
});

/** `length`: at the output limit. `error`: the model server broke it off. */
const finish = words("length", "content_filter", "error");

export const sessionActivity = tagged("kind", {
  "reasoning.started": { reasoningId: text },
  "reasoning.delta": { reasoningId: text, text },
  "reasoning.ended": { reasoningId: text, text },
  "message.started": { messageId: text },
  "message.delta": { messageId: text, text },
  "message.ended": { messageId: text, text },
  "tool.started": {
    toolCallId: text,
    parentToolCallId: optional(text),
    toolName: text,
    /** As the model gave them, unchecked. */
    arguments: anything,
  },
  "tool.delta": { toolCallId: text, text },
  "tool.ended": {
    toolCallId: text,
    /** Absent: no start of this call was seen. */
    toolName: optional(text),
    succeeded: flag,
    /** It did not succeed because its task was stopped. This is not an error. */
    stopped: optional(yes),
    result: optional(record({ content: text, detailedContent: optional(text) })),
    /** Of a shell command, which counts as a call that succeeded whatever its exit code is. Absent: 0, or unknown. */
    exitCode: optional(count),
    error: optional(toolError),
  },
  /** A tool call of a sub-agent that did not succeed. No other calls of sub-agents are reported. */
  "sub-agent.tool.failed": { toolCallId: text, error: toolError },
  "agent.started": { agentTurnId: text },
  "agent.ended": { agentTurnId: text },
  idle: {},
  /** One whole answer of the model, as a recording keeps it. */
  "model.replied": {
    text,
    reasoning: optional(text),
    toolCalls: list(
      record({
        /** The `toolCallId` of what happens to it. */
        id: optional(text),
        name: text,
        arguments: anything,
      }),
    ),
    /** Not the root conversation. */
    subAgent: flag,
  },
  /** One model call, as the runtime accounts for it; sub-agents included. */
  "model.used": {
    modelId: text,
    inputTokens: count,
    outputTokens: count,
    cacheReadTokens: count,
    reasoningTokens: count,
    /** In the runtime's own unit (premium requests); 0 with a custom provider. */
    cost: amount,
    durationMs: amount,
    /** Why the answer ended early. Absent: it is complete. */
    finish: optional(finish),
    subAgent: flag,
  },
  /** A model call that failed. The runtime may retry it by itself; later events show the outcome of the turn. */
  "model.failed": {
    modelId: optional(text),
    /** HTTP status of the answer, if there was one. */
    statusCode: optional(count),
    /** The message of the runtime. */
    message: optional(text),
    subAgent: flag,
  },
  "permission.denied": {
    /** `read`, `write`, `shell`, `url`, `tool`… */
    operation: text,
    /** The path, command, URL or tool name. */
    target: text,
    /** Why, and which permission would allow it. The model gets it too. */
    reason: text,
  },
});

/** What happens inside a session. */
export type SessionActivity = TypeOf<typeof sessionActivity>;
type Kind<Name extends SessionActivity["kind"]> = Extract<SessionActivity, { readonly kind: Name }>;
export type ToolEnded = Kind<"tool.ended">;
export type SubAgentToolFailed = Kind<"sub-agent.tool.failed">;
export type ToolError = TypeOf<typeof toolError>;
export type ModelReplied = Kind<"model.replied">;
export type ModelUsed = Kind<"model.used">;
export type ModelFailed = Kind<"model.failed">;
export type AnswerFinish = TypeOf<typeof finish>;
export type PermissionDenied = Kind<"permission.denied">;
/** A piece of a text that is coming in. */
export type Delta = Kind<"reasoning.delta" | "message.delta" | "tool.delta">;

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
