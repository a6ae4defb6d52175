/** The entry: what a user declares. Source of the rules: `docs/entry-format.md`. */
import type { Limits, Prices } from "./limits.ts";
import type {
  Availability,
  Criteria,
  DrivingSessionRetry,
  GridRow,
  Input,
  Memory,
  SystemPrompt,
  Task,
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
import type { NamedModel, Prompt, Work, WrittenWork } from "./works.ts";

export { availableTools, reportedBy, type JobTool } from "./permissions.ts";
export * from "./limits.ts";
export type * from "./entry-schema.ts";
export type { Outputs } from "./outputs.ts";
export * from "./permissions.ts";
export type { ModelPrice, Prices } from "./limits.ts";
export * from "./tool-declarations.ts";
export * from "./works.ts";

/** `driving` plus any number of further categories. */
export interface Models {
  readonly driving: NamedModel;
  readonly [category: string]: NamedModel;
}

/** A tree of works under a name: what `startJob` runs. */
export interface Job<Id extends number = never> {
  /** Derived from the tasks; where an author states it, it must be right. */
  readonly requireUserInput?: boolean;
  /** The tree of steps. Once it is prepared, it has no short forms. */
  readonly work: [Id] extends [never] ? WrittenWork : Work<Id>;
  /** Replaces the outputs of the entry. */
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
  /** Inputs of a run by name. Prompts insert them with `$input-NAME`. */
  readonly inputs?: Readonly<Record<string, Input>>;
  /** By name. */
  readonly tasks: Readonly<Record<string, Task>>;
  /** By name. */
  readonly jobs: Readonly<Record<string, Job<Id>>>;
  /** The outputs of every job without its own. */
  readonly outputs?: Outputs;
  /** How a portal lists the jobs. */
  readonly grid?: readonly GridRow[];
  /** Which driving models are tried, how often, when one crashes. */
  readonly drivingSessionRetries?: readonly DrivingSessionRetry[];
  /** For every task without one of its own. */
  readonly system?: SystemPrompt;
  /** Files of the repository with instructions, for every task without some of its own. */
  readonly instructions?: readonly string[];
  /** For every task without permissions of its own. Default: `read-only`. */
  readonly permissions?: Permissions;
  /** Bounds of a run. */
  readonly limits?: Limits;
  /** The prices of models on your own server. */
  readonly prices?: Prices;
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
    readonly failureAction: NonNullable<Criteria["failureAction"]> & {
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
