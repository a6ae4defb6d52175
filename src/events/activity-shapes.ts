/** The JSON of what happens inside a session. */
import type { AnswerFinish, SessionActivity, ToolEnded, ToolError } from "./session-activity.ts";
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
} from "./shape.ts";

const toolError = record<ToolError>({ message: text, code: optional(text) });

export const sessionActivity = tagged<SessionActivity, "kind">("kind", {
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
    arguments: anything,
  },
  "tool.delta": { toolCallId: text, text },
  "tool.ended": {
    toolCallId: text,
    toolName: optional(text),
    succeeded: flag,
    stopped: optional(yes),
    result: optional(
      record<NonNullable<ToolEnded["result"]>>({ content: text, detailedContent: optional(text) }),
    ),
    exitCode: optional(count),
    error: optional(toolError),
  },
  "sub-agent.tool.failed": { toolCallId: text, error: toolError },
  "agent.started": { agentTurnId: text },
  "agent.ended": { agentTurnId: text },
  idle: {},
  "model.replied": {
    text,
    reasoning: optional(text),
    toolCalls: list(
      record<{ readonly id?: string; readonly name: string; readonly arguments: unknown }>({
        id: optional(text),
        name: text,
        arguments: anything,
      }),
    ),
    subAgent: flag,
  },
  "model.used": {
    modelId: text,
    inputTokens: count,
    outputTokens: count,
    cacheReadTokens: count,
    reasoningTokens: count,
    cost: amount,
    durationMs: amount,
    finish: optional(words<AnswerFinish>({ length: true, content_filter: true, error: true })),
    subAgent: flag,
  },
  "model.failed": {
    modelId: optional(text),
    statusCode: optional(count),
    message: optional(text),
    subAgent: flag,
  },
  "permission.denied": { operation: text, target: text, reason: text },
});
