/**
 * The one table of options: what each is called and means, how it is read, and where it exists. The command line, its
 * help, action.yml, the checks of the library, and the tables of docs/action.md are made from it. Options of a single
 * edge stand there, in rows of the same form: `cli/options.ts`, `action/actions.ts`.
 */
import { permissionPresets, sandboxModes } from "../entry/model.ts";
import { providerTypes, wireApis } from "../sessions/provider.ts";
import * as named from "./option-assignments.ts";
import * as kind from "./option-kinds.ts";
import type { Edge, Option, Rows } from "./option-kinds.ts";
import { viewFiles } from "./view-files.ts";

export type { Edge, Option };

/** `group`: the heading in the help of the command line. */
function inGroup<const R extends Rows>(group: string, rows: R): R;
function inGroup(group: string, rows: Rows): Rows {
  return Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, { ...row, group }]));
}

export const optionTable = {
  ...inGroup("Input", {
    prompt: {
      kind: kind.filled,
      help: "A prompt, in place of an entry: a job of one task, which only reads.",
      input:
        "A prompt, in place of `entry`: a job of one task, which only reads. `job` names it (default: the id of the workflow's job).",
      risk: "text of an event that an expression inserts becomes an instruction. Insert `$user-input`, and pass such text as `user-input`.",
      page: "cli.md#a-prompt",
      flag: "--prompt <text>",
      conflicts: "promptFile",
      on: ["run", "action"],
    },
    promptFile: {
      kind: kind.filled,
      help: "The file of such a prompt.",
      input: "The file of such a prompt. It is read as `entry` is.",
      flag: "--prompt-file <path>",
      on: ["run", "action"],
    },
    outputs: {
      kind: kind.filled,
      help: "What a prompt publishes: `outputs` as in an entry, in YAML or JSON.",
      page: "outputs.md",
      flag: "--outputs <yaml>",
      on: ["run", "action"],
    },
    userInput: {
      kind: kind.text,
      help: "The text of `$user-input` in the prompts.",
      input:
        "The text of `$user-input` in the prompts. HTML comments and invisible characters are removed, and the text is truncated to 100000 characters.",
      risk: "the text of an issue or a pull request may come from a stranger.",
      flag: "--user-input <text>",
      conflicts: "userInputFile",
      on: ["run", "action", "job", "workflow"],
    },
    userInputFile: {
      kind: kind.text,
      help: "A file with the user input (`-` for stdin).",
      input: "A file with the user input, in place of `user-input`.",
      flag: "--user-input-file <path>",
      on: ["run", "action"],
    },
    inputs: {
      kind: named.inputs,
      help: "An input of the entry; `name=@FILE` reads a file.",
      input:
        "Inputs of the entry, parameters of a workflow, and answers to its questions (`ASK_NAME=text`; several answers to one question are used in order): one `name=value` per line, or a JSON object. A value of several lines begins with a line `NAME<<END` and ends with a line `END`.",
      risk: "a line break in the text of an event can add inputs, and a parameter `file:PATH` reads a file of the repository. Pass such text as `user-input`.",
      page: "entry-format.md#inputs",
      flag: "--input <name=value>",
      on: ["run", "action", "job"],
    },
    workingDirectory: {
      kind: kind.filled,
      help: "The folder in which the agent works.",
      without: {
        cli: "the current directory",
        action: "the workspace",
      },
      flag: "--working-directory <dir>",
      on: ["run", "action", "job", "workflow"],
    },
    base: {
      kind: kind.filled,
      help: "The branch, tag or commit that the change is compared with.",
      without: { cli: "HEAD~1", action: "the base of the event, else the parent of the commit" },
      page: "entry-format.md#the-change",
      flag: "--base <ref>",
      on: ["run", "serve", "action", "host"],
    },
    uncommitted: {
      kind: kind.flag,
      help: "The change includes uncommitted work and untracked files.",
      flag: "--uncommitted",
      on: ["run", "serve", "host"],
    },
  }),
  ...inGroup("Workflows", {
    params: {
      kind: named.params,
      help: "A parameter of the workflow that is the entry.",
      flag: "--param <name=value>",
      on: ["run", "job", "workflow"],
    },
    answers: {
      kind: named.answers,
      help: "The answer to an ASK, by its id. Several answers to one ASK are used in order.",
      flag: "--answer <id=text>",
      on: ["run", "serve", "host"],
    },
    env: {
      kind: kind.envNames,
      help: "The name of an environment variable that workflows, tools and MCP servers may read.",
      input:
        "Names of environment variables that workflows, tools and MCP servers may read, one per line.",
      risk: "what a workflow reads may reach the model, so name tokens only for MCP servers.",
      flag: "--env <name>",
      on: ["run", "serve", "action", "host"],
    },
  }),
  ...inGroup("Continuing and splitting", {
    resume: {
      kind: kind.filled,
      help: "The journal of the run to continue. Finished steps don't run again.",
      input:
        "The journal of an earlier run to continue, or a folder with it, or `auto`: that of an earlier attempt of this workflow run, uploaded as `journal-artifact`. Interrupted commands run again. With `shard`: the journal of the plan.",
      risk: "the journal decides what counts as done, and the values and the shell environment of a workflow, so it must come from a run that you trust.",
      page: "scale.md#resume-a-job",
      flag: "--resume <journal>",
      on: ["run", "action", "job", "workflow"],
    },
    resumeAnyway: {
      kind: kind.flag,
      help: "With `--resume`: tasks that had not started may have changed.",
      flag: "--resume-anyway",
      on: ["run", "job"],
    },
    share: {
      kind: kind.choice(["items", "all"]),
      help: "What a shard may spend of `limits.tokens` and `limits.cost`: `items` (in proportion to its items) or `all`.",
      without: { cli: "`items`" },
      page: "scale.md#share-a-job-among-machines",
      flag: "--share <rule>",
      env: "AGENT_JOBS_SHARE",
      on: ["run", "job"],
    },
    rerun: {
      kind: kind.flag,
      help: "With `--resume`: reruns commands that were interrupted.",
      flag: "--rerun",
      on: ["run", "job", "workflow"],
    },
    shard: {
      kind: kind.shard,
      help: "With `--resume` of a plan: runs one of several parts, such as 1/3.",
      input: "The part of the job to run, such as `1/3`.",
      page: "scale.md#share-a-job-among-machines",
      flag: "--shard <n/count>",
      on: ["job"],
    },
  }),
  ...inGroup("Models", {
    models: {
      kind: kind.models,
      name: "model",
      help: "Another model for everything, or for a category of the entry.",
      input:
        "Another model for everything, or models for categories of the entry, one `category=id` per line.",
      flag: "--model <[category=]id>",
      env: "AGENT_JOBS_MODEL",
      on: ["run", "serve", "action", "host"],
    },
    checkModels: {
      kind: kind.flag,
      help: "Checks first that the model server, or GitHub, offers the models of the entry.",
      flag: "--check-models",
      conflicts: "rehearse",
      on: ["run"],
    },
    providerType: {
      kind: kind.choice(providerTypes),
      help: "The type of your own model server. Default: `openai`.",
      flag: "--provider-type <type>",
      env: "AGENT_JOBS_PROVIDER_TYPE",
      on: ["run", "serve", "access"],
    },
    providerBaseUrl: {
      kind: kind.text,
      help: "The address of your own model server, used instead of GitHub Copilot. It requires no GitHub token.",
      risk: "the server sees everything that the agent reads.",
      flag: "--provider-base-url <url>",
      env: "AGENT_JOBS_PROVIDER_BASE_URL",
      on: ["run", "serve", "access", "action"],
    },
    providerApiKey: {
      kind: kind.text,
      help: "The key of the model server.",
      input: "The key of the model server, from a secret.",
      flag: "--provider-api-key <key>",
      env: "AGENT_JOBS_PROVIDER_API_KEY",
      on: ["run", "serve", "access", "action"],
    },
    providerTokenCommand: {
      kind: kind.filled,
      help: "A command for bash that prints the key, also when it expires.",
      input:
        "A command for bash that prints the key of the model server, with the environment of the step, such as the exchange of an OIDC token. It runs again before the key expires.",
      risk: "it runs outside of any sandbox.",
      flag: "--provider-token-command <command>",
      env: "AGENT_JOBS_PROVIDER_TOKEN_COMMAND",
      on: ["run", "serve", "access", "action"],
    },
    providerWireApi: {
      kind: kind.choice(wireApis),
      help: "The API of the model server. Default: `completions`.",
      flag: "--provider-wire-api <api>",
      env: "AGENT_JOBS_PROVIDER_WIRE_API",
      on: ["run", "serve", "access"],
    },
    runtimePath: {
      kind: kind.filled,
      help: "The path of the Copilot runtime.",
      without: { cli: "COPILOT_CLI_PATH, then the installed package" },
      flag: "--runtime-path <path>",
      env: "AGENT_JOBS_RUNTIME_PATH",
      on: ["run", "serve", "access", "host"],
    },
  }),
  ...inGroup("Bounds", {
    permissions: {
      kind: kind.choice(permissionPresets),
      help: "The default permissions if the entry sets none, and an upper bound if it does.",
      risk: "with `all`, the agent reads and writes every file of the runner's user and reaches every host.",
      page: "permissions.md#the-option---permissions",
      flag: "--permissions <preset>",
      on: ["run", "serve", "action", "host"],
    },
    sandbox: {
      kind: kind.choice(sandboxModes),
      help: "Whether programs run in a sandbox, if stricter than `permissions.sandbox` of the entry. `off` is refused unless the entry sets it, too.",
      page: "permissions.md#the-sandbox",
      flag: "--sandbox <mode>",
      env: "AGENT_JOBS_SANDBOX",
      on: ["run", "serve", "action", "host"],
    },
    maxParallel: {
      kind: kind.count,
      help: "Maximum number of concurrent turns. Overrides the entry's `limits.parallel` (8).",
      flag: "--max-parallel <n>",
      on: ["run", "serve"],
    },
    timeoutMinutes: {
      kind: kind.amount,
      help: "Time limit of the job. Overrides the entry's `limits.jobMinutes` (60).",
      flag: "--timeout-minutes <n>",
      on: ["run", "serve"],
    },
  }),
  ...inGroup("Rehearsals", {
    rehearse: {
      kind: kind.text,
      help: "A rehearsal file, whose script plays the model.",
      flag: "--rehearse <file>",
      on: ["run", "serve"],
    },
    inPlace: {
      kind: kind.flag,
      help: "A rehearsal works in the folder itself instead of a copy.",
      page: "rehearsals.md#the-folder-it-works-in",
      flag: "--in-place",
      on: ["run", "serve", "host"],
    },
    record: {
      kind: kind.filled,
      help: "The file to record this run in, as a rehearsal.",
      page: "rehearsals.md#recordings",
      flag: "--record <file>",
      on: ["run"],
    },
  }),
  ...inGroup("Output", {
    outputDir: {
      kind: kind.filled,
      help: "The folder for everything that a run leaves: `journal.jsonl`, `report.html`, `findings.sarif`, `junit.xml`, `run.json`, `report.md`, `index.md`, the reports of tasks, a `.log` file for each command of the entry, and `steps/` with a page for each step of a workflow.",
      without: { action: "a folder of this step in the runner's temporary folder" },
      risk: "it contains what the agent read.",
      page: "entry-format.md#data-between-tasks",
      flag: "--output-dir <dir>",
      on: ["run", "action"],
    },
    journal: {
      kind: kind.filled,
      help: "The file for the journal: every event, as JSON lines.",
      without: { cli: "`journal.jsonl` in `--output-dir`" },
      page: "journal.md",
      flag: "--journal <file>",
      on: ["run", "job", "workflow"],
    },
    ...viewFiles,
    otlp: {
      kind: kind.collector,
      help: "Sends a trace and metrics to this OTLP collector.",
      without: { cli: "OTEL_EXPORTER_OTLP_ENDPOINT" },
      page: "telemetry.md",
      flag: "--otlp <url>",
      on: ["run", "serve", "host"],
    },
    chart: {
      kind: kind.flag,
      help: "Prints a Mermaid chart of what ran.",
      flag: "--chart",
      on: ["run"],
    },
    quiet: {
      kind: kind.flag,
      help: "Prints only failures, warnings and the end.",
      flag: "--quiet",
      conflicts: "verbose",
      on: ["run"],
    },
    verbose: {
      kind: kind.flag,
      help: "Also prints sessions, tool calls and messages.",
      flag: "--verbose",
      on: ["run"],
    },
  }),
  history: {
    kind: kind.filled,
    help: "The folder for a Markdown file of each step of a workflow.",
    on: ["workflow"],
  },
  onMissing: {
    kind: kind.choice(["fail", "continue"]),
    help: "Whether the run fails if a shard is missing.",
    input: "If a shard is missing or unfinished: `fail`, or `continue` without its items.",
    without: { cli: "fail" },
    preset: "fail",
    flag: "--on-missing <what>",
    on: ["job"],
  },
} as const satisfies Rows;

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
  const rows: Rows = optionTable;
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
