/** What happens inside a session: the SDK's events, translated once to types of agent-jobs. */
export type SessionActivity =
  | { readonly kind: "reasoning.started"; readonly reasoningId: string }
  | { readonly kind: "reasoning.delta"; readonly reasoningId: string; readonly text: string }
  | { readonly kind: "reasoning.ended"; readonly reasoningId: string; readonly text: string }
  | { readonly kind: "message.started"; readonly messageId: string }
  | { readonly kind: "message.delta"; readonly messageId: string; readonly text: string }
  | { readonly kind: "message.ended"; readonly messageId: string; readonly text: string }
  | ToolStarted
  | { readonly kind: "tool.delta"; readonly toolCallId: string; readonly text: string }
  | ToolEnded
  | SubAgentToolFailed
  | { readonly kind: "agent.started"; readonly agentTurnId: string }
  | { readonly kind: "agent.ended"; readonly agentTurnId: string }
  | { readonly kind: "idle" }
  | ModelReplied
  | ModelUsed
  | ModelFailed
  | PermissionDenied;

export interface ToolStarted {
  readonly kind: "tool.started";
  readonly toolCallId: string;
  readonly parentToolCallId?: string;
  readonly toolName: string;
  /** As the model gave them, unchecked. */
  readonly arguments: unknown;
}

export interface ToolEnded {
  readonly kind: "tool.ended";
  readonly toolCallId: string;
  /** Absent: no start of this call was seen. */
  readonly toolName?: string;
  readonly succeeded: boolean;
  /** It did not succeed because its task was stopped. This is not an error. */
  readonly stopped?: true;
  readonly result?: { readonly content: string; readonly detailedContent?: string };
  /** Of a shell command, which counts as a call that succeeded whatever its exit code is. Absent: 0, or unknown. */
  readonly exitCode?: number;
  readonly error?: ToolError;
}

/** The name of a failed tool call whose tool is unknown. */
export const UNKNOWN_TOOL = "unknown";

/** A tool call of a sub-agent that did not succeed. No other calls of sub-agents are reported. */
export interface SubAgentToolFailed {
  readonly kind: "sub-agent.tool.failed";
  readonly toolCallId: string;
  readonly error: ToolError;
}

export interface ToolError {
  readonly message: string;
  /** `denied`: the permissions refused it. `unfinished`: the turn ended before the tool did. Otherwise a code of the runtime. */
  readonly code?: string;
}

/** One whole answer of the model, as a recording keeps it. `subAgent`: not the root conversation. */
export interface ModelReplied {
  readonly kind: "model.replied";
  readonly text: string;
  readonly reasoning?: string;
  readonly toolCalls: readonly {
    /** The `toolCallId` of what happens to it. */
    readonly id?: string;
    readonly name: string;
    readonly arguments: unknown;
  }[];
  readonly subAgent: boolean;
}

/** One model call, as the runtime accounts for it; sub-agents included. */
export interface ModelUsed {
  readonly kind: "model.used";
  readonly modelId: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly reasoningTokens: number;
  /** In the runtime's own unit (premium requests); 0 with a custom provider. */
  readonly cost: number;
  readonly durationMs: number;
  /** Why the answer ended early. Absent: it is complete. */
  readonly finish?: AnswerFinish;
  readonly subAgent: boolean;
}

/** `length`: at the output limit. `error`: the model server broke it off. */
export type AnswerFinish = "length" | "content_filter" | "error";

/** A model call that failed. The runtime may retry it by itself; later events show the outcome of the turn. */
export interface ModelFailed {
  readonly kind: "model.failed";
  readonly modelId?: string;
  /** HTTP status of the answer, if there was one. */
  readonly statusCode?: number;
  /** The message of the runtime. */
  readonly message?: string;
  readonly subAgent: boolean;
}

export interface PermissionDenied {
  readonly kind: "permission.denied";
  /** `read`, `write`, `shell`, `url`, `tool`… */
  readonly operation: string;
  /** The path, command, URL or tool name. */
  readonly target: string;
  /** Why, and which permission would allow it. The model gets it too. */
  readonly reason: string;
}

/** A piece of a text that is coming in. */
export type Delta = Extract<
  SessionActivity,
  { readonly kind: "reasoning.delta" | "message.delta" | "tool.delta" }
>;

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
