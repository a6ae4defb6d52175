/** What a task can call, wherever it comes from: a command or a module of the repository, an MCP server, a host. */

export interface ToolCall {
  /** The id of the action. */
  readonly id: string;
  readonly tool: string;
  /** Plain data with ordinary prototypes, checked against the schema of the tool. */
  readonly params: Readonly<Record<string, unknown>>;
}

export interface ToolProgress {
  readonly percent?: number;
  readonly message?: string;
}

export interface CallContext {
  /** Aborts on cancellation, and at the end of the time limit. The promise should then settle soon. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ToolProgress) => void;
  /**
   * Stops the time limit until the returned function is called: a build that a call has to wait for is no part of it.
   * Absent: the caller has no time limit.
   */
  readonly pauseTimeLimit?: () => () => void;
}

export type ToolOutcome =
  | { readonly kind: "succeeded"; readonly value: unknown }
  | { readonly kind: "failed"; readonly reason: string; readonly tail?: string }
  | { readonly kind: "timed_out" };

export interface Tool {
  /** `[A-Za-z0-9_-]{1,64}`; of an MCP server, `server/tool`. */
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the params. */
  readonly parameters: object;
  /** Default: false. */
  readonly readOnly?: boolean;
  /** Default: false. */
  readonly parallelSafe?: boolean;
  /** Default: `limits.toolSeconds`. */
  readonly timeoutSeconds?: number;
  /**
   * Doesn't check the params: who lets a model call has checked them with `compileValueCheck` (the executor of actions,
   * the tools of a session, the command line).
   */
  run(call: ToolCall, context: CallContext): Promise<ToolOutcome>;
}

export interface Relic {
  readonly name: string;
  readonly description?: string;
  /** Of an excerpt. */
  readonly maxTokens?: number;
  /** The text to show: for a query, or of the whole source. */
  read(query: string | undefined, context: CallContext): Promise<ToolOutcome>;
}
