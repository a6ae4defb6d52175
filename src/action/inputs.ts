/** The only file of this room that reads the environment. Paths are checked in `preparation.ts`. */
import {
  addAnswer,
  addInput,
  addParam,
  parseChoice,
  parseEnvName,
  parseModel,
  parseNumber,
  parseShard,
  readAssignments,
  readObject,
  type Answers,
  type Assignment,
  type Inputs as EntryInputs,
  type Models,
  type Params,
  type Parsed,
  type WriteName,
} from "../run/options.ts";
import {
  providerTypes,
  readProvider,
  wireApis,
  type ProviderOptions,
} from "../run/options-provider.ts";
import { permissionPresets, sandboxModes } from "../entry/model.ts";
import { inputDefaults } from "../generated/action-manifest.ts";
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

/** Names and defaults come from `action.yml`: the action can be started without a runner, and an empty input means its default. */
export { inputDefaults };
export type InputName = keyof typeof inputDefaults;

/** Inputs that allow just these values; where the default isn't empty, it is the first one. */
export const inputValues = {
  permissions: permissionPresets,
  sandbox: sandboxModes,
  "provider-type": providerTypes,
  "provider-wire-api": wireApis,
  rerun: ["false", "true"],
  "in-place": ["false", "true"],
  summary: ["full", "compact", "off"],
  annotations: ["all", "errors", "off"],
  "fail-on": ["failure", "refused", "never"],
  mode: ["run", "plan", "merge", "deliver"],
  "on-missing": ["fail", "continue"],
  staged: ["false", "true"],
  "on-refused": ["fail", "skip"],
  "allow-untrusted": ["false", "true"],
} as const satisfies {
  readonly [Name in InputName]?: (typeof inputDefaults)[Name] extends ""
    ? readonly string[]
    : readonly [(typeof inputDefaults)[Name], ...string[]];
};

export function inputVariable(name: InputName): string {
  return `INPUT_${name.replaceAll(" ", "_").toUpperCase()}`;
}

function inputsFrom(read: Reader, environment: Environment) {
  return {
    mode: read.choice("mode", inputValues.mode),
    staged: read.choice("staged", inputValues.staged) === "true",
    shards: read.number("shards", "a whole number"),
    shard: read.parsed("shard", parseShard),
    journals: read.lines("journals"),
    onMissing: read.choice("on-missing", inputValues["on-missing"]),
    fromJournal: read.text("from-journal"),
    journalDigest: read.text("journal-digest"),
    entry: read.text("entry") ?? "",
    central: read.parsed("entry", parseCentral),
    entryToken: read.text("entry-token"),
    job: read.text("job"),
    userInput: read.text("user-input"),
    userInputFile: read.text("user-input-file"),
    base: read.text("base"),
    leg: read.text("leg"),
    inputs: read.assignments<EntryInputs>("inputs", "topic=security", {}, addInput),
    // As they were given, to be cleaned.
    params: read.assignments<Params>("params", "BRANCH=main", {}, addParam),
    answers: read.assignments<Answers>("answers", "ASK_NAME=yes", {}, addAnswer),
    env: read.each<readonly string[]>("env", [], parseEnvName),
    outputDir: read.text("output-dir"),
    history: read.text("history"),
    resume: read.text("resume"),
    rerun: read.choice("rerun", inputValues.rerun) === "true",
    workingDirectory: read.text("working-directory"),
    models: read.each<Models>("models", {}, parseModel),
    permissions: read.optional("permissions", inputValues.permissions),
    sandbox: read.optional("sandbox", inputValues.sandbox),
    maxParallel: read.number("max-parallel", "a whole number"),
    gitHubToken: gitHubToken(environment),
    provider: read.provider(),
    runtimePath: read.text("runtime-path"),
    ...read.rehearsals(),
    inPlace: read.choice("in-place", inputValues["in-place"]) === "true",
    record: read.text("record"),
    journal: read.text("journal"),
    htmlReport: read.text("html-report"),
    sarif: read.text("sarif"),
    junit: read.text("junit"),
    summary: read.choice("summary", inputValues.summary),
    annotations: read.choice("annotations", inputValues.annotations),
    failOn: read.choice("fail-on", inputValues["fail-on"]),
    allowedBots: read.logins(
      "allowed-bots",
      /^[A-Za-z0-9][A-Za-z0-9_-]*(\[bot\])?$/,
      "dependabot[bot]",
    ),
    allowedUsers: read.logins("allowed-users", /^[A-Za-z0-9][A-Za-z0-9_-]*$/, "octocat"),
    // Undefined: by what was refused.
    onRefused: read.optional("on-refused", inputValues["on-refused"]),
    allowUntrusted: read.choice("allow-untrusted", inputValues["allow-untrusted"]) === "true",
    timeoutMinutes: read.number("timeout-minutes", "a number"),
  } as const;
}

export type Inputs = Readonly<ReturnType<typeof inputsFrom>>;

export interface ReadInputs {
  /** With problems: the defaults in place of what is wrong, so that what is right about reports is heeded. */
  readonly inputs: Inputs;
  readonly problems: readonly string[];
}

export function readInputs(environment: Environment): ReadInputs {
  const problems: string[] = [];
  const read = new Reader(environment, problems);
  if (read.text("entry") === undefined && read.rehearsals().rehearsals.length === 0)
    problems.push("The input `entry` is required.");
  if (read.text("user-input") !== undefined && read.text("user-input-file") !== undefined) {
    problems.push("`user-input` and `user-input-file` can't be used together.");
  }
  const isDelivery = read.text("mode") === "deliver";
  if (isDelivery !== (read.text("from-journal") !== undefined))
    problems.push("`mode: deliver` and `from-journal` need each other.");
  const inputs = inputsFrom(read, environment);
  if (inputs.central !== undefined && inputs.record !== undefined)
    problems.push(
      "`record` can't be used with an entry of another repository: a recording names the file of its entry. Record the run in a checkout of that repository.",
    );
  problems.push(...problemsOfPart(inputs));
  return { inputs, problems };
}

function problemsOfPart({ mode, shard, shards, journals, journal, resume }: Inputs): string[] {
  const problems: string[] = [];
  const need = (condition: boolean, problem: string): void => {
    if (condition) problems.push(problem);
  };
  const isLeg = shard !== undefined;
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
  return problems;
}

function gitHubToken(environment: Environment): string | undefined {
  return (
    present(environment[inputVariable("github-token")]) ?? present(environment["GITHUB_TOKEN"])
  );
}

/** Every value among the inputs and beside them that the runner has to mask, whether it is used or not. */
export function secretInputs(environment: Environment): readonly string[] {
  const inputs = ["github-token", "entry-token", "provider-api-key"] as const;
  return [...inputs.map(inputVariable), "GITHUB_TOKEN"]
    .map((name) => present(environment[name]))
    .filter((value) => value !== undefined);
}

function present(value: string | undefined): string | undefined {
  const trimmed = value?.trim() ?? "";
  return trimmed === "" ? undefined : trimmed;
}

/** A line may be the text of an event. */
const MAX_QUOTED = 100;

class Reader {
  readonly #environment: Environment;
  readonly #problems: string[];

  constructor(environment: Environment, problems: string[]) {
    this.#environment = environment;
    this.#problems = problems;
  }

  text(name: InputName): string | undefined {
    const preset = inputDefaults[name];
    // Only a runner evaluates a default that is an expression.
    const known = preset.startsWith("${{") ? "" : preset;
    return present(this.#environment[inputVariable(name)]) ?? present(known);
  }

  lines(name: InputName): string[] {
    return (this.text(name) ?? "")
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== "");
  }

  /** One file plays the model of a run; several, or a glob, are run as tests. */
  rehearsals(): { readonly rehearse: string | undefined; readonly rehearsals: readonly string[] } {
    const lines = this.lines("rehearse");
    const [first, ...others] = lines;
    return first === undefined || (others.length === 0 && !/[*?[{]/.test(first))
      ? { rehearse: first, rehearsals: [] }
      : { rehearse: undefined, rehearsals: lines };
  }

  choice<T extends string>(name: InputName, values: readonly [T, ...T[]]): T {
    return this.optional(name, values) ?? values[0];
  }

  optional<T extends string>(name: InputName, values: readonly T[]): T | undefined {
    return this.parsed(name, (text) => parseChoice(text, values));
  }

  number(name: InputName, kind: "a whole number" | "a number"): number | undefined {
    return this.parsed(name, (text) => parseNumber(text, kind));
  }

  parsed<T>(name: InputName, parse: (text: string) => Parsed<T>): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const parsed = parse(text);
    if (parsed.kind === "value") return parsed.value;
    this.#problems.push(`${asInput(name)} ${parsed.problem}.`);
    return undefined;
  }

  each<T>(name: InputName, none: T, add: (line: string, earlier: T) => Parsed<T>): T {
    return this.lines(name).reduce(
      (values, line) => this.#added(name, line, values, add(line, values)),
      none,
    );
  }

  assignments<T>(
    name: InputName,
    example: string,
    none: T,
    add: (assignment: Assignment, earlier: T) => Parsed<T>,
  ): T {
    const text = this.text(name) ?? "";
    const isObject = name === "inputs" && text.trimStart().startsWith("{");
    return (isObject ? readObject(text) : readAssignments(text, example)).reduce(
      (values, read) =>
        this.#added(
          name,
          read.line,
          values,
          read.kind === "wrong" ? read : add(read.value, values),
        ),
      none,
    );
  }

  #added<T>(name: InputName, line: string, earlier: T, parsed: Parsed<T>): T {
    if (parsed.kind === "value") return parsed.value;
    const quoted = JSON.stringify(truncate(line, MAX_QUOTED, "…"));
    this.#problems.push(`${asInput(name)}: the line ${quoted} ${parsed.problem}.`);
    return earlier;
  }

  logins(name: InputName, form: RegExp, example: string): readonly string[] {
    const logins = this.lines(name);
    for (const login of logins) {
      if (form.test(login)) continue;
      this.#problems.push(
        `\`${name}\` has the line ${JSON.stringify(login)}. A line must be a login, for example ${example}, without wildcards.`,
      );
    }
    return logins;
  }

  provider(): ProviderOptions | undefined {
    const given = <T extends string>(name: InputName, values: readonly T[]): T | undefined => {
      const value = this.optional(name, values);
      // The runner hands a default over like a value that was given.
      return value === inputDefaults[name] ? undefined : value;
    };
    const { provider, problems } = readProvider(
      {
        baseUrl: this.text("provider-base-url"),
        apiKey: this.text("provider-api-key"),
        type: given("provider-type", inputValues["provider-type"]),
        wireApi: given("provider-wire-api", inputValues["provider-wire-api"]),
      },
      asInput,
    );
    for (const problem of problems) this.#problems.push(problem);
    return provider;
  }
}

/** How the models are reached, without any part of the key. Throws a `Stop` if there is no key for them. */
export function modelAccess(
  { rehearse, provider, gitHubToken }: Pick<Inputs, "rehearse" | "provider" | "gitHubToken">,
  environment: Environment,
): string {
  if (rehearse !== undefined) return "played by the rehearsal, without a token";
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
    ? "There is no token for the models: act has no built-in one. Pass a token with the permission “Copilot Requests” (`act -s GITHUB_TOKEN=…`), use your own model server (`provider-base-url`), or set `rehearse`."
    : `There is no token for the models: \`github-token\` is empty, because its secret isn't set or isn't passed to this event. Set the secret, ${otherWays}.`;
}

const otherWays =
  "or omit `github-token` and add `permissions: { contents: read, copilot-requests: write }` to the job, or use your own model server (`provider-base-url`)";
