/** The options that `run` and `serve` share: as commander declares them, and what they mean for a host. */
import { defined } from "../document/guards.ts";
import type { Command } from "commander";
import { InvalidArgumentError, Option } from "commander";
import {
  asFlag,
  limitsOf,
  parseAnswer,
  parseChoice,
  parseEnvName,
  parseModel,
  parseNumber,
  parseParam,
  UsageError,
  type Answers,
  type Models,
  type Params,
  type Parsed,
  type WriteName,
} from "../run/options.ts";
import {
  gitHubTokenOf,
  providerTypes,
  readProvider,
  wireApis,
  type ModelAccess,
  type ProviderOptions,
} from "../run/options-provider.ts";
import type { WorkflowRunOptions } from "../run/workflow-options.ts";
import {
  permissionPresets,
  sandboxModes,
  type PermissionPreset,
  type SandboxMode,
} from "../entry/model.ts";

export const validateFormats = ["text", "json", "github"] as const;

/** As commander hands them over. */
export interface SharedFlags {
  readonly rehearse?: string;
  readonly inPlace?: true;
  readonly model?: Models;
  readonly permissions?: PermissionPreset;
  readonly sandbox?: SandboxMode;
  readonly maxParallel?: number;
  readonly providerType?: NonNullable<ProviderOptions["type"]>;
  readonly providerBaseUrl?: string;
  readonly providerApiKey?: string;
  readonly providerWireApi?: NonNullable<ProviderOptions["wireApi"]>;
  readonly runtimePath?: string;
  readonly timeoutMinutes?: number;
}

export function addRehearsalOptions(command: Command): Command {
  return command
    .option("--rehearse <file>", "let the script of a rehearsal play the model")
    .option("--in-place", "with --rehearse: work in the folder itself instead of a copy");
}

/** What a server gives to all workflows. */
export interface ServedFlags {
  readonly answer?: Answers;
  readonly env?: readonly string[];
}

/** What the caller gives to workflows. */
export interface WorkflowFlags extends ServedFlags {
  readonly param?: Params;
  readonly history?: string;
  readonly resume?: string;
  readonly rerun?: true;
}

export function addWorkflowOptions(command: Command): Command {
  return addServedOptions(
    command.option(
      "--param <name=value>",
      "a parameter of the workflow (repeatable)",
      more(parseParam),
    ),
  )
    .option("--history <dir>", "write each step of a workflow to a Markdown file in this folder")
    .option("--resume <journal>", "continue the workflow run of this journal")
    .option("--rerun", "with --resume: rerun the interrupted command");
}

export function addServedOptions(command: Command): Command {
  return addEnvironmentOption(
    command.option(
      "--answer <id=text>",
      "the answer to an ASK, by its id; several for one id are used in order (repeatable)",
      more(parseAnswer),
    ),
  );
}

export function addEnvironmentOption(command: Command): Command {
  return command.option(
    "--env <name>",
    "an environment variable that workflows, tools and MCP servers may read (repeatable)",
    more(parseEnvName),
  );
}

export function readWorkflowFlags(flags: WorkflowFlags): WorkflowRunOptions {
  const { param: params, history, resume, rerun } = flags;
  return {
    ...defined({ params }),
    ...readServedFlags(flags),
    ...defined({ history, resume, rerun }),
  };
}

export function readServedFlags({
  answer: answers,
  env,
}: ServedFlags): Pick<WorkflowRunOptions, "answers" | "env"> {
  return {
    ...defined({ answers, env }),
  };
}

export function addModelOptions(command: Command): Command {
  return addServerOptions(command)
    .option(
      "--model <category=id>",
      "use another model for a category (repeatable)",
      more(parseModel),
    )
    .addOption(
      choice(
        "--permissions <preset>",
        "default permissions, and an upper bound for those of the entry",
        permissionPresets,
      ),
    )
    .addOption(sandboxOption())
    .option(
      "--max-parallel <n>",
      "maximum number of concurrent turns; overrides limits.parallel",
      by((text) => parseNumber(text, "a whole number")),
    )
    .option(
      "--timeout-minutes <n>",
      "time limit of the job; overrides limits.jobMinutes",
      by((text) => parseNumber(text, "a number")),
    );
}

export function sandboxOption(): Option {
  return choice(
    "--sandbox <mode>",
    "whether programs run in a sandbox, if stricter than the entry",
    sandboxModes,
  );
}

export function addServerOptions(command: Command): Command {
  return command
    .addOption(
      choice("--provider-type <type>", "type of the model server (default: openai)", providerTypes),
    )
    .option(
      "--provider-base-url <url>",
      "address of your own model server; requires no GitHub token",
    )
    .addOption(
      new Option("--provider-api-key <key>", "key of the model server").env(
        "AGENT_JOBS_PROVIDER_API_KEY",
      ),
    )
    .addOption(
      choice(
        "--provider-wire-api <api>",
        "API of the model server (default: completions)",
        wireApis,
      ),
    )
    .option("--runtime-path <path>", "path of the Copilot runtime");
}

/** What the options say to whatever runs jobs. Throws `UsageError`. */
export function readSharedFlags(flags: SharedFlags): ModelAccess &
  ReturnType<typeof limitsOf> & {
    readonly rehearse?: string;
    readonly inPlace?: true;
    readonly models?: Models;
    readonly permissions?: PermissionPreset;
    readonly sandbox?: SandboxMode;
  } {
  const { rehearse, inPlace, model: models, permissions, sandbox, runtimePath } = flags;
  if (inPlace === true && rehearse === undefined) {
    throw new UsageError(
      "--in-place requires --rehearse. Other runs always work in the folder itself.",
    );
  }
  const environment = process.env;
  const provider = providerOf(flags);
  const gitHubToken = gitHubTokenOf(environment);
  return {
    environment,
    ...limitsOf(flags, asFlag),
    ...defined({
      provider,
      gitHubToken,
      rehearse,
      inPlace,
      models,
      permissions,
      sandbox,
      runtimePath,
    }),
  };
}

function providerOf(flags: SharedFlags): ProviderOptions | undefined {
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

/** A parser for commander, from the parser that all edges share. */
export function by<T>(parse: (text: string) => Parsed<T>): (text: string) => T {
  return (text) => valueOf(parse(text));
}

/** The same for an option that may be repeated. */
function more<T>(
  parse: (text: string, earlier?: T) => Parsed<T>,
): (text: string, earlier?: T) => T {
  return (text, earlier) => valueOf(parse(text, earlier));
}

/** Commander puts the option and its argument before what is thrown. */
function valueOf<T>(parsed: Parsed<T>): T {
  if (parsed.kind === "value") return parsed.value;
  throw new InvalidArgumentError(`It ${parsed.problem}.`);
}

/** An option that has one of these values. */
export function choice(flags: string, description: string, values: readonly string[]): Option {
  // `choices` lists them in the help.
  return new Option(flags, description)
    .choices(values)
    .argParser(by((text) => parseChoice(text, values)));
}
