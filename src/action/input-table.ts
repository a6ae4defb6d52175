/**
 * The inputs of the action: what `action.yml` declares, once more in code, because the runner is not the
 * only one who starts us and an empty input means its default too. A test holds the two against each other.
 */
export interface InputDeclaration {
  /** Markdown, one paragraph. */
  readonly description: string;
  /** As text, as the runner hands it over; empty where nothing is the default. */
  readonly default: string;
  readonly required?: true;
  /** All values that it may have; the first one is the default. */
  readonly values?: readonly string[];
}

export const permissionValues = ["read-only", "workspace", "all"] as const;
export const providerTypeValues = ["openai", "azure", "anthropic"] as const;
export const wireApiValues = ["completions", "responses"] as const;
export const summaryValues = ["full", "compact", "off"] as const;
export const annotationValues = ["all", "errors", "off"] as const;
export const failOnValues = ["failure", "never"] as const;
export const inPlaceValues = ["false", "true"] as const;
export const onRefusedValues = ["fail", "skip"] as const;
export const allowUntrustedValues = ["false", "true"] as const;

export const inputTable = {
  entry: {
    description:
      "The entry file: models, tasks and jobs. For an event that the repository does not trust, or where another commit than the event's own is checked out, it is read from a commit of the repository.",
    default: "",
    required: true,
  },
  job: {
    description: "The job to run. May be left out if the entry has just one.",
    default: "",
  },
  "user-input": {
    description:
      "What `$user-input` stands for in the prompts. It is data, not instructions: HTML comments, invisible characters and control characters are removed, and it is cut at 100000 characters. Risk: text of an issue or a pull request is written by whoever opened it.",
    default: "",
  },
  "user-input-file": {
    description:
      "A file that holds the user input, cleaned and cut in the same way. Not together with `user-input`.",
    default: "",
  },
  "working-directory": {
    description:
      "Where the agent works. Default: the workspace, or the folder that the rehearsal names.",
    default: "",
  },
  models: {
    description: "Other models for categories of the entry: one `category=id` a line.",
    default: "",
  },
  permissions: {
    description:
      "What the agent may do where the entry says nothing, and at most where it does: `read-only`, `workspace` or `all`. Default: the entry's, `read-only` where it has none. Risk: with `all` the agent runs any command, and on hosted runners every command can become root.",
    default: "",
  },
  "max-parallel": {
    description: "Turns at once, over the entry's `limits.parallel` (8).",
    default: "",
  },
  "github-token": {
    description:
      "Pays for the models, and asks GitHub who may start an agent. The built-in token needs `permissions: copilot-requests: write`; a fine-grained personal token needs “Copilot Requests” (then give the built-in one as the environment variable `GITHUB_TOKEN`, which is preferred for asking). Classic `ghp_` tokens do not work.",
    default: "${{ github.token }}",
  },
  "provider-type": {
    description: "The kind of your own model server: `openai`, `azure` or `anthropic`.",
    default: "openai",
    values: providerTypeValues,
  },
  "provider-base-url": {
    description:
      "The address of a model server of your own; no GitHub token pays for models then. Risk: that server sees the prompts and everything that the agent reads.",
    default: "",
  },
  "provider-api-key": {
    description: "The key of that server, from a secret.",
    default: "",
  },
  "provider-wire-api": {
    description: "The API that the server speaks: `completions` or `responses`.",
    default: "completions",
    values: wireApiValues,
  },
  "runtime-path": {
    description:
      "The Copilot runtime to use, also outside of the workspace. Default: the environment variable `COPILOT_CLI_PATH`, an installed package, the tool cache, or else it is installed. Risk: it is a program that we start.",
    default: "",
  },
  rehearse: {
    description:
      "A rehearsal file whose script plays the model: no token, no network, no cost. The tools that it calls are real. The step's result is the rehearsal's: a failure that it expects is a success.",
    default: "",
  },
  "in-place": {
    description:
      "Whether a rehearsal works in the workspace itself: `false` or `true`. With `false` it works in a copy where tools may change files, without what git ignores, and later steps find the workspace as it was.",
    default: "false",
    values: inPlaceValues,
  },
  record: {
    description:
      "Where to write a rehearsal of this run. Risk: it holds what the agent read; secrets that are known are removed.",
    default: "",
  },
  journal: {
    description:
      "Where to write the journal: every event, as lines of JSON. Default: none is written. Risk: it holds what the agent read; secrets that are known are removed.",
    default: "",
  },
  summary: {
    description: "The job summary: `full`, `compact` or `off`.",
    default: "full",
    values: summaryValues,
  },
  annotations: {
    description: "Which annotations are made: `all`, `errors` or `off`.",
    default: "all",
    values: annotationValues,
  },
  "fail-on": {
    description:
      "Whether the step fails when the job does: `failure` or `never`. Wrong inputs and an invalid entry always fail it; for an event that is refused see `on-refused`.",
    default: "failure",
    values: failOnValues,
  },
  "allowed-bots": {
    description:
      "Bots that may start an agent, one login a line, such as `dependabot[bot]`; no wildcard. Risk: whoever makes such a bot act starts the agent.",
    default: "",
  },
  "allowed-users": {
    description:
      "People who may start an agent without write access to the repository, one login a line. Risk: a login that its owner gives up can be taken by somebody else.",
    default: "",
  },
  "on-refused": {
    description:
      "What a refused event does to the step: `fail` or `skip` (a notice, `result: skipped`). Default: `fail` for what somebody tried to start by hand or with a comment, and for what could not be checked; `skip` for bots, and for events of people without write access that come by themselves. A fork's pull request is always skipped.",
    default: "",
  },
  "allow-untrusted": {
    description:
      "Whether people without write access, forks and bots that are not listed may start an agent: `false` or `true`. Risk: strangers then spend your tokens and steer an agent that runs in your job; the entry comes from the base branch, all else from whatever was checked out.",
    default: "false",
    values: allowUntrustedValues,
  },
  "timeout-minutes": {
    description: "The limit of the whole job, over the entry's `limits.jobMinutes` (60).",
    default: "",
  },
} as const satisfies Readonly<Record<string, InputDeclaration>>;

export type InputName = keyof typeof inputTable;
export const inputNames = Object.keys(inputTable).filter(isInputName);

export function isInputName(name: string): name is InputName {
  return Object.hasOwn(inputTable, name);
}

/** The name of the environment variable in which the runner hands an input over: hyphens stay. */
export function inputVariable(name: InputName): string {
  return `INPUT_${name.replaceAll(" ", "_").toUpperCase()}`;
}
