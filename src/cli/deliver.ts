import { deliverJournal, JournalRefused } from "../github/deliver-journal.ts";
import { filesOfCentral, parseCentral } from "../github/commit-files.ts";
import { createGithubApi } from "../github/github-api.ts";
import { deliveryLine } from "../github/delivery.ts";
import { UsageError } from "../run/options.ts";
import { createRedactor } from "../redaction/redactor.ts";
import { knownSecrets } from "../run/secrets.ts";
import type { OptionsOf } from "./options.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";

export async function deliver(
  { output }: Io,
  journal: string,
  { entry, job, digest, staged }: OptionsOf<"deliver">,
): Promise<ExitCode> {
  if (entry === undefined)
    throw new UsageError("--entry is missing: it names the entry that says what may be done.");
  const parsed = parseCentral(entry);
  if (parsed.kind === "wrong") throw new UsageError(`--entry ${parsed.problem}.`);
  const environment = process.env;
  const {
    GITHUB_TOKEN: token,
    AGENT_JOBS_DELIVERY_TOKEN: deliveryToken,
    GITHUB_REPOSITORY: repository,
    GITHUB_API_URL: apiUrl,
  } = environment;
  const log = (line: string): void => output.printError(line);
  const api = createGithubApi({ token, repository, apiUrl, log });
  const central = parsed.value && filesOfCentral(api, parsed.value, "GITHUB_TOKEN");
  try {
    const { deliveries } = await deliverJournal({
      journal,
      entry,
      central,
      job,
      digest,
      staged: staged === true,
      environment,
      api,
      deliveryApi: createGithubApi({ token: deliveryToken || token, repository, apiUrl, log }),
      redact: createRedactor(knownSecrets({ environment })).text,
    });
    for (const delivery of deliveries) output.print(deliveryLine(delivery));
    if (deliveries.length === 0) output.print("The job publishes nothing on GitHub.");
    return exitCode.success;
  } catch (error) {
    if (!(error instanceof JournalRefused)) throw error;
    output.printError(`agent-jobs: ${error.message}`);
    return exitCode.failed;
  }
}
