/** `agent-jobs models`: what the token or the model server offers, to be named in an entry. */
import { JobHost } from "../live/job-host.ts";
import type { OfferedModel } from "../run/offered-models.ts";
import { missingModel } from "../run/execute.ts";
import { asFlag, UsageError } from "../run/options.ts";
import { readAccess, type OptionsOf } from "./options.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";

export async function models(
  { json, ...server }: OptionsOf<"models">,
  { output }: Io,
): Promise<ExitCode> {
  const offered = await offeredModels(server);
  if (json === true) output.printJson({ models: offered });
  else for (const line of table(offered)) output.print(line);
  if (offered.length > 0) return exitCode.success;
  output.printError("agent-jobs: No models are listed. `agent-jobs doctor` says more.");
  return exitCode.failed;
}

/** Empty if none are listed. Throws a `UsageError` if nobody can be asked. */
export async function offeredModels(
  server: Parameters<typeof readAccess>[0],
): Promise<readonly OfferedModel[]> {
  const access = readAccess(server);
  const missing = missingModel(access, false, asFlag);
  if (missing !== undefined) throw new UsageError(missing);
  await using host = new JobHost(access);
  return host.live.listModels();
}

function table(offered: readonly OfferedModel[]): readonly string[] {
  const rows = offered.map(({ id, name, multiplier }) => [id, name, `${multiplier}x`]);
  const widths = [0, 1].map((column) =>
    Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
}
