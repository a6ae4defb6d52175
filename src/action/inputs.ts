/** The inputs of the actions. This is the only file of the room that reads the environment. */
import { named, type Named } from "../run/option-assignments.ts";
import {
  choice,
  count,
  flag,
  limits,
  logins,
  paths,
  shard,
  text,
  type Flag,
  type Kind,
  type Repeated,
} from "../run/option-kinds.ts";
import { kebab, optionsOn, optionTable, type Option, type Value } from "../run/option-table.ts";
import type { WriteName } from "../run/options.ts";
import { readProvider } from "../run/options-provider.ts";
import { isWorkflowFile } from "../run/workflow-files.ts";
import { truncate } from "../text/truncate.ts";
import { parseCentral } from "../github/commit-files.ts";
import { Stop } from "./stop.ts";

/** Options of a run that are other inputs here, or variables of the environment. */
const otherNames: Readonly<Record<string, string>> = {
  answer: "inputs",
  input: "inputs",
  param: "inputs",
  "provider-type": "AGENT_JOBS_PROVIDER_TYPE",
  "provider-wire-api": "AGENT_JOBS_PROVIDER_WIRE_API",
  "runtime-path": "AGENT_JOBS_RUNTIME_PATH",
};

export const asInput: WriteName = (name) =>
  `\`${Object.hasOwn(otherNames, name) ? otherNames[name] : name}\``;

type Rows = Readonly<Record<string, Option>>;

export type Environment = Readonly<Record<string, string | undefined>>;

export function readEnvironment(): Environment {
  return process.env;
}

export const AUTO = "auto";

/** Whether `act` plays the runner. An earlier step could claim it: only texts may depend on it. */
export function isAct({ ACT }: Environment): boolean {
  return ACT === "true";
}

/** Options of a run that are no inputs: few workflows need them. */
const { providerType, providerWireApi, runtimePath } = optionTable;
const variables = { providerType, providerWireApi, runtimePath };

const runInputs = {
  entry: {
    kind: text,
    help: "The entry file, or a workflow (`*.wf.md`). It is read from the commit of the event, with every file that it names. Or `owner/repo/path@SHA`: one of another repository, at a full commit SHA.",
  },
  job: {
    kind: text,
    help: "The job to run. May be omitted if the entry has only one.",
  },
  ...optionsOn("action"),
  limits: {
    kind: limits,
    help: "`limits` as in an entry, as YAML or JSON, such as `{ jobMinutes: 20 }`. They override those of the entry.",
  },
  shard: {
    kind: shard,
    help: "The part of the job to run, such as `1/3`. `resume` must name the journal of the plan.",
  },
  leg: {
    kind: text,
    help: "The name of this leg of a matrix. Default: a digest of the matrix, the runner, and the inputs that configure the run.",
    expression: "${{ toJSON(matrix) }}",
  },
  allowedUsers: {
    kind: logins(/^(?:\*|[A-Za-z0-9][A-Za-z0-9_-]*(?:\[bot\])?)$/, "octocat or dependabot[bot]"),
    help: "Who may start an agent besides users with write access, one login per line: users, bots (`dependabot[bot]`), or `*` for everybody, including authors of pull requests from forks.",
    risk: "a listed bot acts for whoever can make it act, and anybody can register a login that was given up. With `*`, strangers spend your tokens and instruct an agent that runs in your job.",
  },
  githubToken: {
    kind: text,
    help: "Pays for the models, and is used to check who triggered the event and to write on GitHub. The built-in token requires `permissions: copilot-requests: write` for models. A fine-grained personal token requires “Copilot Requests”, and the built-in token in the environment variable `GITHUB_TOKEN`.",
    expression: "${{ github.token }}",
  },
  entryToken: {
    kind: text,
    help: "Reads an entry of another repository: `contents: read` there. Default: the step's token.",
  },
  staged: {
    kind: flag,
    help: "`true` shows everything that would be written on GitHub, but writes nothing; `false` publishes it.",
  },
  summary: {
    kind: choice(["full", "compact", "off"]),
    help: "The job summary.",
    preset: "full",
  },
  failOn: {
    kind: choice(["failure", "refused", "never"]),
    help: "`failure`: the step fails if the job fails, or if its verdict or a finding reaches `failOn` of the entry's `outputs`. `refused`: also if a delivery is refused. `never`: only wrong inputs and an invalid entry fail the step.",
    preset: "failure",
  },
} as const satisfies Rows;

const sisterInputs = {
  shards: {
    kind: count,
    help: "The number of shards, at most 256. There are never more shards than items.",
  },
  journals: {
    kind: paths,
    help: "The journals of the plan and its shards, or folders with `*.jsonl` files, one per line.",
    risk: "they decide what counts as done.",
  },
  onMissing: {
    kind: choice(["fail", "continue"]),
    help: "If a shard is missing or unfinished: `fail`, or `continue` without its items.",
    preset: "fail",
  },
  journal: {
    kind: text,
    help: "The journal to deliver, or a folder with it.",
  },
  journalDigest: {
    kind: text,
    help: "The output `journal-digest` of the job that wrote the journal. Required within one workflow run.",
  },
  files: {
    kind: paths,
    help: "Rehearsals, folders or globs, one per line. A single file shows its run as that of a job. Default: all `*.rehearsal.yml` that git doesn't ignore.",
  },
} as const satisfies Rows;

export const inputTable = { ...runInputs, ...sisterInputs } as const;

type Field = keyof typeof inputTable;

/** The actions, with their inputs. */
export const inputsOf = {
  run: Object.keys(runInputs),
  plan: [
    "shards",
    "entry",
    "job",
    "inputs",
    "userInput",
    "workingDirectory",
    "base",
    "env",
    "models",
    "permissions",
    "limits",
    "leg",
    "allowedUsers",
    "githubToken",
    "entryToken",
  ],
  merge: [
    "journals",
    "onMissing",
    "entry",
    "inputs",
    "userInput",
    "workingDirectory",
    "base",
    "env",
    "models",
    "permissions",
    "limits",
    "leg",
    "allowedUsers",
    "githubToken",
    "entryToken",
  ],
  deliver: [
    "journal",
    "journalDigest",
    "entry",
    "job",
    "staged",
    "githubToken",
    "entryToken",
    "summary",
    "failOn",
  ],
  rehearse: ["files", "workingDirectory", "env", "sandbox", "outputDir", "summary", "failOn"],
} as const satisfies Readonly<Record<string, readonly Field[] | readonly string[]>>;

export type Mode = keyof typeof inputsOf;

type Table = typeof inputTable & typeof variables;

type RawInputs = Omit<
  {
    readonly [Name in keyof Table]: Table[Name] extends { readonly kind: Flag }
      ? boolean
      : Table[Name] extends { readonly kind: Repeated<infer T> }
        ? T
        : Table[Name] extends { readonly preset: string }
          ? Value<Table[Name]>
          : Value<Table[Name]> | undefined;
  },
  "inputs"
> & { readonly inputs: Named };

export function inputVariable(name: string): string {
  return `INPUT_${name.replaceAll(" ", "_").toUpperCase()}`;
}

export type Inputs = ReturnType<typeof settled>;

export interface ReadInputs {
  /** With problems: the defaults in place of what is wrong, so that valid inputs about reports apply. */
  readonly inputs: Inputs;
  readonly problems: readonly string[];
}

export function readInputs(mode: Mode, environment: Environment): ReadInputs {
  const problems: string[] = [];
  const inputs = settled(mode, rawInputs(mode, environment, problems), environment, problems);
  const need = (isWrong: boolean, problem: string): void =>
    void (isWrong && problems.push(problem));
  const { entry, prompt, promptFile, userInput, userInputFile, resume } = inputs;
  const isRun = mode === "run";
  const jobs = [entry === "" ? undefined : entry, prompt, promptFile];
  const given = jobs.filter((one) => one !== undefined).length;
  const ways = isRun
    ? "One of the inputs `entry`, `prompt` and `prompt-file`"
    : "The input `entry`";
  need(mode !== "rehearse" && given === 0, `${ways} is required.`);
  need(given > 1, "Only one of `entry`, `prompt` and `prompt-file` can be used.");
  need(
    userInput !== undefined && userInputFile !== undefined,
    "`user-input` and `user-input-file` can't be used together.",
  );
  need(
    isRun && inputs.shard !== undefined && (resume === undefined || resume === AUTO),
    "`shard` requires `resume` with the journal of the plan.",
  );
  need(mode === "plan" && inputs.shards === undefined, "The input `shards` is required.");
  need(mode === "merge" && inputs.journals.length === 0, "The input `journals` is required.");
  need(mode === "deliver" && inputs.journal === undefined, "The input `journal` is required.");
  return { inputs, problems };
}

/** `model` for `models`: an input has one value, or a line for each. */
export function inputName(field: string, { name = field }: Pick<Option, "name"> = {}): string {
  return kebab(name);
}

function rawInputs(mode: Mode, environment: Environment, problems: string[]): RawInputs;
function rawInputs(
  mode: Mode,
  environment: Environment,
  problems: string[],
): Readonly<Record<string, unknown>> {
  const rows: Rows = { ...inputTable, ...variables };
  const declared: readonly string[] = inputsOf[mode];
  const isWorkflow = isWorkflowFile((environment["INPUT_ENTRY"] ?? "").trim().replace(/@\w+$/, ""));
  return Object.fromEntries(
    Object.entries(rows).map(([field, row]) => {
      const name = inputName(field, row);
      const kind = field === "inputs" ? named(isWorkflow) : row.kind;
      const input = declared.includes(field) ? environment[inputVariable(name)] : undefined;
      const given = present(input) ?? present(environment[row.env ?? ""]) ?? present(row.preset);
      const { value, wrong } = readInput(kind, given);
      problems.push(...wrong.map((problem) => `${asInput(name)}${problem}.`));
      return [field, value ?? (row.preset && readInput(kind, row.preset).value)];
    }),
  );
}

/** A line may be the text of an event. */
const MAX_QUOTED = 100;

/** Those of `getBooleanInput` of the toolkit. */
const booleans: ReadonlyMap<string, boolean> = new Map(
  [true, false].flatMap((value) =>
    [String(value), value ? "True" : "False", String(value).toUpperCase()].map(
      (word) => [word, value] as const,
    ),
  ),
);

function readInput(
  kind: Kind<unknown>,
  given: string | undefined,
): { readonly value: unknown; readonly wrong: readonly string[] } {
  const wrong: string[] = [];
  if (kind.several !== undefined) {
    let value = kind.several.none;
    for (const one of given === undefined ? [] : kind.several.lines(given)) {
      const read = one.add(value);
      const line = JSON.stringify(truncate(one.line, MAX_QUOTED, "…"));
      if (read.kind === "value") ({ value } = read);
      else wrong.push(`: the line ${line} ${read.problem}`);
    }
    return { value, wrong };
  }
  if (kind.isFlag === true) {
    const value = booleans.get(given ?? "false");
    return value === undefined
      ? { value: false, wrong: [` must be true or false, not ${JSON.stringify(given)}`] }
      : { value, wrong };
  }
  const read = given === undefined ? undefined : kind.parse(given);
  if (read?.kind === "wrong") wrong.push(` ${read.problem}`);
  return { value: read?.kind === "value" ? read.value : undefined, wrong };
}

function settled(mode: Mode, raw: RawInputs, environment: Environment, problems: string[]) {
  const { providerBaseUrl: baseUrl, providerApiKey: apiKey } = raw;
  const { providerType: type, providerWireApi: wireApi, inputs: given, ...others } = raw;
  const { provider, problems: wrong } = readProvider({ baseUrl, apiKey, type, wireApi }, asInput);
  const central = raw.entry === undefined ? undefined : parseCentral(raw.entry);
  problems.push(...wrong);
  if (central?.kind === "wrong") problems.push(`\`entry\` ${central.problem}.`);
  return {
    ...others,
    ...given,
    mode,
    entry: raw.entry ?? "",
    /** The entry, if it is one of another repository. */
    central: central?.kind === "value" ? central.value : undefined,
    provider,
    gitHubToken: raw.githubToken ?? present(environment["GITHUB_TOKEN"]),
  };
}

/** Every value among the inputs and beside them that the runner has to mask, whether it is used or not. */
export function secretInputs(environment: Environment): readonly string[] {
  const inputs = ["github-token", "entry-token", "provider-api-key"];
  return [...inputs.map(inputVariable), "GITHUB_TOKEN", "AGENT_JOBS_PROVIDER_API_KEY"]
    .map((name) => present(environment[name]))
    .filter((value) => value !== undefined);
}

function present(value: string | undefined): string | undefined {
  const trimmed = value?.trim() ?? "";
  return trimmed === "" ? undefined : trimmed;
}

/** How the models are reached, without any part of the key. Throws a `Stop` if there is no key for them. */
export function modelAccess(
  { mode, provider, gitHubToken }: Pick<Inputs, "mode" | "provider" | "gitHubToken">,
  environment: Environment,
): string {
  if (mode === "rehearse") return "played by the rehearsal, without a token";
  if (provider !== undefined) {
    const key = provider.apiKey === undefined ? "without a key" : "with `provider-api-key`";
    const where = new URL(provider.baseUrl).origin;
    return `your own server ${where} (${provider.type ?? "openai"}), ${key} and without a GitHub token`;
  }
  if (gitHubToken === undefined) throw new Stop("failure", [withoutToken(environment)]);
  if (gitHubToken.startsWith("ghp_")) {
    throw new Stop("failure", [
      `\`github-token\` is a classic personal token (ghp_…), which doesn't work with GitHub Copilot. Use a fine-grained one with the permission “Copilot Requests”, ${otherWays}.`,
    ]);
  }
  return gitHubToken.startsWith("ghs_")
    ? "GitHub Copilot, with an installation token (ghs_…), which requires `permissions: copilot-requests: write`"
    : "GitHub Copilot";
}

/** The built-in token is the default, and on GitHub it is never empty. */
function withoutToken(environment: Environment): string {
  return isAct(environment)
    ? "There is no token for the models: act has no built-in one. Pass a token with the permission “Copilot Requests” (`act -s GITHUB_TOKEN=…`), use your own model server (`provider-base-url`), or rehearse the job (`org/agent-jobs/rehearse`)."
    : `There is no token for the models: \`github-token\` is empty, because its secret isn't set or isn't passed to this event. Set the secret, ${otherWays}.`;
}

const otherWays =
  "or omit `github-token` and add `permissions: { contents: read, copilot-requests: write }` to the job, or use your own model server (`provider-base-url`)";
