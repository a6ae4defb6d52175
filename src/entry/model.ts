/** The entry: what a user declares. Source of the rules: `docs/entry-format.md`. */

/** Lines of a prompt, joined with LF. A plain string counts as one item. */
export type Prompt = string | readonly string[];

/** A model by its category (a key of `Entry.models`) or by its id. */
export type Model = { readonly category: string } | { readonly id: string };

/** `driving` plus any number of further categories, each naming a model id. */
export interface Models {
  readonly driving: string;
  readonly [category: string]: string;
}

export interface Availability {
  /** The task that finished last before this one must be in the list. */
  readonly previousTasks?: readonly string[];
  /** Asked in the driving session; holds when `job_boolean_true` is the last boolean tool called. */
  readonly condition?: Prompt;
}

export interface FailureAction {
  /** How often the task is retried after its criteria did not hold. */
  readonly retryTimes: number;
  readonly additionalPrompt?: Prompt;
}

export interface Criteria {
  /** Tools that must have run, successfully, in the last turn of the task session. */
  readonly toolExecuted?: readonly string[];
  readonly condition?: Prompt;
  /** `false` puts availability and criteria checks into sessions of their own. Default: true. */
  readonly runConditionInSameSession?: boolean;
  readonly failureAction: FailureAction;
}

/** Where permissions start from: see `docs/permissions.md`. */
export type PermissionPreset = "read-only" | "workspace" | "all";
/** All of them, from the strictest on. */
export const permissionPresets: readonly PermissionPreset[] = ["read-only", "workspace", "all"];

/** Fields add to the preset (default `read-only`); a pattern that starts with `!` denies, and deny wins. */
export interface PermissionRules {
  readonly preset?: PermissionPreset;
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  readonly shell?: true | readonly string[];
  readonly url?: readonly string[];
  /** Hosts that commands may reach: names, `*.example.com`, `localhost`. Those of `url` are among them. */
  readonly hosts?: readonly string[];
  readonly tools?: readonly string[];
  /** Whether the system enforces all this for programs. Default: `auto`. */
  readonly sandbox?: SandboxMode;
}

/**
 * `auto`: wherever this machine has a sandbox; where it has none, only tasks that start no programs run. `required`: every
 * task needs one. `off`: none is used.
 */
export type SandboxMode = "auto" | "required" | "off";
/** All of them, from the weakest on. */
export const sandboxModes: readonly SandboxMode[] = ["off", "auto", "required"];

/** What an agent may do: a preset, or rules that add to one. */
export type Permissions = PermissionPreset | PermissionRules;

/** Bounds of a run, with their defaults. Minutes and cost may be fractions; infinity is none. */
export const defaultLimits = {
  /** The whole job, which then fails. */
  jobMinutes: 60,
  /** Input and output of all model calls of the job. */
  tokens: Number.POSITIVE_INFINITY,
  /** All model calls of the job, in premium requests, as the Copilot runtime reports them. */
  cost: Number.POSITIVE_INFINITY,
  /** One iteration of a task, which then fails. */
  taskMinutes: 30,
  /** Of one iteration of a task. */
  modelCalls: 200,
  /** One turn, which then counts as crashed. */
  turnMinutes: 15,
  /** Silence of a session while no tool runs; the turn then counts as crashed. */
  idleMinutes: 5,
  /** Iterations of one `Loop`. */
  loopIterations: 100,
  /** Turns at the same time; more wait. */
  parallel: 8,
  /** How often one activity runs in one run of its workflow file. */
  activityHits: 3,
  /** Activities of one run of a workflow, those of called files included. */
  activities: 10_000,
  /** CALLs of workflow files within one another. */
  callDepth: 10,
  /** Characters of one prompt of a workflow. */
  promptCharacters: 1_000_000,
  /** Characters of the output of one EXECUTE. */
  outputCharacters: 100_000,
  /** One EXECUTE. */
  commandMinutes: 30,
  /** Silence of an EXECUTE. */
  commandIdleMinutes: 10,
} as const;

/** All optional, all positive. Defaults: `defaultLimits`. */
export type Limits = { readonly [Name in keyof typeof defaultLimits]?: number };

/** The limits that concern only workflows. */
export const workflowLimits = [
  "activityHits",
  "activities",
  "callDepth",
  "promptCharacters",
  "outputCharacters",
  "commandMinutes",
  "commandIdleMinutes",
] as const satisfies readonly (keyof Limits)[];
export type WorkflowLimit = (typeof workflowLimits)[number];

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

/** A command or a module of the repository that agents may call. Declaring a tool grants nothing. */
export type ToolDeclaration = ToolCommon &
  (
    | {
        /** The program and its arguments, without a shell. Runs in the working directory. */
        readonly command: readonly string[];
      }
    | {
        /** JavaScript or TypeScript, relative to the working directory; loaded in a process of its own. */
        readonly module: string;
        /** The name of the function. Default: `default`. */
        readonly export?: string;
      }
  );

interface ToolCommon {
  /** For the model. */
  readonly description: string;
  /** JSON Schema of the arguments, which are one object. */
  readonly parameters: object;
  /** Of one call. Default: 600. */
  readonly timeoutSeconds?: number;
  /** Whether it changes nothing. Default: false. */
  readonly readOnly?: boolean;
  /** Whether its calls may run beside other calls. Default: false. */
  readonly parallelSafe?: boolean;
  /** What has to be done before the first call. */
  readonly build?: ToolBuild;
}

export interface ToolBuild {
  readonly command: readonly string[];
  /** Globs of the files that the result depends on. */
  readonly inputs: readonly string[];
  /** Default: 10. */
  readonly minutes?: number;
}

/** A server of the Model Context Protocol: a program that is started, or an address. */
export type McpServer = {
  /** The only tools of it that are offered. Default: all. */
  readonly tools?: readonly string[];
  /** Whether a task that may use it fails if it can't be used. Default: true. */
  readonly required?: boolean;
  /** How long a start may take. Default: `defaultStartSeconds`. */
  readonly startSeconds?: number;
} & (
  | {
      readonly command: string;
      readonly args?: readonly string[];
      /** `env:NAME` is the value of an environment variable that the caller has allowed. */
      readonly env?: Readonly<Record<string, string>>;
      /** What its program may do. Default: as much as the task that uses it; tasks of other permissions get a server of their own. */
      readonly permissions?: Permissions;
    }
  | {
      readonly url: string;
      /** As `env`. */
      readonly headers?: Readonly<Record<string, string>>;
    }
);

/** `npx -y` with an empty cache takes half of it. */
export const defaultStartSeconds = 60;

/** A source of knowledge. */
export interface RelicDeclaration {
  /** What it is about, for the model. */
  readonly description: string;
  /** Globs within the working directory. One that starts with `!` excludes. */
  readonly files: readonly string[];
  /** Of an excerpt, or of the answer to a query. Default: 2,000. */
  readonly maxTokens?: number;
}

/** A bundle of tools and relics under a name. Its members are addressed as `name.member`. */
export interface MonumentDeclaration {
  /** What it is for, for the model. */
  readonly description?: string;
  /** Names of tools of the entry, or `server/tool`. */
  readonly tools?: readonly string[];
  /** Names of relics of the entry. */
  readonly relics?: readonly string[];
}

/**
 * `Work<never>` is a tree as an author writes it, `Work<number>` one whose leaves carry a
 * `workIdInJob` (see `assignWorkId`). `Leaf` is what is known of each leaf of the tree.
 */
export type Work<Id extends number = never, Leaf extends LeafWork<Id> = LeafWork<Id>> =
  Leaf | SequentialWork<Id, Leaf> | ParallelWork<Id, Leaf> | LoopWork<Id, Leaf> | AltWork<Id, Leaf>;

/** What runs: everything else only says when. */
export type LeafWork<Id extends number = never> = TaskWork<Id> | FlowWork<Id>;

export type TaskWork<Id extends number = never> = {
  readonly kind: "Ref";
  readonly taskId: string;
  readonly modelOverride?: Model;
} & Numbered<Id>;

/** Runs a Markdown workflow. */
export type FlowWork<Id extends number = never> = {
  readonly kind: "Flow";
  /** Its file, relative to the entry. */
  readonly file: string;
  /** By name; with the variables of a prompt. */
  readonly params?: Readonly<Record<string, Prompt>>;
} & Numbered<Id>;

type Numbered<Id extends number> = [Id] extends [never]
  ? { readonly workIdInJob?: number }
  : { readonly workIdInJob: Id };

export interface SequentialWork<
  Id extends number = never,
  Leaf extends LeafWork<Id> = LeafWork<Id>,
> {
  readonly kind: "Seq";
  readonly works: readonly Work<Id, Leaf>[];
}

export interface ParallelWork<Id extends number = never, Leaf extends LeafWork<Id> = LeafWork<Id>> {
  readonly kind: "Par";
  readonly works: readonly Work<Id, Leaf>[];
}

export interface LoopWork<Id extends number = never, Leaf extends LeafWork<Id> = LeafWork<Id>> {
  readonly kind: "Loop";
  /** The body runs while the work's outcome equals the boolean. */
  readonly preCondition?: readonly [boolean, Work<Id, Leaf>];
  readonly body: Work<Id, Leaf>;
  /** The loop repeats while the work's outcome equals the boolean. Without it, only `atMost` repeats the loop. */
  readonly postCondition?: readonly [boolean, Work<Id, Leaf>];
  /** The maximum number of passes. With it, an absent condition means to continue. */
  readonly atMost?: number;
  /** The outcome if a condition asks for another iteration after `atMost` iterations. Default: `fail`. */
  readonly atMostReached?: "fail" | "succeed";
}

export interface AltWork<Id extends number = never, Leaf extends LeafWork<Id> = LeafWork<Id>> {
  readonly kind: "Alt";
  readonly condition: Work<Id, Leaf>;
  readonly trueWork?: Work<Id, Leaf>;
  readonly falseWork?: Work<Id, Leaf>;
}

/** A tree of works under a name: what `startJob` runs. */
export interface Job<Id extends number = never> {
  /** Derived from the tasks; where an author states it, it must be right. */
  readonly requireUserInput?: boolean;
  /** What runs, in which order. */
  readonly work: Work<Id>;
}

export interface GridCell {
  readonly name: string;
  readonly jobName: string;
}

export interface GridRow {
  readonly keyword: string;
  /** null or undefined: an empty cell. A prepared entry has null. */
  readonly jobs: readonly (GridCell | null | undefined)[];
}

export interface DrivingSessionRetry {
  readonly modelId: string;
  readonly retries: number;
}

/** The file: models, prompt variables, tasks, jobs, permissions, limits. `validateEntry` checks and prepares it. */
export interface Entry<Id extends number = never> {
  readonly $schema?: string;
  /** Model ids by category; `driving` checks conditions. */
  readonly models: Models;
  /** Texts that prompts refer to as `$name`. */
  readonly promptVariables?: Readonly<Record<string, Prompt>>;
  /** By name. */
  readonly tasks: Readonly<Record<string, Task>>;
  /** By name. */
  readonly jobs: Readonly<Record<string, Job<Id>>>;
  /** How a portal lists the jobs. */
  readonly grid?: readonly GridRow[];
  /** Which driving models are tried, how often, when one crashes. */
  readonly drivingSessionRetries?: readonly DrivingSessionRetry[];
  /** For every task without permissions of its own. Default: `read-only`. */
  readonly permissions?: Permissions;
  /** Bounds of a run. */
  readonly limits?: Limits;
  /** Commands and modules of the repository that agents may call, by name. */
  readonly tools?: Readonly<Record<string, ToolDeclaration>>;
  /** Servers of the Model Context Protocol, by name. */
  readonly mcpServers?: Readonly<Record<string, McpServer>>;
  /** Knowledge for tasks with `protocol`, by name. */
  readonly relics?: Readonly<Record<string, RelicDeclaration>>;
  /** Bundles of tools and relics, by name. */
  readonly monuments?: Readonly<Record<string, MonumentDeclaration>>;
}

/**
 * An entry that `validateEntry` has checked and filled: every prompt is expanded to one string in
 * an array, work trees are simplified and numbered, `Job.requireUserInput` is present. The engine
 * accepts nothing else.
 */
export interface PreparedEntry extends Entry<number> {
  /** With every prompt expanded. */
  readonly tasks: Readonly<Record<string, PreparedTask>>;
  /** With numbered works. */
  readonly jobs: Readonly<Record<string, PreparedJob>>;
}

/** What an entry, or the front matter of a workflow, declares for agents to call. */
export type DeclaredTools = Pick<Entry<number>, "tools" | "mcpServers">;

/** Exactly one string: the result of `expandPromptStatic`. */
export type ExpandedPrompt = readonly [string];

export interface PreparedTask extends Task {
  readonly prompt: ExpandedPrompt;
  readonly requireUserInput: boolean;
  readonly availability?: Availability & { readonly condition?: ExpandedPrompt };
  readonly criteria?: Criteria & {
    readonly condition?: ExpandedPrompt;
    readonly failureAction: FailureAction & { readonly additionalPrompt?: ExpandedPrompt };
  };
}

export interface PreparedJob extends Job<number> {
  readonly requireUserInput: boolean;
}

/** What a model reports to the runner with. Each takes one string parameter named `argument`. */
export const availableTools = [
  "job_prepare_document",
  "job_boolean_true",
  "job_boolean_false",
  "job_prerequisite_failed",
] as const;
export type JobTool = (typeof availableTools)[number];

/** The runtime variables that job tools set. */
export const reportedBy: Readonly<Record<string, JobTool>> = {
  "reported-document": "job_prepare_document",
  "reported-true-reason": "job_boolean_true",
  "reported-false-reason": "job_boolean_false",
};

/** Variables whose values are known only while a task runs. */
export const runtimeVariables = [
  "$user-input",
  "$task-model",
  "$reported-document",
  "$reported-true-reason",
  "$reported-false-reason",
  "$previous-result",
] as const;
