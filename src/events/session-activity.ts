/** What happens inside one session, in our own words: the SDK's events, translated once. */
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
  | { readonly kind: "agent.started"; readonly turnId: string }
  | { readonly kind: "agent.ended"; readonly turnId: string }
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
  /** As the model gave them: nothing has checked them. */
  readonly arguments: unknown;
}

export interface ToolEnded {
  readonly kind: "tool.ended";
  readonly toolCallId: string;
  /** Absent: no start of this call was seen. */
  readonly toolName?: string;
  readonly succeeded: boolean;
  /** It did not succeed, and its task had been stopped by then: that is no error. */
  readonly stopped?: true;
  readonly result?: { readonly content: string; readonly detailedContent?: string };
  readonly error?: ToolError;
}

/** The name of a tool call that failed and of which nothing else is known. */
export const UNKNOWN_TOOL = "unknown";

/** A tool call of a sub-agent that did not succeed. Nothing else is said of the calls of sub-agents. */
export interface SubAgentToolFailed {
  readonly kind: "sub-agent.tool.failed";
  readonly toolCallId: string;
  readonly error: ToolError;
}

export interface ToolError {
  readonly message: string;
  /** `denied`: the permissions refused it. `unfinished`: the turn ended before the tool did. Else the runtime's own. */
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
  /** In the runtime's own unit (premium requests); 0 with a provider of one's own. */
  readonly cost: number;
  readonly durationMs: number;
  /** Why the answer ended early: at the output limit, or by a content filter. Absent: it is whole. */
  readonly finish?: AnswerFinish;
  readonly subAgent: boolean;
}

export type AnswerFinish = "length" | "content_filter";

/** A model call that failed. The runtime may try again by itself; what becomes of the turn comes later. */
export interface ModelFailed {
  readonly kind: "model.failed";
  readonly modelId?: string;
  /** HTTP status of the answer, if there was one. */
  readonly statusCode?: number;
  /** The runtime's own words. */
  readonly message?: string;
  readonly subAgent: boolean;
}

export interface PermissionDenied {
  readonly kind: "permission.denied";
  /** `read`, `write`, `shell`, `url`, `tool`… */
  readonly operation: string;
  /** The path, command, URL or tool name. */
  readonly target: string;
  /** Why, and which permission would allow it. Told to the model too. */
  readonly reason: string;
}
