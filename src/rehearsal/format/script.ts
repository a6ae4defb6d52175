/** A rehearsal, ready to be played: every part knows its place in the file, for the messages about it. */
import type { Change } from "../../git/change.ts";
import type { Diagnostic } from "../../document/diagnostic.ts";
import type { Conversation } from "../../events/output-shapes.ts";
import type { Limits } from "../../entry/model.ts";
import type { ActivityName } from "./names.ts";
import type { GithubFields, RunResult } from "./fields.ts";
import type { CommitFields } from "./workspace.ts";
import type {
  RehearsalFile,
  ReplyFields,
  RuleFields,
  ToolField,
  WorkFields,
} from "./rehearsal-schema.ts";
import type { TextCondition } from "./text-condition.ts";

type Optional = "description" | "job" | "userInput" | "permissions";

export interface Script extends Pick<RehearsalFile, Optional> {
  readonly file: string;
  /** Relative to the same folder as `file`. */
  readonly entryFile: string;
  readonly inputs: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string>>;
  /** By the id of the ASK, in order. */
  readonly answers: Readonly<Record<string, readonly string[]>>;
  /** Relative to the same folder as `file`. Absent: the caller's choice. */
  readonly workingDirectory?: string;
  readonly workspace?: Workspace;
  /** Ignored files that a copy of the working directory includes. Relative paths, with `/`. */
  readonly include?: readonly string[];
  /** Absent: that of the workspace. */
  readonly change?: ScriptedChange;
  readonly github?: GithubFields;
  /** Earlier findings and replies on the pull request. */
  readonly conversation?: Conversation;
  readonly models: Readonly<Record<string, string>>;
  readonly limits: Limits;
  readonly rules: readonly Rule[];
  readonly expect: Expectation;
  readonly namedTasks: readonly NamedTask[];
  readonly namedActivities: readonly NamedActivity[];
}

export interface NamedTask {
  readonly task: string;
  readonly at: Omit<Diagnostic, "reason" | "hint">;
}

export interface NamedActivity {
  readonly activity: ActivityName;
  readonly isAsk: boolean;
  readonly at: Omit<Diagnostic, "reason" | "hint">;
}

/** Path and position, for messages: `sessions[0].turns[1] (a.rehearsal.yml:7:5)`. */
export type Place = string;

export interface Workspace {
  readonly files: Readonly<Record<string, string>>;
  readonly git: boolean;
  /** Further commits; with any it is a repository in any case. */
  readonly commits: readonly CommitFields[];
}

/** `git`: the checked-out branch of the folder, since it left the base. */
export type ScriptedChange =
  | { readonly kind: "git"; readonly base: string }
  | { readonly kind: "data"; readonly change: Change };

export interface Selectors extends Omit<
  RuleFields,
  "turns" | "repeat" | "optional" | "activity" | "subAgent"
> {
  readonly activity?: ActivityName;
  readonly subAgent: boolean;
}

export interface Rule {
  readonly place: Place;
  readonly selectors: Selectors;
  readonly repeat: number | "any";
  readonly optional: boolean;
  readonly turns: readonly [Turn, ...Turn[]];
}

export interface Turn {
  readonly place: Place;
  readonly prompt?: TextCondition;
  readonly replies: readonly Reply[];
}

/** `answer`: it ends. `times` of the others is how many consecutive requests get it; absent: all. */
export type ReplyKind = "answer" | "error" | "cut" | "hang" | "die";

export interface Reply extends Omit<ReplyFields, "tools" | "toolResults" | "after"> {
  readonly place: Place;
  readonly kind: ReplyKind;
  /** Added after tool calls that no reply follows. The rehearsal does not fail if it is not sent. */
  readonly implied?: boolean;
  readonly toolResults?: TextCondition;
  /** Ids of actions that must have ended before. */
  readonly after: readonly string[];
  readonly tools: readonly ToolUse[];
}

export interface ToolUse extends ToolField {
  readonly place: Place;
}

export interface Placed<T> {
  readonly place: Place;
  readonly value: T;
}

export interface Expectation {
  readonly place: Place;
  readonly result: RunResult;
  readonly reason?: TextCondition;
  readonly works?: Placed<readonly ExpectedWork[]>;
  /** The activities of the only workflow of the job, in the order in which they begin. */
  readonly path?: Placed<readonly Placed<ActivityName>[]>;
  readonly report?: Placed<TextCondition>;
  readonly decisions: ExpectedLists;
  readonly actions: ExpectedLists;
  readonly verdict?: Placed<string>;
  readonly findings?: Placed<readonly ExpectedItem[]>;
  readonly dismissed?: Placed<readonly ExpectedItem[]>;
  readonly resolved?: Placed<readonly ExpectedItem[]>;
  readonly replies?: Placed<readonly ExpectedItem[]>;
  readonly proposals?: Placed<readonly ExpectedItem[]>;
  readonly reports: readonly OfTask<TextCondition>[];
  readonly results: readonly OfTask<unknown>[];
}

interface OfTask<T> extends Placed<T> {
  readonly task: string;
}

export interface ExpectedItem {
  readonly place: Place;
  readonly fields: readonly ExpectedField[];
}

export type ExpectedField = { readonly name: string } & (
  { readonly value: unknown } | { readonly condition: TextCondition }
);

/** The field of a decision as it is printed: `[CATEGORY] text`. */
export const PRINTED = "printed text";

export type ExpectedLists = Readonly<
  Record<"include" | "sequence" | "exclude", readonly ExpectedItem[]>
>;

export interface ExpectedWork extends Omit<WorkFields, "name"> {
  readonly place: Place;
}
