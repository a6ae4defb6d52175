/** How models are reached: the options of a model server, its key, and the token of GitHub. */
import type { Clock } from "../platform/clock.ts";
import type { Environment } from "../platform/environment.ts";
import { outputOf } from "../platform/programs.ts";
import { systemClock } from "../platform/system-clock.ts";
import { errorMessage } from "../platform/system-error.ts";
import { isRecord, parsedJson, urlOf } from "../text/guards.ts";
import {
  type KeySource,
  type Provider,
  withDefaults,
  type ProviderOptions,
} from "../sessions/provider.ts";
import type { SessionsOptions } from "../sessions/sessions.ts";
import { optionTable, type FieldsOn, type Option } from "./option-table.ts";
import { type Models, UsageError, type WriteName } from "./options.ts";

export { providerTypes, wireApis, type ProviderOptions } from "../sessions/provider.ts";

export interface ModelAccess {
  readonly provider?: ProviderOptions;
  readonly gitHubToken?: string;
  /** Where the Copilot runtime is; default: `COPILOT_CLI_PATH`, then the installed package. */
  readonly runtimePath?: string;
  /** The environment of this process. What the runtime and its shells see of it is an allow-list. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A key alone is fine: it may come from the environment, for the runs that name a server. */
export function readProvider(
  {
    providerBaseUrl: baseUrl,
    providerType: type,
    providerWireApi: wireApi,
    providerApiKey,
    providerTokenCommand: command,
  }: FieldsOn<"access">,
  write: WriteName,
  place: Pick<TokenCommand, "folder" | "environment"> = { folder: ".", environment: {} },
): { readonly provider: ProviderOptions | undefined; readonly problems: readonly string[] } {
  const address = write("provider-base-url");
  if (baseUrl === undefined) {
    // A workflow whose address is an empty variable may name the defaults.
    const usual = withDefaults({ baseUrl: "" });
    const alone = [
      ...((type ?? usual.type) === usual.type ? [] : ["provider-type"]),
      ...((wireApi ?? usual.wireApi) === usual.wireApi ? [] : ["provider-wire-api"]),
    ];
    return {
      provider: undefined,
      problems: alone.map((option) => `${write(option)} needs ${address}.`),
    };
  }
  const option = write("provider-token-command");
  const keyOption = write("provider-api-key");
  const problem = addressProblem(baseUrl, keyOption);
  const problems = problem === undefined ? [] : [`${address} ${problem}.`];
  if (providerApiKey !== undefined && command !== undefined)
    problems.push(`${keyOption} and ${option} can't be used together.`);
  const apiKey =
    command === undefined ? providerApiKey : keyFromCommand({ ...place, command, option });
  return { provider: withDefaults({ baseUrl, apiKey, type, wireApi }), problems };
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
  const { provider, problems: wrong } = readProvider(
    {
      providerBaseUrl: read(optionTable.providerBaseUrl),
      providerApiKey: read(optionTable.providerApiKey),
      providerTokenCommand: read(optionTable.providerTokenCommand),
      providerType: read(optionTable.providerType),
      providerWireApi: read(optionTable.providerWireApi),
    },
    (option) => `AGENT_JOBS_${option.toUpperCase().replaceAll("-", "_")}`,
    { folder: ".", environment },
  );
  const models = read(optionTable.models);
  problems.push(...wrong);
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
  return { provider, models };
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

/* The key of a model server from a command of the user, such as an exchange of an OIDC token. The command runs outside
   of any sandbox, with the whole environment of this process, and anew before its key expires or when the server has
   refused it. Requests that need a key at the same time share one run. */

export interface TokenCommand {
  /** For bash. */
  readonly command: string;
  /** The folder in which it runs. */
  readonly folder: string;
  readonly environment: Environment;
  /** The name of its option, as the user writes it. */
  readonly option: string;
  readonly clock?: Clock;
}

/** The lifetime of a key that doesn't name its expiry. */
const UNKNOWN_MS = 10 * 60_000;
/** A request may take a while until the server reads its key. */
const EARLY_MS = 2 * 60_000;
const MOST_CHARACTERS = 100_000;
const bash = ["--noprofile", "--norc", "-eo", "pipefail", "-c"];

export function keyFromCommand(given: TokenCommand): KeySource {
  const { clock = systemClock } = given;
  let known: { readonly key: string; readonly until: number } | undefined;
  let running: Promise<string> | undefined;
  const run = async (): Promise<string> => {
    const key = await keyOf(given);
    const begun = clock.now();
    const expires = expiryOf(key);
    known = { key, until: expires === undefined ? begun + UNKNOWN_MS : expires - EARLY_MS };
    return key;
  };
  return (rejected) => {
    if (known !== undefined && known.key !== rejected && clock.now() < known.until)
      return Promise.resolve(known.key);
    running ??= run().finally(() => (running = undefined));
    return running;
  };
}

async function keyOf({ command, folder, environment, option }: TokenCommand): Promise<string> {
  const call = { cwd: folder, env: environment };
  const output = await outputOf("bash", [...bash, command], call).catch((error: unknown) => {
    throw new Error(`${option} failed: ${errorMessage(error)}`);
  });
  const key = output.toString().trim();
  if (key === "") throw new Error(`${option} printed nothing`);
  if (!/^[!-~]+$/.test(key) || key.length > MOST_CHARACTERS)
    throw new Error(`${option} must print nothing but the key, without spaces and line breaks`);
  return key;
}

/** Milliseconds since the epoch, if the key is a JWT with an expiry. */
function expiryOf(key: string): number | undefined {
  const [, payload = "", signature] = key.split(".");
  if (signature === undefined) return undefined;
  const claims = parsedJson(Buffer.from(payload, "base64url").toString());
  const expires = isRecord(claims) ? claims["exp"] : undefined;
  return typeof expires === "number" ? expires * 1000 : undefined;
}
