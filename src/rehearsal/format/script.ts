/**
 * A rehearsal, ready to be played: the shorthands of the file are resolved, what contradicts itself
 * is refused, and every part knows its place in the file, for the messages about it.
 */
import type { Change } from "../../change/change.ts";
import type { Diagnostic } from "../../document/diagnostic.ts";
import type { Limits } from "../../entry/model.ts";
import type { ActivityName } from "./activity-name.ts";
import type { CommitFields } from "./workspace.ts";
import type { RuleFields, WorkFields } from "./rehearsal-schema.ts";
import type { RunResult } from "./schema-parts.ts";
import type { TextCondition } from "./text-condition.ts";

export interface Script {
  /** The rehearsal file, as the user named it. */
  readonly file: string;
  readonly description?: string;
  /** The entry file, as seen from where `file` is seen from. */
  readonly entryFile: string;
  readonly job?: string;
  readonly userInput?: string;
  readonly inputs: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string>>;
  /** By the id of the ASK, in order. */
  readonly answers: Readonly<Record<string, readonly string[]>>;
  /** As seen from where `file` is seen from; absent: the caller's choice. */
  readonly workingDirectory?: string;
  readonly workspace?: Workspace;
  /** What a copy of the working directory includes although it is ignored. Relative paths, with `/`. */
  readonly include?: readonly string[];
  /** Absent: that of the workspace. */
  readonly change?: ScriptedChange;
  readonly models: Readonly<Record<string, string>>;
  readonly permissions?: "read-only" | "workspace" | "all";
  readonly limits: Limits;
  readonly rules: readonly Rule[];
  readonly expect: Expectation;
  /** Tasks that expected decisions and actions name, to be checked against the entry. */
  readonly namedTasks: readonly NamedTask[];
  /** Activities that rules, answers and expectations name, to be checked against the workflows of the job. */
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
  /** Relative path, with `/`, to content. */
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

export interface Reply {
  readonly place: Place;
  /** Added after tool calls that no reply follows. The rehearsal does not fail if it is not sent. */
  readonly implied: boolean;
  readonly toolResults?: TextCondition;
  /** Ids of actions that must have ended before. */
  readonly after: readonly string[];
  readonly delayMs: number;
  readonly play: Play;
}

export type Play =
  | Answer
  | {
      readonly kind: "error";
      readonly status: number;
      readonly message: string;
      readonly headers: Readonly<Record<string, string>>;
      /** How many consecutive requests get it; absent: all. */
      readonly times?: number;
    }
  | { readonly kind: "cut"; readonly partial: Partial; readonly times?: number }
  | { readonly kind: "hang"; readonly partial: Partial }
  | { readonly kind: "die" };

export interface Answer {
  readonly kind: "answer";
  readonly text: string;
  readonly isDocument?: true;
  readonly reasoning: string;
  readonly tools: readonly ToolUse[];
  /** Why it ends early; absent: it is complete. */
  readonly finish?: "length" | "content_filter" | "error";
  readonly usage: { readonly input: number; readonly output: number };
}

/** What arrives of an answer that never ends. */
export interface Partial {
  readonly text: string;
  readonly reasoning: string;
}

export interface ToolUse {
  readonly place: Place;
  readonly name: string;
  /** As it goes over the wire: JSON, or anything for a freeform tool and for a model's mistake. */
  readonly input: string;
  readonly unknown: boolean;
  readonly expected: ToolEnding;
}

/** How a call has to end. A command that exits with a code other than 0 has succeeded: the code is its result. */
export type ToolEnding =
  | { readonly kind: "succeeds" }
  /** `text`: a part of the error. */
  | { readonly kind: "fails"; readonly text: string }
  | { readonly kind: "denied" };

/** What a rehearsal expects somewhere, and the place of that. */
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
  /** What RESULT is at the end of that workflow. */
  readonly report?: Placed<TextCondition>;
  readonly decisions: ExpectedLists;
  readonly actions: ExpectedLists;
  readonly verdict?: Placed<string>;
  readonly findings?: Placed<readonly ExpectedItem[]>;
  readonly proposals?: Placed<readonly ExpectedItem[]>;
  readonly reports: readonly OfTask<TextCondition>[];
  readonly results: readonly OfTask<unknown>[];
}

interface OfTask<T> extends Placed<T> {
  readonly task: string;
}

/** A decision, an action, a finding or a proposal, of which all of these fields must be so. */
export interface ExpectedItem {
  readonly place: Place;
  readonly fields: readonly ExpectedField[];
}

export type ExpectedField = { readonly name: string } & (
  { readonly value: unknown } | { readonly condition: TextCondition }
);

/** The field of a decision as it is printed: `[CATEGORY] text`. */
export const PRINTED = "printed text";

export interface ExpectedLists {
  readonly include: readonly ExpectedItem[];
  readonly sequence: readonly ExpectedItem[];
  readonly exclude: readonly ExpectedItem[];
}

/** `task`: of its task, its workflow or its command. */
export interface ExpectedWork extends Omit<WorkFields, "name"> {
  readonly place: Place;
}
