/** Tools that a task can call: commands and modules of the repository, tools of MCP servers and of a host. */

import type { Sandbox } from "../sandbox/sandbox.ts";

/** One call of a tool. */
export interface ToolCall {
  /** The id of the action. */
  readonly id: string;
  /** The name of the tool. */
  readonly tool: string;
  /** Plain data with ordinary prototypes, checked against the schema of the tool. */
  readonly params: Readonly<Record<string, unknown>>;
}

/** A report of a call that runs, for people. The model never sees it. */
export interface ToolProgress {
  /** 0 to 100. It is shown rounded down, never goes back, and stays at 95 until the end. */
  readonly percent?: number;
  /** One line; what is longer than 200 characters is cut. */
  readonly message?: string;
}

/** The context of a call. */
export interface CallContext {
  /** Aborts on cancellation, and at the end of the time limit. The promise should then settle soon. */
  readonly signal: AbortSignal;
  /** Reports progress. Never throws. */
  readonly onProgress: (progress: ToolProgress) => void;
  /**
   * Stops the time limit until the returned function is called: a build that a call has to wait for is no part of it.
   * Absent: the caller has no time limit.
   */
  readonly pauseTimeLimit?: () => () => void;
  /** For the programs that the call starts. Default: none. */
  readonly sandbox?: Sandbox | undefined;
  /** Makes the sandbox of a build that the call needs. Default: none. */
  readonly confineBuild?: (() => Promise<Sandbox | undefined> | undefined) | undefined;
  /** `TRACEPARENT` of the programs that the call starts. Default: that of the toolbox. */
  readonly traceparent?: string | undefined;
}

/** How a call ended. What a call throws, and an outcome that is none of these, counts as failed. */
export type ToolOutcome =
  | { readonly kind: "succeeded"; readonly value: unknown }
  | { readonly kind: "failed"; readonly reason: string; readonly tail?: string }
  | { readonly kind: "timed_out" };

export type ToolFailure = Extract<ToolOutcome, { kind: "failed" }>;

export function failed(reason: string): ToolFailure {
  return { kind: "failed", reason };
}

/** Something that can be called. */
export interface Tool {
  /** `[A-Za-z0-9_-]{1,64}`; of an MCP server, `server/tool`. */
  readonly name: string;
  /** Tells the model what the tool does. */
  readonly description?: string;
  /** JSON Schema of the params (draft 2020-12). */
  readonly parameters: object;
  /**
   * Whether the program that runs the tool checks the params, as an MCP server does. Then nobody else does. Default:
   * false, they are checked before the call.
   */
  readonly checksParams?: boolean;
  /** Whether it changes nothing: only then thoughts and cards can call it. Default: false. */
  readonly readOnly?: boolean;
  /** Whether a call starts programs of this machine, which need a sandbox. Default: false. */
  readonly startsPrograms?: boolean;
  /** Whether calls may overlap with other calls. Default: false. */
  readonly parallelSafe?: boolean;
  /** The time limit of a call. Default: `limits.toolSeconds`. */
  readonly timeoutSeconds?: number;
  /**
   * The result must be JSON data. What is nested more than 200 levels deep becomes `"[too deep]"`.
   *
   * Doesn't check the params: who lets a model call has checked them with `compileValueCheck` (the executor of actions,
   * the tools of a session, the command line).
   */
  run(call: ToolCall, context: CallContext): Promise<ToolOutcome>;
}

export const charactersPerToken = 4;

/** A knowledge source that a model can choose and query. */
export interface Relic {
  /** Unique among relics. */
  readonly name: string;
  /** Tells the model what the source is about. */
  readonly description?: string;
  /** The length of the excerpt that a prompt has. Default: `limits.relicTokens`. */
  readonly maxTokens?: number;
  /** The text to show: for a query, or of the whole source. */
  read(query: string | undefined, context: CallContext): Promise<ToolOutcome>;
}
