import { text } from "node:stream/consumers";
import { asFlag, limitsOf, UsageError, type Models, type WriteName } from "../app/options.ts";
import { gitHubTokenOf, readProvider, type ProviderOptions } from "../app/options-provider.ts";
import { readUserInputFile } from "../app/options-paths.ts";
import { prepareRun, type RunOptions } from "../app/prepare-run.ts";
import { executeRun } from "../app/run.ts";
import { withoutSecrets } from "../app/secrets.ts";
import { diagnosticLine } from "../document/diagnostic.ts";
import type { PermissionPreset } from "../entry/model.ts";
import { cancelFromTerminal, exitCode, output, type ExitCode } from "./process.ts";

/** The options of `agent-jobs run`, as commander hands them over. */
export interface RunFlags {
  readonly userInput?: string;
  readonly userInputFile?: string;
  readonly workingDirectory?: string;
  readonly rehearse?: string;
  readonly inPlace?: true;
  readonly record?: string;
  readonly journal?: string;
  readonly htmlReport?: string;
  readonly model?: Models;
  readonly permissions?: PermissionPreset;
  readonly maxParallel?: number;
  readonly providerType?: NonNullable<ProviderOptions["type"]>;
  readonly providerBaseUrl?: string;
  readonly providerApiKey?: string;
  readonly providerWireApi?: NonNullable<ProviderOptions["wireApi"]>;
  readonly runtimePath?: string;
  readonly timeoutMinutes?: number;
  readonly chart?: true;
  readonly quiet?: true;
  readonly verbose?: true;
}

export async function run(
  entryFile: string,
  jobName: string | undefined,
  flags: RunFlags,
): Promise<ExitCode> {
  const signals = cancelFromTerminal();
  try {
    const options = await runOptions(entryFile, jobName, flags);
    const prepared = await prepareRun(options);
    for (const warning of flags.quiet === true ? [] : prepared.warnings) {
      output.printError(withoutSecrets(diagnosticLine(warning), { environment: process.env }));
    }
    const { outcome, reporterFailures, complete } = await executeRun(prepared, options, signals);
    for (const { reporter, message } of reporterFailures) {
      output.printError(`agent-jobs: warning: the ${reporter} is incomplete: ${message}`);
    }
    switch (outcome.kind) {
      case "succeeded":
        return complete ? exitCode.success : exitCode.failed;
      case "failed":
        return exitCode.failed;
      case "canceled":
        return exitCode.canceled;
    }
  } finally {
    signals.dispose();
  }
}

async function runOptions(
  entryFile: string,
  jobName: string | undefined,
  flags: RunFlags,
): Promise<RunOptions> {
  if (flags.inPlace === true && flags.rehearse === undefined) {
    throw new UsageError(
      "--in-place requires --rehearse. Other runs always work in the folder itself.",
    );
  }
  const environment = process.env;
  const stream = output.terminal;
  const provider = providerOf(flags);
  const gitHubToken = gitHubTokenOf(environment);
  const userInput = await userInputOf(flags);
  return {
    entryFile,
    environment,
    ...limitsOf(flags, asFlag),
    terminal: {
      stream,
      verbosity: flags.quiet === true ? "quiet" : flags.verbose === true ? "verbose" : "normal",
      ...output.looks,
      chart: flags.chart === true,
    },
    ...(jobName === undefined ? {} : { jobName }),
    ...(userInput === undefined ? {} : { userInput }),
    ...(provider === undefined ? {} : { provider }),
    ...(gitHubToken === undefined ? {} : { gitHubToken }),
    ...(flags.workingDirectory === undefined ? {} : { workingDirectory: flags.workingDirectory }),
    ...(flags.rehearse === undefined ? {} : { rehearse: flags.rehearse }),
    ...(flags.inPlace === undefined ? {} : { inPlace: true }),
    ...(flags.record === undefined ? {} : { record: flags.record }),
    ...(flags.journal === undefined ? {} : { journal: flags.journal }),
    ...(flags.htmlReport === undefined ? {} : { htmlReport: flags.htmlReport }),
    ...(flags.model === undefined ? {} : { models: flags.model }),
    ...(flags.permissions === undefined ? {} : { permissions: flags.permissions }),
    ...(flags.runtimePath === undefined ? {} : { runtimePath: flags.runtimePath }),
  };
}

function providerOf(flags: RunFlags): ProviderOptions | undefined {
  const { providerBaseUrl: baseUrl, providerType: type, providerWireApi: wireApi } = flags;
  // A key alone is fine: it may come from the environment, for the runs that name a server.
  const apiKey = baseUrl === undefined ? undefined : flags.providerApiKey;
  const write: WriteName = (option) =>
    option === "provider-api-key"
      ? "--provider-api-key or AGENT_JOBS_PROVIDER_API_KEY"
      : asFlag(option);
  const { provider, problems } = readProvider({ baseUrl, type, wireApi, apiKey }, write);
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
  return provider;
}

async function userInputOf({ userInput, userInputFile }: RunFlags): Promise<string | undefined> {
  if (userInputFile === undefined) return userInput;
  const input =
    userInputFile === "-"
      ? await text(process.stdin)
      : await readUserInputFile(userInputFile, asFlag);
  // As a shell's $(…) does: the line break at the end of a file is not part of the input.
  return input.replace(/\r?\n$/, "");
}
