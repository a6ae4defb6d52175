/** The message of the action protocol, as the model writes it, and what can be wrong with it. */
import type { Path } from "../document/problem.ts";

export type ClaimedStatus = "SUCCESS" | "EXECUTING" | "ERROR" | "TASK_STARTED";
export type Execution = "SYNC" | "ASYNC";

export interface DisplaySpec {
  readonly type: string;
  readonly label?: string;
  readonly estimated_duration_seconds?: number;
}

export interface ActionSpec {
  readonly action_id?: string;
  /** The name of what is called. For a group (an action with `sub_actions`), a label. */
  readonly action: string;
  readonly type: "tool" | "internal" | "relic" | "monument";
  readonly description?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly execution?: Execution;
  readonly depends_on?: string | readonly string[];
  readonly display?: DisplaySpec | null;
  readonly sub_actions?: readonly ActionSpec[];
}

export interface Thought {
  readonly type: string;
  readonly content: string;
  readonly actions?: readonly ActionSpec[];
}

export interface ActionDocument {
  readonly status: ClaimedStatus;
  readonly context?: {
    readonly knowledge_relics?: readonly string[];
    readonly security_level?: "user" | "admin" | "system";
    readonly variables?: Readonly<Record<string, unknown>>;
  };
  readonly thoughts: readonly Thought[];
  readonly actions: readonly ActionSpec[] | null;
  readonly stop: boolean;
  readonly response: string | null;
}

/** What kind of problem it is. */
export type ProblemCode =
  /** The text is longer than `maxCharacters`, or has more than `maxValues` values. */
  | "too_large"
  /** The text is empty, or isn't exactly one JSON document without duplicate keys. */
  | "not_json"
  /** The answer ends where the model's output limit has cut it. */
  | "cut"
  /** A key or an id is `__proto__`. */
  | "forbidden_name"
  /** The document doesn't match the published schema. */
  | "schema"
  | "too_many_actions"
  | "too_deep"
  | "duplicate_id"
  | "unknown_dependency"
  | "self_dependency"
  | "cyclic_dependency"
  | "unknown_tool"
  | "unknown_internal"
  | "unknown_relic"
  | "unknown_monument"
  | "unknown_member"
  | "unknown_task"
  /** The params don't match the schema of the tool. */
  | "invalid_params"
  /** `${{` that begins no reference. */
  | "invalid_reference"
  /** A reference to a variable or an action that doesn't exist. */
  | "unknown_reference"
  /** An action that changes something, where only reading is allowed. */
  | "not_read_only"
  /** An ASYNC action in a thought. */
  | "not_sync"
  /** All variables together would be larger than the limit. */
  | "variables_too_large";

/** Something wrong with a document, as the model is told. At most 20 are listed, and how many more there are. */
export interface ProtocolProblem {
  /** A JSON pointer into the document, at most 300 characters long. Empty for the document as a whole. */
  readonly path: string;
  /** For programs. */
  readonly code: ProblemCode;
  /** For the model, at most 500 characters long. */
  readonly message: string;
}

export function pointerOf(path: Path): string {
  return path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
