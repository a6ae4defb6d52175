/** A `.wf.md` workflow, checked and prepared: data only. */
import type {
  DeclaredTools,
  Limits,
  Model,
  NamedModel,
  Permissions,
  ProviderSettings,
} from "../entry/model.ts";
import type { Position } from "../document/diagnostic.ts";
import type { WorkRef } from "../events/event.ts";
import type { Place } from "./read/problems.ts";
import type { PromptRole } from "./value.ts";

/** A workflow with everything that it calls. */
export interface Workflow {
  /** The path that the caller gave. */
  readonly file: string;
  /** The id of the file that runs first. */
  readonly main: string;
  /** By id: the path of the file within the folder that bounds the workflow. */
  readonly files: Readonly<Record<string, WorkflowFile>>;
  /** The front matter of the file that runs first; that of called files is not used. */
  readonly settings: WorkflowSettings;
}

export interface WorkflowFile {
  readonly id: string;
  /** Its name in diagnostics. */
  readonly file: string;
  /** The first heading that is no section. */
  readonly title?: string;
  /** The text below the title. */
  readonly description: string;
  readonly parameters: readonly Parameter[];
  /** By id, which is the whole heading: `User Ask`. */
  readonly prompts: ReadonlyMap<string, WorkflowPrompt>;
  /** By id, in the order of the file. */
  readonly activities: ReadonlyMap<string, Activity>;
  /** The place of its first flowchart. */
  readonly flowAt?: Position;
  readonly start: string;
  readonly onSuccess?: string;
  readonly onFailed?: string;
}

export interface WorkflowSettings extends DeclaredTools {
  readonly model?: Model;
  readonly models?: Readonly<Record<string, NamedModel>>;
  readonly provider?: ProviderSettings;
  readonly permissions?: Permissions;
  /** Patterns of the tools that the agent is offered, within the permissions. Default: none. */
  readonly agentTools?: readonly string[];
  readonly limits?: Limits;
  /** By the id of the ASK; several are used in order. */
  readonly answers?: Readonly<Record<string, readonly string[]>>;
}

export interface Parameter {
  readonly name: string;
  readonly default?: string;
  readonly at: Position;
}

export interface WorkflowPrompt {
  readonly role: PromptRole;
  /** With all includes. */
  readonly text: string;
  readonly place: Place;
  readonly locate: (offset: number) => Place;
}

/** An activity. The beginning of its id says what it does. */
export type Activity = ActivityPlace &
  (
    | { readonly kind: "start" }
    | { readonly kind: "success" }
    | { readonly kind: "failed" }
    /** Reached by an end of the workflow, not by an edge. */
    | { readonly kind: "on"; readonly event: "success" | "failed" }
    | { readonly kind: "set"; readonly name: string; readonly value: string }
    | { readonly kind: "assign"; readonly value: string }
    | { readonly kind: "check"; readonly check: Check }
    /** The id of a prompt, or what else has a value. */
    | { readonly kind: "prompt"; readonly prompt: string }
    /** RESULT is asked if it has no question. */
    | { readonly kind: "ask"; readonly question?: string }
    /** The code fences of RESULT are run if it has no command. */
    | { readonly kind: "execute"; readonly command?: string }
    | { readonly kind: "call"; readonly path: string; readonly target: string }
  );

export type ActivityOf<Kind extends Activity["kind"]> = Extract<Activity, { kind: Kind }>;

export interface ActivityPlace {
  readonly id: string;
  readonly at: Position;
  /** The text of its node, without a caption; empty for the ends of a workflow. */
  readonly label: string;
  /** Where to go on; without it, the workflow succeeds. */
  readonly next?: string;
  /** Where to go on after a failure or a check that doesn't hold; without it, the workflow fails. */
  readonly other?: string;
}

/** The port through which a workflow reaches other files. This room reads none by itself. */

export interface WorkflowFiles {
  /** Relative to the folder of `from`. A file has one id, by whatever path or link it was reached. */
  read(path: string, from: string): FoundFile;
}

export type FoundFile =
  | {
      readonly kind: "found";
      /** The path within the folder that bounds the workflow, with `/`. */
      readonly id: string;
      readonly file: string;
      readonly content: string | Uint8Array;
    }
  | {
      readonly kind: "missing" | "outside" | "unreadable";
      readonly reason: string;
      readonly hint?: string;
    };

export type Comparison = "eq" | "ne" | "contains" | "matches" | "gt" | "ge" | "lt" | "le";

export interface Check {
  readonly left: string;
  readonly operator: Comparison;
  /** A quoted constant, a name, or, if nothing has that name, itself. */
  readonly right: string;
}

/** A question of an ASK. */
export interface Question {
  /** The id of the ASK. */
  readonly activity: string;
  /** With its variables; empty if there is none. */
  readonly question: string;
  /** How often this ASK has been answered in this run. */
  readonly times: number;
  /** The work that is the workflow. */
  readonly work: WorkRef;
  /** The `step` of its `step.started`. */
  readonly step: number;
}

/** The answer to a question. */
export type Answer =
  | { readonly kind: "answered"; readonly text: string }
  /** There is none: the activity fails. */
  | { readonly kind: "unanswered"; readonly reason: string };

/** Asks a person. Ends soon after `signal` has aborted; what it says then doesn't matter. */
export type Asker = (question: Question, signal: AbortSignal) => Promise<Answer>;

/** By the id of the ASK; several are used in order. */
export type Answers = Readonly<Record<string, readonly string[]>>;
