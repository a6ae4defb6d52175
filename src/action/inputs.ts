/**
 * From the environment that the runner makes for us to typed inputs; all problems at once. The only file
 * of this room that reads the environment. Paths are checked in `paths.ts`: that takes the file system.
 */
import type { ProviderOptions } from "../app/options.ts";
import type { PermissionPreset } from "../entry/model.ts";
import { inputDefaults, inputValues, inputVariable, type InputName } from "./input-table.ts";

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
  readonly workingDirectory: string | undefined;
  readonly models: Readonly<Record<string, string>>;
  readonly permissions: PermissionPreset | undefined;
  readonly maxParallel: number | undefined;
  readonly gitHubToken: string | undefined;
  readonly provider: ProviderOptions | undefined;
  readonly runtimePath: string | undefined;
  readonly rehearse: string | undefined;
  readonly inPlace: boolean;
  readonly record: string | undefined;
  readonly journal: string | undefined;
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
  if (entry === undefined) problems.push("`entry` is missing: name the entry file.");
  const userInput = reader.text("user-input");
  const userInputFile = reader.text("user-input-file");
  if (userInput !== undefined && userInputFile !== undefined) {
    problems.push("`user-input` and `user-input-file` exclude each other.");
  }
  const inputs: Inputs = {
    entry: entry ?? "",
    job: reader.text("job"),
    userInput,
    userInputFile,
    workingDirectory: reader.text("working-directory"),
    models: reader.models(),
    permissions: reader.optional("permissions", inputValues.permissions),
    maxParallel: reader.number("max-parallel", "a whole number over 0", Number.isSafeInteger),
    gitHubToken: gitHubToken(environment),
    provider: reader.provider(),
    runtimePath: reader.text("runtime-path"),
    rehearse: reader.text("rehearse"),
    inPlace: reader.choice("in-place", inputValues["in-place"]) === "true",
    record: reader.text("record"),
    journal: reader.text("journal"),
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
    timeoutMinutes: reader.number("timeout-minutes", "a number over 0", Number.isFinite),
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
    const text = this.text(name);
    if (text === undefined) return undefined;
    const found = values.find((value) => value === text);
    if (found === undefined) {
      this.#problems.push(
        `\`${name}\` can't be ${JSON.stringify(text)}; it can be: ${values.join(", ")}.`,
      );
    }
    return found;
  }

  number(
    name: InputName,
    meaning: string,
    accepts: (value: number) => boolean,
  ): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    // Decimal digits only: "1e3", "0x10" and "Infinity" are slips, not wishes.
    const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
    if (accepts(value) && value > 0) return value;
    this.#problems.push(`\`${name}\` must be ${meaning}, not ${JSON.stringify(text)}.`);
    return undefined;
  }

  models(): Readonly<Record<string, string>> {
    const models = new Map<string, string>();
    for (const line of this.lines("models")) {
      const [, category = "", id = ""] = /^([^=]+)=(.+)$/.exec(line) ?? [];
      if (category.trim() === "" || id.trim() === "") {
        this.#problems.push(
          `\`models\` has the line ${JSON.stringify(line)}; a line must have the form category=id, such as driving=gpt-5-mini.`,
        );
      } else if (models.has(category.trim())) {
        this.#problems.push(`\`models\` names the category ${JSON.stringify(category)} twice.`);
      }
      models.set(category.trim(), id.trim());
    }
    return Object.fromEntries(models);
  }

  logins(name: InputName, form: RegExp, example: string): readonly string[] {
    const logins = this.lines(name);
    for (const login of logins) {
      if (form.test(login)) continue;
      const isBot = name === "allowed-users" && login.endsWith("[bot]");
      this.#problems.push(
        `\`${name}\` has the line ${JSON.stringify(login)}; a line must be one login, such as ${example}, without wildcards.${isBot ? " List bots in `allowed-bots`." : ""}`,
      );
    }
    return logins;
  }

  provider(): ProviderOptions | undefined {
    const baseUrl = this.text("provider-base-url");
    const apiKey = this.text("provider-api-key");
    const type = this.choice("provider-type", inputValues["provider-type"]);
    const wireApi = this.choice("provider-wire-api", inputValues["provider-wire-api"]);
    if (baseUrl === undefined) {
      const given = [
        apiKey === undefined ? undefined : "provider-api-key",
        type === inputDefaults["provider-type"] ? undefined : "provider-type",
        wireApi === inputDefaults["provider-wire-api"] ? undefined : "provider-wire-api",
      ].filter((name) => name !== undefined);
      for (const name of given) this.#problems.push(`\`${name}\` needs \`provider-base-url\`.`);
      return undefined;
    }
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol)) {
      this.#problems.push("`provider-base-url` must be an http or https address.");
    } else if (url.username !== "" || url.password !== "") {
      this.#problems.push(
        "`provider-base-url` holds a name or a password: give the key as `provider-api-key`.",
      );
    }
    return { baseUrl, type, wireApi, ...(apiKey === undefined ? {} : { apiKey }) };
  }
}
