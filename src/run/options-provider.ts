import { urlOf } from "../text/guards.ts";
import {
  type KeySource,
  type Provider,
  withDefaults,
  type ProviderOptions,
} from "../sessions/provider.ts";
import type { SessionsOptions } from "../sessions/sessions.ts";
import { modelOptions } from "./option-rows.ts";
import type { Option } from "./option-kinds.ts";
import { type Models, UsageError, type WriteName } from "./options.ts";
import { keyFromCommand, type TokenCommand } from "./provider-token.ts";

export { providerTypes, wireApis, type ProviderOptions } from "../sessions/provider.ts";

export interface ModelAccess {
  readonly provider?: ProviderOptions;
  readonly gitHubToken?: string;
  /** Where the Copilot runtime is; default: `COPILOT_CLI_PATH`, then the installed package. */
  readonly runtimePath?: string;
  /** The environment of this process. What the runtime and its shells see of it is an allow-list. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface GivenProvider {
  readonly baseUrl: string | undefined;
  readonly apiKey: string | undefined;
  /** Prints the key. */
  readonly tokenCommand?: string | undefined;
  readonly type: ProviderOptions["type"] | undefined;
  readonly wireApi: ProviderOptions["wireApi"] | undefined;
}

const optionOf = {
  apiKey: "provider-api-key",
  tokenCommand: "provider-token-command",
  type: "provider-type",
  wireApi: "provider-wire-api",
} as const;

export function readProvider(
  { baseUrl, ...others }: GivenProvider,
  write: WriteName,
  place: Pick<TokenCommand, "folder" | "environment"> = { folder: ".", environment: {} },
): { readonly provider: ProviderOptions | undefined; readonly problems: readonly string[] } {
  const address = write("provider-base-url");
  if (baseUrl === undefined) {
    // A workflow whose address is an empty variable may name the defaults.
    const defaults = {
      apiKey: undefined,
      tokenCommand: undefined,
      ...withDefaults({ baseUrl: "" }),
    };
    const alone = (["apiKey", "tokenCommand", "type", "wireApi"] as const).filter(
      (field) => others[field] !== undefined && others[field] !== defaults[field],
    );
    return {
      provider: undefined,
      problems: alone.map((field) => `${write(optionOf[field])} needs ${address}.`),
    };
  }
  const { tokenCommand: command, apiKey: given, ...more } = others;
  const option = write(optionOf.tokenCommand);
  const problem = addressProblem(baseUrl, write(optionOf.apiKey));
  const problems = problem === undefined ? [] : [`${address} ${problem}.`];
  if (given !== undefined && command !== undefined)
    problems.push(`${write(optionOf.apiKey)} and ${option} can't be used together.`);
  const apiKey = command === undefined ? given : keyFromCommand({ ...place, command, option });
  return { provider: withDefaults({ baseUrl, apiKey, ...more }), problems };
}

/** Reads environment variables that stand for options. Throws a `UsageError`. */
export function modelsOfEnvironment(environment: ModelAccess["environment"]): {
  readonly provider?: ProviderOptions | undefined;
  readonly models?: Models | undefined;
} {
  const problems: string[] = [];
  const read = <T>({ kind, env }: Option<T> & { readonly env: string }): T | undefined => {
    const given = environment[env]?.trim() ?? "";
    const value = given === "" ? undefined : kind.parse(given);
    if (value?.kind === "wrong") problems.push(`${env} ${value.problem}.`);
    return value?.kind === "value" ? value.value : undefined;
  };
  const { models, providerBaseUrl, providerApiKey, providerType, providerWireApi } = modelOptions;
  const { providerTokenCommand } = modelOptions;
  const baseUrl = read(providerBaseUrl);
  const hasServer = baseUrl !== undefined;
  const { provider, problems: wrong } = readProvider(
    {
      baseUrl,
      apiKey: hasServer ? read(providerApiKey) : undefined,
      tokenCommand: hasServer ? read(providerTokenCommand) : undefined,
      type: read(providerType),
      wireApi: read(providerWireApi),
    },
    (option) => `AGENT_JOBS_${option.toUpperCase().replaceAll("-", "_")}`,
    { folder: ".", environment },
  );
  const named = read(models);
  problems.push(...wrong);
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
  return { provider, models: named };
}

/** Describes the problem of a model server's address, as a phrase that follows its name. Never quotes it, because it may contain a key. */
export function addressProblem(baseUrl: string, keyOption: string): string | undefined {
  const url = urlOf(baseUrl);
  if (url === undefined || !/^https?:$/.test(url.protocol) || !/^https?:\/\//i.test(baseUrl)) {
    return "must be an http or https address, such as http://127.0.0.1:11434/v1";
  }
  if (url.username !== "" || url.password !== "") {
    return `contains a user name or a password: pass the key with ${keyOption} instead`;
  }
  return undefined;
}

/** `tell` gets each key of a function first, so that it is masked everywhere. */
export function withKeysTold<Access extends Pick<ModelAccess, "provider">>(
  access: Access,
  tell: (key: string) => void,
): Access {
  const { provider } = access;
  const source = provider?.apiKey;
  if (provider === undefined || typeof source !== "function") return access;
  let told: string | undefined;
  const apiKey: KeySource = async (rejected) => {
    const key = await source(rejected);
    if (key !== told) tell(key);
    told = key;
    return key;
  };
  return { ...access, provider: { ...provider, apiKey } };
}

export function modelServer(
  access: ModelAccess,
): Pick<SessionsOptions, "provider" | "gitHubToken"> {
  const provider = providerOf(access);
  return provider === undefined ? { gitHubToken: access.gitHubToken } : { provider };
}

/** With the headers of `AGENT_JOBS_PROVIDER_HEADERS`, which are written as those of OTLP: `name=value,…`. */
export function providerOf({ provider, environment }: ModelAccess): Provider | undefined {
  const pairs = (environment["AGENT_JOBS_PROVIDER_HEADERS"] ?? "").split(",").flatMap((pair) => {
    const [, name, value = ""] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/s.exec(pair) ?? [];
    return name === undefined ? [] : [[name, decoded(value)]];
  });
  const headers = { ...Object.fromEntries(pairs), ...provider?.headers };
  return provider && withDefaults({ ...provider, headers });
}

export function gitHubTokenOf(environment: ModelAccess["environment"]): string | undefined {
  const names = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];
  return names
    .map((name) => environment[name])
    .find((token) => token !== undefined && token !== "");
}

/** Whether a token may work with GitHub Copilot: classic personal tokens never do. */
export function isCopilotToken(token = ""): boolean {
  return token !== "" && !token.startsWith("ghp_");
}

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
