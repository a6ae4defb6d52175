/** A rehearsal file as people write it and as a recording renders it. The schema describes every field. */
import type { Limits } from "../../entry/model.ts";
import type { EndedStatus } from "../../events/action.ts";

export type ConditionField =
  | string
  | {
      readonly contains?: string | readonly string[];
      readonly excludes?: string | readonly string[];
      readonly equals?: string;
      readonly matches?: string;
    };

export interface ToolField {
  readonly name: string;
  readonly arguments?: string | Readonly<Record<string, unknown>>;
  readonly unknown?: true;
  readonly fails?: string;
  readonly denied?: true;
}

export interface ErrorField {
  readonly status: number;
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A document of the action protocol. It is sent as it is, also where it is wrong. */
export interface DocumentFields {
  readonly status?: unknown;
  readonly thoughts?: unknown;
  readonly actions?: unknown;
  readonly stop?: unknown;
  readonly response?: unknown;
  readonly [field: string]: unknown;
}

export interface ReplyFields {
  readonly text?: string;
  readonly document?: DocumentFields;
  readonly reasoning?: string;
  readonly tools?: readonly ToolField[];
  readonly toolResults?: ConditionField;
  readonly after?: string | readonly string[];
  readonly delay?: number;
  readonly finish?: "length" | "content_filter" | "error";
  readonly usage?: { readonly input?: number; readonly output?: number };
  readonly error?: number | ErrorField;
  readonly cut?: true;
  readonly hang?: true;
  readonly die?: true;
  readonly times?: number;
}

export interface TurnFields extends ReplyFields {
  readonly prompt?: ConditionField;
  readonly replies?: readonly (string | ReplyFields)[];
}

export interface RuleFields {
  readonly task?: string;
  readonly role?: "task" | "driving";
  readonly model?: string;
  readonly workId?: number;
  readonly iteration?: number;
  readonly retry?: number;
  readonly attempt?: number;
  readonly activity?: string;
  readonly hit?: number;
  readonly subAgent?: true;
  readonly repeat?: number | "any";
  readonly optional?: true;
  readonly turns: readonly (string | TurnFields)[];
}

export type RunResult = "succeeded" | "failed" | "canceled";
export type WorkResult = RunResult | "crashed";

export interface WorkFields {
  readonly task: string;
  readonly workId?: number;
  readonly model?: string;
  readonly outcome: WorkResult | "skipped" | readonly WorkResult[];
  readonly runs?: number;
  readonly attempts?: number;
  readonly retries?: number;
  readonly crashes?: number;
  readonly rejected?: number;
}

/** By its kind and the fields of that kind; without a kind, a condition for its text. */
export interface DecisionFields {
  readonly kind?: string;
  readonly task?: string;
  readonly workId?: number;
  readonly iteration?: number;
  readonly contains?: string | readonly string[];
  readonly excludes?: string | readonly string[];
  readonly equals?: string;
  readonly matches?: string;
  readonly [field: string]: ConditionField | readonly string[] | number | undefined;
}

export interface ActionFields {
  readonly id?: string;
  readonly action?: string;
  readonly status?: EndedStatus;
  readonly params?: ConditionField;
  readonly output?: ConditionField;
  readonly reason?: ConditionField;
  readonly document?: number;
  readonly task?: string;
  readonly workId?: number;
  readonly iteration?: number;
}

export type DecisionItem = string | DecisionFields;

/** Items of a list that a run must contain in any order, must contain in this order, or must not contain. */
export interface Lists<Item> {
  readonly include?: readonly Item[];
  readonly sequence?: readonly Item[];
  readonly exclude?: readonly Item[];
}

export interface ExpectFields {
  readonly result?: RunResult;
  readonly reason?: ConditionField;
  readonly works?: readonly WorkFields[];
  readonly path?: readonly string[];
  readonly report?: ConditionField;
  /** A list is short for `include`. */
  readonly decisions?: readonly DecisionItem[] | Lists<DecisionItem>;
  /** So is this one. */
  readonly actions?: readonly ActionFields[] | Lists<ActionFields>;
}

export interface CommitFields {
  readonly message: string;
  readonly branch?: string;
  /** null: removed. */
  readonly files: Readonly<Record<string, string | null>>;
}

export interface RehearsalFile {
  readonly $schema?: string;
  readonly description?: string;
  readonly entry: string;
  readonly job?: string;
  readonly userInput?: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly answers?: Readonly<Record<string, string | readonly string[]>>;
  readonly workingDirectory?: string;
  readonly workspace?: {
    readonly files?: Readonly<Record<string, string>>;
    readonly include?: readonly string[];
    readonly git?: boolean;
    readonly commits?: readonly CommitFields[];
  };
  readonly models?: Readonly<Record<string, string>>;
  readonly permissions?: "read-only" | "workspace" | "all";
  /** They override those of the entry. */
  readonly limits?: Limits;
  readonly sessions: readonly RuleFields[];
  readonly expect?: ExpectFields;
}
