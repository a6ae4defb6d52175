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
import type { Check } from "./check.ts";
import type { PromptRole } from "./value.ts";

/** A workflow with everything that it calls. */
export interface Workflow {
  /** As the caller named it. */
  readonly file: string;
  /** The id of the file that runs first. */
  readonly main: string;
  /** By id: the path of the file within the folder that bounds the workflow. */
  readonly files: Readonly<Record<string, WorkflowFile>>;
  /** Of the file that runs first; that of called files is not used. */
  readonly settings: WorkflowSettings;
}

export interface WorkflowFile {
  readonly id: string;
  /** As diagnostics name it. */
  readonly file: string;
  /** The first heading that is no section. */
  readonly title?: string;
  /** The text below the title. */
  readonly description: string;
  readonly parameters: readonly Parameter[];
  /** By id, which is the whole heading: `User Ask`. */
  readonly prompts: Readonly<Record<string, WorkflowPrompt>>;
  /** By id, in the order of the file. */
  readonly activities: Readonly<Record<string, Activity>>;
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
}

/** What an activity does, by the beginning of its id. */
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
    /** Without a question of its own, RESULT is asked. */
    | { readonly kind: "ask"; readonly question?: string }
    /** Without a command, the code fences of RESULT are run. */
    | { readonly kind: "execute"; readonly command?: string }
    | { readonly kind: "call"; readonly path: string; readonly target: string }
  );

export type ActivityOf<Kind extends Activity["kind"]> = Extract<Activity, { kind: Kind }>;

export interface ActivityPlace {
  readonly id: string;
  readonly at: Position;
  /** Where to go on; without it, the workflow succeeds. */
  readonly next?: string;
  /** Where to go on after a failure or a check that doesn't hold; without it, the workflow fails. */
  readonly other?: string;
}
