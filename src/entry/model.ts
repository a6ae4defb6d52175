/** The entry: what a user declares. Source of the rules: `docs/entry-format.md`. */
import type { Limits } from "./limits.ts";
import type {
  Availability,
  Criteria,
  DrivingSessionRetry,
  GridRow,
  Input,
  Memory,
  SystemPrompt,
} from "./entry-schema.ts";
import type { Outputs } from "./outputs.ts";
import type { Permissions } from "./permissions.ts";
import type {
  McpServer,
  MonumentDeclaration,
  ProviderSettings,
  RelicDeclaration,
  ToolDeclaration,
} from "./tool-declarations.ts";
import type { Model, NamedModel, Prompt, Work } from "./works.ts";

export { availableTools, reportedBy, type JobTool } from "./known-tools.ts";
export * from "./limits.ts";
export type * from "./entry-schema.ts";
export type { Outputs } from "./outputs.ts";
export * from "./permissions.ts";
export * from "./tool-declarations.ts";
export * from "./works.ts";

/** `driving` plus any number of further categories. */
export interface Models {
  readonly driving: NamedModel;
  readonly [category: string]: NamedModel;
}

/** A prompt, when it may run, and what must hold after it. */
export interface Task {
  /** The model that does the work. Without it, every work of the task needs a `modelOverride`. */
  readonly model?: Model;
  /** The prompt, which may contain variables. */
  readonly prompt: Prompt;
  /** Whether the prompt uses `$user-input`. Default: false. */
  readonly requireUserInput?: boolean;
  /** What must hold before the task runs. */
  readonly availability?: Availability;
  /** What must hold after it, and how often it is retried. */
  readonly criteria?: Criteria;
  /** The system prompt of all sessions of the task. Default: the entry's. */
  readonly system?: SystemPrompt;
  /** Replaces the entry's permissions for this task. */
  readonly permissions?: Permissions;
  /** `actions`: the model answers with documents of the action protocol. Default: one turn, with tool calls. */
  readonly protocol?: "actions";
  /** With `protocol`: how many documents are accepted in one round of the task. Default: 20. */
  readonly iterations?: number;
  /** With `protocol`: documents before the first, in which actions only read. Default: false. */
  readonly preThinking?: false | { readonly iterations: number };
  /** With `protocol`: names of the relics that the model may choose. Default: all of the entry. */
  readonly relics?: readonly string[];
  /** With `protocol`: names of the monuments that the model may address. Default: all of the entry. */
  readonly monuments?: readonly string[];
}

/** A tree of works under a name: what `startJob` runs. */
export interface Job<Id extends number = never> {
  /** Derived from the tasks; where an author states it, it must be right. */
  readonly requireUserInput?: boolean;
  /** What runs, in which order. */
  readonly work: Work<Id>;
  /** What it publishes, in place of that of the entry. */
  readonly outputs?: Outputs;
  /** Notes that its tasks keep for later runs. */
  readonly memory?: Memory;
}

/** The file: models, prompt variables, tasks, jobs, permissions, limits. `validateEntry` checks and prepares it. */
export interface Entry<Id extends number = never> {
  readonly $schema?: string;
  /** Models by category; `driving` checks conditions. */
  readonly models: Models;
  /** Texts that prompts refer to as `$name`. */
  readonly promptVariables?: Readonly<Record<string, Prompt>>;
  /** What a run can be given, by name: `$input-NAME`. */
  readonly inputs?: Readonly<Record<string, Input>>;
  /** By name. */
  readonly tasks: Readonly<Record<string, Task>>;
  /** By name. */
  readonly jobs: Readonly<Record<string, Job<Id>>>;
  /** What a job publishes. */
  readonly outputs?: Outputs;
  /** How a portal lists the jobs. */
  readonly grid?: readonly GridRow[];
  /** Which driving models are tried, how often, when one crashes. */
  readonly drivingSessionRetries?: readonly DrivingSessionRetry[];
  /** For every task without one of its own. */
  readonly system?: SystemPrompt;
  /** For every task without permissions of its own. Default: `read-only`. */
  readonly permissions?: Permissions;
  /** Bounds of a run. */
  readonly limits?: Limits;
  /** Headers for the model server, and how long its start is waited for. */
  readonly provider?: ProviderSettings;
  /** Commands and modules of the repository that agents may call, by name. */
  readonly tools?: Readonly<Record<string, ToolDeclaration>>;
  /** Servers of the Model Context Protocol, by name. */
  readonly mcpServers?: Readonly<Record<string, McpServer>>;
  /** Knowledge for tasks with `protocol`, by name. */
  readonly relics?: Readonly<Record<string, RelicDeclaration>>;
  /** Bundles of tools and relics, by name. */
  readonly monuments?: Readonly<Record<string, MonumentDeclaration>>;
}

/** An entry that `validateEntry` has checked, with prompts expanded and works numbered. The engine takes no other. */
export interface PreparedEntry extends Entry<number> {
  /** With every prompt expanded. */
  readonly tasks: Readonly<Record<string, PreparedTask>>;
  /** With numbered works. */
  readonly jobs: Readonly<Record<string, PreparedJob>>;
}

export type DeclaredTools = Pick<Entry<number>, "tools" | "mcpServers">;

/** Exactly one string: the result of `expandPromptStatic`. */
export type ExpandedPrompt = readonly [string];

export interface PreparedTask extends Task {
  readonly prompt: ExpandedPrompt;
  readonly system?: SystemPrompt & { readonly prompt: ExpandedPrompt };
  readonly requireUserInput: boolean;
  readonly availability?: Availability & { readonly condition?: ExpandedPrompt };
  readonly criteria?: Criteria & {
    readonly condition?: ExpandedPrompt;
    readonly failureAction: Criteria["failureAction"] & {
      readonly additionalPrompt?: ExpandedPrompt;
    };
  };
}

export interface PreparedJob extends Job<number> {
  readonly requireUserInput: boolean;
}

/** Variables whose values are known only while a task runs. */
export const runtimeVariables = [
  "$user-input",
  "$task-model",
  "$reported-document",
  "$reported-true-reason",
  "$reported-false-reason",
  "$previous-result",
  "$unmet-criteria",
] as const;
