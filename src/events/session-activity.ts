import * as is from "../document/describe.ts";
import type { TypeOf } from "../document/describe.ts";

const toolError = is.record({
  message: is.text,
  /** `denied`: the permissions refused it. `unfinished`: the turn ended before the tool did. Otherwise a code of the runtime. */
  code: is.optional(is.text),
});

/** `length`: at the output limit. `error`: the model server broke it off. */
const finish = is.words("length", "content_filter", "error");

export const sessionActivity = is.tagged("kind", {
  "reasoning.started": { reasoningId: is.text },
  "reasoning.delta": { reasoningId: is.text, text: is.text },
  "reasoning.ended": { reasoningId: is.text, text: is.text },
  "message.started": { messageId: is.text },
  "message.delta": { messageId: is.text, text: is.text },
  "message.ended": { messageId: is.text, text: is.text },
  /** The model is writing a long call. */
  "tool.announced": { toolCallId: is.text },
  "tool.started": {
    toolCallId: is.text,
    parentToolCallId: is.optional(is.text),
    toolName: is.text,
    /** Unchecked arguments of the model. */
    arguments: is.anything,
  },
  "tool.delta": {
    toolCallId: is.text,
    text: is.text,
    /** The tool of the entry or of an MCP server that reports progress. Absent: the output of a command. */
    toolName: is.optional(is.text),
  },
  "tool.ended": {
    toolCallId: is.text,
    /** Name and arguments as in its start. Absent in journals of earlier versions. */
    toolName: is.optional(is.text),
    arguments: is.optional(is.anything),
    succeeded: is.flag,
    /** It did not succeed because its task was stopped. This is not an error. */
    stopped: is.optional(is.yes),
    result: is.optional(is.record({ content: is.text, detailedContent: is.optional(is.text) })),
    /** A shell command counts as a successful call whatever its exit code is. Absent: 0, or unknown. */
    exitCode: is.optional(is.count),
    error: is.optional(toolError),
  },
  /** A tool call of a sub-agent that did not succeed. No other calls of sub-agents are reported. */
  "sub-agent.tool.failed": { toolCallId: is.text, error: toolError },
  "agent.started": { agentTurnId: is.text },
  "agent.ended": { agentTurnId: is.text },
  idle: {},
  /** One whole answer of the model, as a recording keeps it. */
  "model.replied": {
    text: is.text,
    reasoning: is.optional(is.text),
    toolCalls: is.list(
      is.record({
        /** The `toolCallId` of what happens to it. */
        id: is.optional(is.text),
        name: is.text,
        arguments: is.anything,
      }),
    ),
    subAgent: is.flag,
  },
  /** One model call, as the runtime accounts for it; sub-agents included. */
  "model.used": {
    modelId: is.text,
    inputTokens: is.count,
    outputTokens: is.count,
    cacheReadTokens: is.count,
    reasoningTokens: is.count,
    /** AI credits. Absent: unknown, because neither the runtime nor `prices` say what it cost. 0 in a rehearsal. */
    cost: is.optional(is.amount),
    /** The cost as Copilot reported it. */
    nanoAiu: is.optional(is.amount),
    durationMs: is.amount,
    /** Until the first token. Absent: the answer came at once, or the time is unknown. */
    firstTokenMs: is.optional(is.amount),
    /** The model server's name of the answer. */
    responseId: is.optional(is.text),
    /** Why the answer ended early. Absent: it is complete. */
    finish: is.optional(finish),
    subAgent: is.flag,
  },
  /** A model call that failed. The runtime may retry it by itself; later events show the outcome of the turn. */
  "model.failed": {
    modelId: is.optional(is.text),
    /** HTTP status of the answer, if there was one. */
    statusCode: is.optional(is.count),
    message: is.optional(is.text),
    /** How long the model server asked to wait, if it is known. */
    retryAfterMs: is.optional(is.amount),
    durationMs: is.optional(is.amount),
    subAgent: is.flag,
  },
  "permission.denied": {
    /** `read`, `write`, `shell`, `url`, `tool`… */
    operation: is.text,
    /** The path, command, URL or tool name. */
    target: is.text,
    /** Why, and which permission would allow it. The model gets it too. */
    reason: is.text,
  },
});

/** Something that happens inside a session. */
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
export type Delta = Kind<"reasoning.delta" | "message.delta" | "tool.delta">;

/** The name of a failed tool call whose tool is unknown. */
export const UNKNOWN_TOOL = "unknown";

export function isDelta(activity: SessionActivity): activity is Delta {
  return activity.kind.endsWith(".delta");
}

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
