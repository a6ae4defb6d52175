/** The inputs of the action. This is the only file of the room that reads the environment. */
import { tmpdir } from "node:os";
import {
  choice,
  count,
  flag,
  linesOf,
  logins,
  paths,
  shard,
  text,
  word,
  type Flag,
  type Kind,
  type Repeated,
} from "../run/option-kinds.ts";
import { kebab, optionsOn, optionTable, type Option, type Value } from "../run/option-table.ts";
import type { WriteName } from "../run/options.ts";
import { readProvider } from "../run/options-provider.ts";
import { isText } from "../text/guards.ts";
import { truncate } from "../text/truncate.ts";
import { parseCentral } from "../github/commit-files.ts";
import { Stop } from "./stop.ts";

export const asInput: WriteName = (name) => `\`${name}\``;

export type Environment = Readonly<Record<string, string | undefined>>;

export function readEnvironment(): Environment {
  return process.env;
}

export const AUTO = "auto";

/** Whether `act` plays the runner. An earlier step could claim it: only texts may depend on it. */
export function isAct({ ACT }: Environment): boolean {
  return ACT === "true";
}

export const inputTable = {
  mode: {
    kind: choice(["run", "plan", "merge", "deliver"]),
    help: "`run` runs the job, or a `shard` of it. `plan` splits it for a matrix, and `merge` combines the shards into one run. `deliver` starts no agent: it publishes what the journal of an earlier job contains, as far as `outputs` of the entry of the base allows.",
    preset: "run",
  },
  entry: {
    kind: text,
    help: "The entry file, or a workflow (`*.wf.md`). It is read from the commit of the event, with every file that a workflow calls, includes or names with `file:`. Or `owner/repo/path@SHA`: one of another repository, at a full commit SHA. Required, unless `rehearse` names several rehearsals.",
  },
  entryToken: {
    kind: text,
    help: "Reads an entry of another repository: `contents: read` there. Default: the step's token.",
  },
  deliveryToken: {
    kind: text,
    help: "Writes on GitHub what the job publishes, and does nothing else: the token of a GitHub App, so that checks start on what is pushed or opened. Default: the step's token.",
  },
  job: {
    kind: text,
    help: "The job to run. May be omitted if the entry has only one.",
  },
  shards: {
    kind: count,
    help: "With `mode: plan`: the number of shards, at most 256. There are never more shards than items.",
  },
  shard: {
    kind: shard,
    help: "The part of the job to run, such as `1/3`. `journals` must name the journal of the plan.",
  },
  journals: {
    kind: paths,
    help: "Journals, or folders with `*.jsonl` files, one per line. With `mode: merge`: the plan and its shards. With `shard`: the plan.",
    risk: "they decide what counts as done.",
  },
  onMissing: {
    kind: choice(["fail", "continue"]),
    help: "With `mode: merge`, if a shard is missing or unfinished: `fail`, or `continue` without its items.",
    preset: "fail",
  },
  staged: {
    kind: flag,
    help: "`true` shows everything that would be written on GitHub, but writes nothing; `false` publishes it.",
  },
  fromJournal: {
    kind: text,
    help: "With `mode: deliver`: the journal to deliver.",
  },
  journalDigest: {
    kind: text,
    help: "With `mode: deliver`: the output `journal-digest` of the job that wrote the journal. Required within one workflow run.",
  },
  leg: {
    kind: text,
    help: "The name of this leg of a matrix. Default: a digest of the matrix, the runner, and the inputs that configure the run.",
    expression: "${{ toJSON(matrix) }}",
  },
  githubToken: {
    kind: text,
    help: "Pays for the models, and is used to check who triggered the event; with `mode: deliver`, writes on GitHub. The built-in token requires `permissions: copilot-requests: write`. A fine-grained personal token requires “Copilot Requests”, and the built-in token in the environment variable `GITHUB_TOKEN`.",
    expression: "${{ github.token }}",
  },
  summary: {
    kind: choice(["full", "compact", "off"]),
    help: "The job summary.",
    preset: "full",
  },
  annotations: {
    kind: choice(["all", "errors", "off"]),
    help: "The annotations.",
    preset: "all",
  },
  failOn: {
    kind: choice(["failure", "refused", "never"]),
    help: "`failure`: the step fails if the job fails, or if its verdict or a finding reaches `failOn` of the entry's `outputs`. `refused`: also if a delivery is refused. `never`: only wrong inputs and an invalid entry fail the step.",
    preset: "failure",
  },
  allowedBots: {
    kind: logins(/^[A-Za-z0-9][A-Za-z0-9_-]*(\[bot\])?$/, "dependabot[bot]"),
    help: "Bots that may start an agent, one login per line, such as `dependabot[bot]`.",
    risk: "whoever can make such a bot act can start the agent.",
  },
  allowedUsers: {
    kind: logins(/^[A-Za-z0-9][A-Za-z0-9_-]*$/, "octocat"),
    help: "Users without write access who may start an agent, one login per line.",
    risk: "if a user gives up a login, somebody else can register it.",
  },
  onCommand: {
    kind: word,
    help: "On `issue_comment`: runs only for this command, such as `/review`. The rest of its line, if there is one, is `$user-input`. The comment gets 👀, which needs `issues: write` or `pull-requests: write`.",
  },
  onRefused: {
    kind: choice(["fail", "skip"]),
    help: "What happens if an event is refused: `fail`, or `skip` (a notice, and `result: skipped`). Default: `fail` if a user started the job by hand or with a comment, or if trust can't be verified; else `skip`. Pull requests from forks are always skipped.",
  },
  allowUntrusted: {
    kind: flag,
    help: "`true`: users without write access, forks and unlisted bots may start an agent; `false`: they may not.",
    risk: "strangers spend your tokens and instruct an agent that runs in your job.",
  },
  ...optionsOn("action"),
} as const satisfies Readonly<Record<string, Option>>;

type Rows = typeof inputTable;

type RawInputs = {
  readonly [Name in keyof Rows]: Rows[Name] extends { readonly kind: Flag }
    ? boolean
    : Rows[Name] extends { readonly kind: Repeated<infer T> }
      ? T
      : Rows[Name] extends { readonly preset: string }
        ? Value<Rows[Name]>
        : Value<Rows[Name]> | undefined;
};

export function inputVariable(name: string): string {
  return `INPUT_${name.replaceAll(" ", "_").toUpperCase()}`;
}

export type Inputs = ReturnType<typeof settled>;

export interface ReadInputs {
  /** With problems: the defaults in place of what is wrong, so that valid inputs about reports apply. */
  readonly inputs: Inputs;
  readonly problems: readonly string[];
}

export function readInputs(environment: Environment): ReadInputs {
  const problems: string[] = [];
  const inputs = settled(rawInputs(environment, problems), environment, problems);
  const need = (isWrong: boolean, problem: string): void =>
    void (isWrong && problems.push(problem));
  const { mode, shard: part, shards, journals, journal, resume, central, record } = inputs;
  const isLeg = part !== undefined;
  need(
    inputs.userInput !== undefined && inputs.userInputFile !== undefined,
    "`user-input` and `user-input-file` can't be used together.",
  );
  need(
    (mode === "deliver") !== (inputs.fromJournal !== undefined),
    "`mode: deliver` and `from-journal` need each other.",
  );
  need(
    central !== undefined && record !== undefined,
    "`record` can't be used with an entry of another repository: a recording names the file of its entry. Record the run in a checkout of that repository.",
  );
  need((mode === "plan") !== (shards !== undefined), "`mode: plan` and `shards` need each other.");
  need(mode === "plan" && journal === undefined, "`mode: plan` requires `journal`.");
  need(isLeg && mode !== "run", "`shard` can only be used with `mode: run`.");
  need(
    (isLeg || mode === "merge") && journals.length === 0,
    "`shard` and `mode: merge` require `journals`.",
  );
  need(
    !isLeg && mode !== "merge" && journals.length > 0,
    "`journals` can only be used with `shard` or `mode: merge`.",
  );
  need(mode === "merge" && resume !== undefined, "`mode: merge` can't be used with `resume`.");
  need(
    isLeg && resume !== undefined && resume !== AUTO,
    "With `shard`, `resume` can only be `auto`: `journals` names the plan.",
  );
  return { inputs, problems };
}

function rawInputs(environment: Environment, problems: string[]): RawInputs;
function rawInputs(
  environment: Environment,
  problems: string[],
): Readonly<Record<string, unknown>> {
  const rows: Readonly<Record<string, Option>> = inputTable;
  return Object.fromEntries(
    Object.entries(rows).map(([field, { kind, preset, env = "" }]) => {
      const name = kebab(field);
      const given = [environment[inputVariable(name)], environment[env], preset]
        .map(present)
        .find((one) => one !== undefined);
      const { value, wrong } = readInput(kind, given);
      problems.push(...wrong.map((problem) => `${asInput(name)}${problem}.`));
      return [field, value ?? (preset && readInput(kind, preset).value)];
    }),
  );
}

/** A line may be the text of an event. */
const MAX_QUOTED = 100;

const yesOrNo = choice(["false", "true"]);

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
  const isFlag = kind.isFlag === true;
  const read = given === undefined ? undefined : (isFlag ? yesOrNo : kind).parse(given);
  if (read?.kind === "wrong") wrong.push(` ${read.problem}`);
  const value = read?.kind === "value" ? read.value : undefined;
  return { value: isFlag ? value === "true" : value, wrong };
}

function settled(raw: RawInputs, environment: Environment, problems: string[]) {
  const { providerBaseUrl: baseUrl, providerApiKey: apiKey } = raw;
  const { providerTokenCommand } = raw;
  const { providerType: type, providerWireApi: wireApi, rehearse = "", ...others } = raw;
  const given = (name: string): string | undefined => present(environment[inputVariable(name)]);
  // A key of the environment may be there for other steps.
  const hasServer = baseUrl !== undefined;
  const { provider, problems: wrong } = readProvider(
    {
      baseUrl,
      apiKey: hasServer ? apiKey : given("provider-api-key"),
      tokenCommand: hasServer ? providerTokenCommand : given("provider-token-command"),
      type,
      wireApi,
    },
    asInput,
    // A relative path in the command names no file of the checkout.
    { folder: environment["RUNNER_TEMP"] || tmpdir(), environment },
  );
  const central = raw.entry === undefined ? undefined : parseCentral(raw.entry);
  problems.push(...wrong);
  const jobs = [raw.entry, raw.prompt, raw.promptFile].filter((one) => one !== undefined);
  const isPrompt = (raw.prompt ?? raw.promptFile) !== undefined;
  const { rehearsals, ...rehearsal } = rehearsalsIn(rehearse);
  if (jobs.length === 0 && rehearsals.length === 0)
    problems.push("One of `entry`, `prompt` and `prompt-file` is required.");
  if (jobs.length > 1)
    problems.push("Only one of `entry`, `prompt` and `prompt-file` can be used.");
  if (central?.kind === "wrong") problems.push(`\`entry\` ${central.problem}.`);
  return {
    ...others,
    ...rehearsal,
    rehearsals,
    /** For a prompt that is no file, only a name: the workflow that has it. */
    entry: raw.entry ?? raw.promptFile ?? (raw.prompt === undefined ? "" : workflowOf(environment)),
    job: raw.job ?? (isPrompt ? present(environment["GITHUB_JOB"]) : undefined),
    /** The entry, if it is one of another repository. */
    central: central?.kind === "value" ? central.value : undefined,
    provider,
    gitHubToken: raw.githubToken ?? present(environment["GITHUB_TOKEN"]),
  };
}

/** `GITHUB_WORKFLOW_REF` is `owner/repo/.github/workflows/review.yml@ref`. */
function workflowOf({ GITHUB_WORKFLOW_REF: ref = "" }: Environment): string {
  return /^[^/]+\/[^/]+\/(.+?)@/.exec(ref)?.[1] ?? "prompt";
}

/** One file plays the model of a run; several, or a glob, are run as tests. */
function rehearsalsIn(given: string): {
  readonly rehearse: string | undefined;
  readonly rehearsals: readonly string[];
} {
  const lines = linesOf(given);
  const [first, ...others] = lines;
  return first === undefined || (others.length === 0 && !/[*?[{]/.test(first))
    ? { rehearse: first, rehearsals: [] }
    : { rehearse: undefined, rehearsals: lines };
}

/** Every value among the inputs and beside them that the runner has to mask, whether it is used or not. */
export function secretInputs(environment: Environment): readonly string[] {
  const inputs = Object.keys(inputTable).map(kebab);
  const secrets = inputs.filter((name) => /-(?:token|key)$/.test(name)).map(inputVariable);
  return [...secrets, "GITHUB_TOKEN", optionTable.providerApiKey.env]
    .map((name) => present(environment[name]))
    .filter((value) => value !== undefined);
}

function present(value: string | undefined): string | undefined {
  const trimmed = value?.trim() ?? "";
  return trimmed === "" ? undefined : trimmed;
}

/** How the models are reached, without any part of the key. Throws a `Stop` if there is no key for them. */
export function modelAccess(
  { rehearse, provider, gitHubToken }: Pick<Inputs, "rehearse" | "provider" | "gitHubToken">,
  environment: Environment,
): string {
  if (rehearse !== undefined) return "played by the rehearsal, without a token";
  if (provider !== undefined) {
    const { apiKey } = provider;
    const input = asInput(`provider-${isText(apiKey) ? "api-key" : "token-command"}`);
    const key = apiKey === undefined ? "without a key" : `with ${input}`;
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
    ? "There is no token for the models: act has no built-in one. Pass a token with the permission “Copilot Requests” (`act -s GITHUB_TOKEN=…`), use your own model server (`provider-base-url`), or set `rehearse`."
    : `There is no token for the models: \`github-token\` is empty, because its secret isn't set or isn't passed to this event. Set the secret, ${otherWays}.`;
}

const otherWays =
  "or omit `github-token` and add `permissions: { contents: read, copilot-requests: write }` to the job, or use your own model server (`provider-base-url`)";
