import { asFlag, UsageError } from "../run/options.ts";
import { gitHubTokenOf, readProvider, type ModelAccess } from "../run/options-provider.ts";
import type { LimitSources } from "../engine/limits.ts";
import type { Limits } from "../entry/model.ts";
import type { FieldsOn } from "../run/option-table.ts";
import { defined } from "../text/guards.ts";

interface Access extends ModelAccess {
  readonly limits: Limits;
  readonly limitNames: LimitSources;
}

type Read =
  | "providerBaseUrl"
  | "providerType"
  | "providerWireApi"
  | "providerApiKey"
  | "providerTokenCommand"
  | "maxParallel"
  | "timeoutMinutes";

/** Leaves all other options as they are. Throws a `UsageError`. */
export function readAccess<Options extends FieldsOn<"access"> & FieldsOn<"serve">>(
  given: Options,
): Omit<Options, Read> & Access {
  const {
    providerBaseUrl,
    providerType,
    providerWireApi,
    providerApiKey,
    providerTokenCommand,
    maxParallel,
    timeoutMinutes,
    ...others
  } = given;
  if (others.inPlace === true && others.rehearse === undefined)
    throw new UsageError("--in-place requires --rehearse. Other runs always work in the folder.");
  const environment = process.env;
  const { provider, problems } = readProvider(
    { providerBaseUrl, providerType, providerWireApi, providerApiKey, providerTokenCommand },
    (option) =>
      option === "provider-api-key"
        ? "--provider-api-key or AGENT_JOBS_PROVIDER_API_KEY"
        : asFlag(option),
    { folder: process.cwd(), environment },
  );
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
  return {
    ...others,
    environment,
    // Limits are spread over those of the entry.
    limits: defined({ parallel: maxParallel, jobMinutes: timeoutMinutes }),
    limitNames: { parallel: asFlag("max-parallel"), jobMinutes: asFlag("timeout-minutes") },
    provider,
    gitHubToken: gitHubTokenOf(environment),
  };
}
