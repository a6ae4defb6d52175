import { JobHost } from "../host/job-host.ts";
import { type Offered, type OfferedModel, whyNoneListed } from "../run/offered-models.ts";
import { missingModel } from "../run/execute.ts";
import { asFlag, UsageError } from "../run/options.ts";
import { readAccess } from "./access.ts";
import type { OptionsOf } from "./options.ts";
import { exitCode, type ExitCode, type Io, table } from "./process.ts";
import { priceText } from "../text/numbers.ts";

export async function models(
  { output }: Io,
  { json, format, ...server }: OptionsOf<"models">,
): Promise<ExitCode> {
  const { offered, reason = "" } = await offeredModels(server);
  if (json === true || format === "json") output.printJson({ models: offered });
  else for (const line of lines(offered)) output.print(line);
  if (offered.length > 0) return exitCode.success;
  output.printError(`agent-jobs: No models are listed. ${reason}`);
  return exitCode.failed;
}

/** With a reason if none are listed. Throws a `UsageError` if nobody can be asked. */
export async function offeredModels(server: Parameters<typeof readAccess>[0]): Promise<Offered> {
  const access = readAccess(server);
  const missing = missingModel(access, false, asFlag);
  if (missing !== undefined) throw new UsageError(missing);
  await using host = new JobHost(access);
  const offered = await host.live.listModels();
  return offered.length > 0 ? { offered } : { offered, reason: await whyNoneListed(access) };
}

/** A model server has no names and no prices, so its models are only listed. */
function lines(offered: readonly OfferedModel[]): readonly string[] {
  if (offered.every(({ id, name, price }) => name === id && price === undefined))
    return offered.map(({ id }) => id);
  const rows = offered.map(({ id, name, price }) => [
    id,
    name,
    price ? priceText(price) : "unknown",
  ]);
  return table(["MODEL", "NAME", "PRICE OF A MILLION TOKENS"], rows);
}
