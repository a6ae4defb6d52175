/**
 * From the environment that the runner makes for us to typed inputs; all problems at once. The only file
 * of this room that reads the environment. Paths are checked in `preparation.ts`: that takes the file system.
 */
import {
  addAnswer,
  addParam,
  parseChoice,
  parseEnvName,
  parseModel,
  parseNumber,
  readAssignments,
  type Answers,
  type Assignment,
  type Models,
  type Params,
  type Parsed,
  type WriteName,
} from "../run/options.ts";
import { readProvider, type ProviderOptions } from "../run/options-provider.ts";
import type { PermissionPreset, SandboxMode } from "../entry/model.ts";
import { inputDefaults, inputValues, inputVariable, type InputName } from "./input-table.ts";
import { clip } from "../events/cut.ts";

/** How a workflow writes the name of an input. */
export const asInput: WriteName = (name) => `\`${name}\``;

export type Environment = Readonly<Record<string, string | undefined>>;

export function readEnvironment(): Environment {
  return process.env;
}

type ValueOf<Name extends keyof typeof inputValues> = (typeof inputValues)[Name][number];

/** Paths are as they were given. */
export interface Inputs {
  readonly entry: string;
  readonly job: string | undefined;
  readonly userInput: string | undefined;
  readonly userInputFile: string | undefined;
  /** As they were given, to be cleaned. */
  readonly params: Params;
  readonly answers: Answers;
  readonly env: readonly string[];
  readonly history: string | undefined;
  readonly resume: string | undefined;
  readonly rerun: boolean;
  readonly workingDirectory: string | undefined;
  readonly models: Models;
  readonly permissions: PermissionPreset | undefined;
  readonly sandbox: SandboxMode | undefined;
  readonly maxParallel: number | undefined;
  readonly gitHubToken: string | undefined;
  readonly provider: ProviderOptions | undefined;
  readonly runtimePath: string | undefined;
  readonly rehearse: string | undefined;
  readonly inPlace: boolean;
  readonly record: string | undefined;
  readonly journal: string | undefined;
  readonly htmlReport: string | undefined;
  readonly summary: ValueOf<"summary">;
  readonly annotations: ValueOf<"annotations">;
  readonly failOn: ValueOf<"fail-on">;
  readonly allowedBots: readonly string[];
  readonly allowedUsers: readonly string[];
  /** Undefined: by what was refused. */
  readonly onRefused: ValueOf<"on-refused"> | undefined;
  readonly allowUntrusted: boolean;
  readonly timeoutMinutes: number | undefined;
}

export interface ReadInputs {
  /** With problems: the defaults in place of what is wrong, so that what is right about reports is heeded. */
  readonly inputs: Inputs;
  readonly problems: readonly string[];
}

export function readInputs(environment: Environment): ReadInputs {
  const problems: string[] = [];
  const reader = new Reader(environment, problems);
  const entry = reader.text("entry");
  if (entry === undefined) problems.push("The input `entry` is required.");
  const userInput = reader.text("user-input");
  const userInputFile = reader.text("user-input-file");
  if (userInput !== undefined && userInputFile !== undefined) {
    problems.push("`user-input` and `user-input-file` can't be used together.");
  }
  const inputs: Inputs = {
    entry: entry ?? "",
    job: reader.text("job"),
    userInput,
    userInputFile,
    params: reader.assignments<Params>("params", "BRANCH=main", {}, addParam),
    answers: reader.assignments<Answers>("answers", "ASK_NAME=yes", {}, addAnswer),
    env: reader.each<readonly string[]>("env", [], parseEnvName),
    history: reader.text("history"),
    resume: reader.text("resume"),
    rerun: reader.choice("rerun", inputValues.rerun) === "true",
    workingDirectory: reader.text("working-directory"),
    models: reader.each<Models>("models", {}, parseModel),
    permissions: reader.optional("permissions", inputValues.permissions),
    sandbox: reader.optional("sandbox", inputValues.sandbox),
    maxParallel: reader.number("max-parallel", "a whole number"),
    gitHubToken: gitHubToken(environment),
    provider: reader.provider(),
    runtimePath: reader.text("runtime-path"),
    rehearse: reader.text("rehearse"),
    inPlace: reader.choice("in-place", inputValues["in-place"]) === "true",
    record: reader.text("record"),
    journal: reader.text("journal"),
    htmlReport: reader.text("html-report"),
    summary: reader.choice("summary", inputValues.summary),
    annotations: reader.choice("annotations", inputValues.annotations),
    failOn: reader.choice("fail-on", inputValues["fail-on"]),
    allowedBots: reader.logins(
      "allowed-bots",
      /^[A-Za-z0-9][A-Za-z0-9_-]*(\[bot\])?$/,
      "dependabot[bot]",
    ),
    allowedUsers: reader.logins("allowed-users", /^[A-Za-z0-9][A-Za-z0-9_-]*$/, "octocat"),
    onRefused: reader.optional("on-refused", inputValues["on-refused"]),
    allowUntrusted: reader.choice("allow-untrusted", inputValues["allow-untrusted"]) === "true",
    timeoutMinutes: reader.number("timeout-minutes", "a number"),
  };
  return { inputs, problems };
}

/** The input, else the environment variable that steps set by themselves: our default without the runner's. */
function gitHubToken(environment: Environment): string | undefined {
  return (
    present(environment[inputVariable("github-token")]) ?? present(environment["GITHUB_TOKEN"])
  );
}

/** Every value among the inputs and beside them that the runner has to mask, whether it is used or not. */
export function secretInputs(environment: Environment): readonly string[] {
  return [inputVariable("github-token"), inputVariable("provider-api-key"), "GITHUB_TOKEN"]
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

  /** What was given, else the default; undefined for an empty default. */
  text(name: InputName): string | undefined {
    return present(this.#environment[inputVariable(name)]) ?? present(inputDefaults[name]);
  }

  lines(name: InputName): string[] {
    return (this.text(name) ?? "")
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== "");
  }

  /** One of the values, of which the first one is the default. */
  choice<T extends string>(name: InputName, values: readonly [T, ...T[]]): T {
    return this.optional(name, values) ?? values[0];
  }

  optional<T extends string>(name: InputName, values: readonly T[]): T | undefined {
    return this.#parsed(name, (text) => parseChoice(text, values));
  }

  number(name: InputName, kind: "a whole number" | "a number"): number | undefined {
    return this.#parsed(name, (text) => parseNumber(text, kind));
  }

  #parsed<T>(name: InputName, parse: (text: string) => Parsed<T>): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const parsed = parse(text);
    if (parsed.kind === "value") return parsed.value;
    this.#problems.push(`${asInput(name)} ${parsed.problem}.`);
    return undefined;
  }

  /** One value for each line, added to the earlier ones. */
  each<T>(name: InputName, none: T, add: (line: string, earlier: T) => Parsed<T>): T {
    return this.lines(name).reduce(
      (values, line) => this.#added(name, line, values, add(line, values)),
      none,
    );
  }

  /** One value for each assignment, added to the earlier ones. */
  assignments<T>(
    name: InputName,
    example: string,
    none: T,
    add: (assignment: Assignment, earlier: T) => Parsed<T>,
  ): T {
    return readAssignments(this.text(name) ?? "", example).reduce(
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
    const quoted = JSON.stringify(clip(line, MAX_QUOTED));
    this.#problems.push(`${asInput(name)}: the line ${quoted} ${parsed.problem}.`);
    return earlier;
  }

  logins(name: InputName, form: RegExp, example: string): readonly string[] {
    const logins = this.lines(name);
    for (const login of logins) {
      if (form.test(login)) continue;
      const isBot = name === "allowed-users" && login.endsWith("[bot]");
      this.#problems.push(
        `\`${name}\` has the line ${JSON.stringify(login)}. A line must be a login, for example ${example}, without wildcards.${isBot ? " List bots in `allowed-bots`." : ""}`,
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
