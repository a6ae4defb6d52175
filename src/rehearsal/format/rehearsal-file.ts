/** A rehearsal file as people write it and as a recording renders it. The schema describes every field. */
import type { Limits } from "../../entry/model.ts";

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

export interface ReplyFields {
  readonly text?: string;
  readonly reasoning?: string;
  readonly tools?: readonly ToolField[];
  readonly toolResults?: ConditionField;
  readonly delay?: number;
  readonly finish?: "length" | "content_filter";
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

export type DecisionList = readonly (string | DecisionFields)[];

export interface DecisionLists {
  readonly include?: DecisionList;
  readonly sequence?: DecisionList;
  readonly exclude?: DecisionList;
}

export interface ExpectFields {
  readonly result?: RunResult;
  readonly reason?: ConditionField;
  readonly works?: readonly WorkFields[];
  readonly path?: readonly string[];
  readonly report?: ConditionField;
  /** A list is short for `include`. */
  readonly decisions?: DecisionList | DecisionLists;
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
