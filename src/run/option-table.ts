/**
 * The one table of options: what each is called and means, how it is read, and where it exists. The command line, its
 * help, action.yml, the checks of the library, and the tables of docs/action.md are made from it. Options of a single
 * edge stand there, in rows of the same form: `cli/options.ts`, `action/inputs.ts`.
 */
import { permissionPresets, sandboxModes } from "../entry/model.ts";
import { providerTypes, wireApis } from "../sessions/provider.ts";
import * as kind from "./option-kinds.ts";

/**
 * `run` stands for the commands run, plan and merge, `access` for those that reach a model server, `host` for `JobHost`,
 * `job` for its `runJob`, and `workflow` for `runWorkflow`.
 */
export type Edge = "run" | "serve" | "access" | "action" | "host" | "job" | "workflow";

export interface Option<T = unknown> {
  readonly kind: kind.Kind<T>;
  /** Sentences in Markdown. */
  readonly help: string;
  /** Heading in the help of the command line. */
  readonly group?: string;
  /** Where docs/cli.md says more. */
  readonly page?: string;
  /** The flag of the command line, with its argument. */
  readonly flag?: string;
  /** The variable of the environment that replaces the flag. */
  readonly env?: string;
  /** The option that can't be used beside it. */
  readonly conflicts?: string;
  readonly implies?: Readonly<Record<string, unknown>>;
  /** The default, described in words. */
  readonly without?: { readonly cli?: string; readonly action?: string };
  /** The description of the input, if it differs from `help`. */
  readonly input?: string;
  /** A warning about the input. */
  readonly risk?: string;
  /** The default of the input. */
  readonly preset?: string;
  /** The default of the input, which only a runner evaluates. */
  readonly expression?: string;
}

type Table = Readonly<Record<string, Option & { readonly on: readonly Edge[] }>>;

export const optionTable = {
  userInput: {
    kind: kind.text,
    help: "The text of `$user-input` in the prompts.",
    input:
      "The text of `$user-input` in the prompts. HTML comments and invisible characters are removed, and the text is truncated to 100000 characters.",
    risk: "the text of an issue or a pull request may come from a stranger.",
    group: "Input",
    flag: "--user-input <text>",
    conflicts: "userInputFile",
    on: ["run", "action", "job", "workflow"],
  },
  userInputFile: {
    kind: kind.text,
    help: "A file with the user input (`-` for stdin).",
    input: "A file with the user input. Excludes `user-input`.",
    group: "Input",
    flag: "--user-input-file <path>",
    on: ["run", "action"],
  },
  inputs: {
    kind: kind.inputs,
    help: "An input of the entry; `name=@FILE` reads a file.",
    input: "Inputs of the entry, one `name=value` per line, or a JSON object.",
    risk: "a line break in the text of an event can add inputs. Pass such text as `user-input`.",
    group: "Input",
    page: "entry-format.md#inputs",
    flag: "--input <name=value>",
    on: ["run", "action", "job"],
  },
  workingDirectory: {
    kind: kind.filled,
    help: "The folder in which the agent works.",
    without: {
      cli: "the current directory",
      action: "the workspace, or the folder that the rehearsal names",
    },
    group: "Input",
    flag: "--working-directory <dir>",
    on: ["run", "action", "job", "workflow"],
  },
  base: {
    kind: kind.filled,
    help: "The branch, tag or commit that the change is compared with.",
    without: { cli: "HEAD~1", action: "the base of the event, else the parent of the commit" },
    group: "Input",
    page: "entry-format.md#the-change",
    flag: "--base <ref>",
    on: ["run", "serve", "action", "host"],
  },
  uncommitted: {
    kind: kind.flag,
    help: "The change includes uncommitted work and untracked files.",
    group: "Input",
    flag: "--uncommitted",
    on: ["run", "serve", "host"],
  },
  params: {
    kind: kind.params,
    help: "A parameter of the workflow that is the entry.",
    input:
      "Parameters of a workflow, one `NAME=value` per line. A value of several lines begins with a line `NAME<<END` and ends with a line `END`.",
    risk: "a line break in the text of an event can add parameters, and a value `file:PATH` reads a file of the repository. Pass such text as `user-input`, which is the variable `USER_INPUT`.",
    group: "Workflows",
    flag: "--param <name=value>",
    on: ["run", "action", "job", "workflow"],
  },
  answers: {
    kind: kind.answers,
    help: "The answer to an ASK, by its id. Several answers to one ASK are used in order.",
    input:
      "Answers to the questions of workflows, one `ASK_ID=text` per line, in the format of `params`. Several answers to one question are used in order.",
    group: "Workflows",
    flag: "--answer <id=text>",
    on: ["run", "serve", "action", "host"],
  },
  env: {
    kind: kind.envNames,
    help: "The name of an environment variable that workflows, tools and MCP servers may read.",
    input:
      "Names of environment variables that workflows, tools and MCP servers may read, one per line.",
    risk: "what a workflow reads may reach the model, so name tokens only for MCP servers.",
    group: "Workflows",
    flag: "--env <name>",
    on: ["run", "serve", "action", "host"],
  },
  history: {
    kind: kind.filled,
    help: "The folder for a Markdown file of each step of a workflow.",
    risk: "the files contain what the agent and the commands read.",
    group: "Workflows",
    flag: "--history <dir>",
    on: ["run", "action", "workflow"],
  },
  resume: {
    kind: kind.filled,
    help: "The journal of the run to continue. Finished steps don't run again.",
    input:
      "The journal of an earlier run to continue, or `auto`: that of an earlier attempt of this workflow run, uploaded as `journal-artifact`.",
    risk: "the journal decides what counts as done, and the values and the shell environment of a workflow, so it must come from a run that you trust.",
    group: "Continuing and splitting",
    page: "scale.md#resume-a-job",
    flag: "--resume <journal>",
    on: ["run", "action", "workflow"],
  },
  resumeAnyway: {
    kind: kind.flag,
    help: "With `--resume`: tasks that had not started may have changed.",
    group: "Continuing and splitting",
    flag: "--resume-anyway",
    on: ["run"],
  },
  rerun: {
    kind: kind.flag,
    help: "With `--resume`: reruns commands that were interrupted.",
    input:
      "With `resume` of a run that was interrupted in a command: `true` reruns it, `false` refuses the run. With `resume: auto`, it always runs again.",
    group: "Continuing and splitting",
    flag: "--rerun",
    on: ["run", "action", "workflow"],
  },
  models: {
    kind: kind.models,
    help: "Another model for everything, or for a category of the entry.",
    input:
      "Another model for everything, or models for categories of the entry, one `category=id` per line.",
    group: "Models",
    flag: "--model <[category=]id>",
    on: ["run", "serve", "action", "host"],
  },
  checkModels: {
    kind: kind.flag,
    help: "Checks first that the model server, or GitHub, offers the models of the entry.",
    group: "Models",
    flag: "--models",
    conflicts: "rehearse",
    on: ["run"],
  },
  providerType: {
    kind: kind.choice(providerTypes),
    help: "The type of your own model server. Default: `openai`.",
    group: "Models",
    flag: "--provider-type <type>",
    on: ["run", "serve", "access", "action"],
  },
  providerBaseUrl: {
    kind: kind.text,
    help: "The address of your own model server, used instead of GitHub Copilot. It requires no GitHub token.",
    risk: "the server sees everything that the agent reads.",
    group: "Models",
    flag: "--provider-base-url <url>",
    on: ["run", "serve", "access", "action"],
  },
  providerApiKey: {
    kind: kind.text,
    help: "The key of the model server.",
    input: "The key of the model server, from a secret.",
    group: "Models",
    flag: "--provider-api-key <key>",
    env: "AGENT_JOBS_PROVIDER_API_KEY",
    on: ["run", "serve", "access", "action"],
  },
  providerWireApi: {
    kind: kind.choice(wireApis),
    help: "The API of the model server. Default: `completions`.",
    group: "Models",
    flag: "--provider-wire-api <api>",
    on: ["run", "serve", "access", "action"],
  },
  runtimePath: {
    kind: kind.filled,
    help: "The path of the Copilot runtime.",
    input: "The path of the Copilot runtime, which may be outside the workspace.",
    without: {
      cli: "COPILOT_CLI_PATH, then the installed package",
      action: "an installed one, or a new installation",
    },
    risk: "the action executes this file.",
    group: "Models",
    flag: "--runtime-path <path>",
    on: ["run", "serve", "access", "action", "host"],
  },
  permissions: {
    kind: kind.choice(permissionPresets),
    help: "The default permissions if the entry sets none, and an upper bound if it does.",
    risk: "with `all`, the agent reads and writes every file of the runner's user and reaches every host.",
    group: "Bounds",
    page: "permissions.md#the-option---permissions",
    flag: "--permissions <preset>",
    on: ["run", "serve", "action", "host"],
  },
  sandbox: {
    kind: kind.choice(sandboxModes),
    help: "Whether programs run in a sandbox, if stricter than `permissions.sandbox` of the entry. `off` is refused unless the entry sets it, too.",
    group: "Bounds",
    page: "permissions.md#the-sandbox",
    flag: "--sandbox <mode>",
    on: ["run", "serve", "action", "host"],
  },
  maxParallel: {
    kind: kind.count,
    help: "Maximum number of concurrent turns. Overrides the entry's `limits.parallel` (8).",
    group: "Bounds",
    flag: "--max-parallel <n>",
    on: ["run", "serve", "action"],
  },
  timeoutMinutes: {
    kind: kind.amount,
    help: "Time limit of the job. Overrides the entry's `limits.jobMinutes` (60).",
    group: "Bounds",
    flag: "--timeout-minutes <n>",
    on: ["run", "serve", "action"],
  },
  rehearse: {
    kind: kind.text,
    help: "A rehearsal file, whose script plays the model.",
    input:
      "A rehearsal file, whose script plays the model: no token, no network, no cost. The step succeeds if the rehearsal does. Several files or globs, one per line, run as tests, each with the entry that it names.",
    group: "Rehearsals",
    flag: "--rehearse <file>",
    on: ["run", "serve", "action"],
  },
  inPlace: {
    kind: kind.flag,
    help: "A rehearsal works in the folder itself instead of a copy.",
    input: "`true`: a rehearsal works in the workspace itself; `false`: in a copy.",
    group: "Rehearsals",
    page: "rehearsals.md#the-folder-it-works-in",
    flag: "--in-place",
    on: ["run", "serve", "action", "host"],
  },
  record: {
    kind: kind.filled,
    help: "The file to record this run in, as a rehearsal.",
    risk: "it contains what the agent read.",
    group: "Rehearsals",
    page: "rehearsals.md#recordings",
    flag: "--record <file>",
    on: ["run", "action"],
  },
  outputDir: {
    kind: kind.filled,
    help: "The folder for the reports of tasks, `report.md`, `index.md`, `run.json`, and a `.log` file for each command of the entry.",
    risk: "reports quote agents.",
    group: "Output",
    page: "entry-format.md#data-between-tasks",
    flag: "--output-dir <dir>",
    on: ["run", "action"],
  },
  journal: {
    kind: kind.filled,
    help: "The file for the journal: every event, as JSON lines.",
    risk: "it contains what the agent read.",
    group: "Output",
    page: "journal.md",
    flag: "--journal <file>",
    on: ["run", "action", "workflow"],
  },
  htmlReport: {
    kind: kind.filled,
    help: "The file for an HTML report of the run.",
    risk: "it contains what the agent read.",
    group: "Output",
    page: "report.md",
    flag: "--html-report <file>",
    on: ["run", "action"],
  },
  sarif: {
    kind: kind.filled,
    help: "The file for the findings as SARIF 2.1.0, for code scanning.",
    group: "Output",
    flag: "--sarif <file>",
    on: ["run", "action"],
  },
  junit: {
    kind: kind.filled,
    help: "The file for steps and findings as JUnit test cases.",
    input: "The file for steps and findings, or for several rehearsals, as JUnit test cases.",
    group: "Output",
    flag: "--junit <file>",
    on: ["run", "action"],
  },
  otlp: {
    kind: kind.collector,
    help: "Sends a trace and metrics to this OTLP collector.",
    without: { cli: "OTEL_EXPORTER_OTLP_ENDPOINT" },
    group: "Output",
    page: "telemetry.md",
    flag: "--otlp <url>",
    on: ["run", "serve", "host"],
  },
  chart: {
    kind: kind.flag,
    help: "Prints a Mermaid chart of what ran.",
    group: "Output",
    flag: "--chart",
    on: ["run"],
  },
  quiet: {
    kind: kind.flag,
    help: "Prints only failures, warnings and the end.",
    group: "Output",
    flag: "--quiet",
    conflicts: "verbose",
    on: ["run"],
  },
  verbose: {
    kind: kind.flag,
    help: "Also prints sessions, tool calls and messages.",
    group: "Output",
    flag: "--verbose",
    on: ["run"],
  },
} as const satisfies Table;

export type Value<O> = O extends { readonly kind: kind.Flag }
  ? boolean
  : O extends { readonly kind: kind.Kind<infer T> }
    ? T
    : never;

type OptionsOn<E extends Edge> = {
  readonly [
    Name in keyof typeof optionTable as E extends (typeof optionTable)[Name]["on"][number]
      ? Name
      : never
  ]: (typeof optionTable)[Name];
};

/** The values of the options on an edge. */
export type FieldsOn<E extends Edge> = {
  readonly [Name in keyof OptionsOn<E>]?: Value<OptionsOn<E>[Name]> | undefined;
};

export function optionsOn<E extends Edge>(edge: E): OptionsOn<E>;
export function optionsOn(edge: Edge): Readonly<Record<string, Option>> {
  const rows: Table = optionTable;
  return Object.fromEntries(Object.entries(rows).filter(([, { on }]) => on.includes(edge)));
}

/** Picks the values of options that exist on the edge. */
export function valuesOn<E extends Edge, V extends object>(
  edge: E,
  values: V,
): Pick<V, keyof V & keyof OptionsOn<E>>;
export function valuesOn(edge: Edge, values: object): object {
  const options = optionsOn(edge);
  return Object.fromEntries(
    Object.entries(values).filter(([name]) => Object.hasOwn(options, name)),
  );
}

/** `max-parallel` for `maxParallel`. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
