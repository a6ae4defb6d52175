import { asFlag, limitsOf, UsageError } from "../run/options.ts";
import { gitHubTokenOf, readProvider, type ModelAccess } from "../run/options-provider.ts";
import type { OptionsOf } from "./options.ts";

type Server =
  | "providerBaseUrl"
  | "providerType"
  | "providerWireApi"
  | "providerApiKey"
  | "providerTokenCommand";
type Read = Server | "runtimePath" | "maxParallel" | "timeoutMinutes";

/** The rest is left as it is. Throws a `UsageError`. */
export function readAccess<Options extends Pick<OptionsOf<"run">, Read | "rehearse" | "inPlace">>(
  given: Options,
): Omit<Options, Read> & ModelAccess & ReturnType<typeof limitsOf> {
  const {
    providerBaseUrl: baseUrl,
    providerType: type,
    providerWireApi: wireApi,
    providerApiKey,
    providerTokenCommand,
    maxParallel,
    timeoutMinutes,
    runtimePath,
    ...rest
  } = given;
  if (rest.inPlace === true && rest.rehearse === undefined)
    throw new UsageError("--in-place requires --rehearse. Other runs always work in the folder.");
  // A key alone is fine, and a command for it: they may come from the environment, for the runs that name a server.
  const apiKey = baseUrl === undefined ? undefined : providerApiKey;
  const tokenCommand = baseUrl === undefined ? undefined : providerTokenCommand;
  const environment = process.env;
  const { provider, problems } = readProvider(
    { baseUrl, type, wireApi, apiKey, tokenCommand },
    (option) =>
      option === "provider-api-key"
        ? "--provider-api-key or AGENT_JOBS_PROVIDER_API_KEY"
        : asFlag(option),
    { folder: process.cwd(), environment },
  );
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
  return {
    ...rest,
    environment,
    ...limitsOf({ maxParallel, timeoutMinutes }, asFlag),
    provider,
    gitHubToken: gitHubTokenOf(environment),
    runtimePath,
  };
}
