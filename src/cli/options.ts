import { choice, count, option, or, parsed, type Described } from "./option.ts";
import { reporterNames } from "../reports/rehearsals.ts";
import { permissionPresets, sandboxModes } from "../entry/model.ts";
import {
  parseAnswer,
  parseEnvName,
  parseInput,
  parseModel,
  parseNumber,
  parseParam,
  parsePattern,
  parsePercent,
  parsePort,
  parseReporter,
  parseShard,
} from "../run/options.ts";
import { providerTypes, wireApis } from "../run/options-provider.ts";

const change = {
  base: option(
    "--base <ref>",
    "what $change-base and the diff start from: a branch, tag or commit (default: HEAD~1)",
  ),
  uncommitted: option<true>(
    "--uncommitted",
    "the change includes uncommitted work and untracked files",
  ),
} as const;

const server = {
  providerType: choice(
    "--provider-type <type>",
    "type of the model server (default: openai)",
    providerTypes,
  ),
  providerBaseUrl: option(
    "--provider-base-url <url>",
    "address of your own model server; requires no GitHub token",
  ),
  providerApiKey: option("--provider-api-key <key>", "key of the model server", {
    env: "AGENT_JOBS_PROVIDER_API_KEY",
  }),
  providerWireApi: choice(
    "--provider-wire-api <api>",
    "API of the model server (default: completions)",
    wireApis,
  ),
  runtimePath: option("--runtime-path <path>", "path of the Copilot runtime"),
};

const checkModels = option<true>(
  "--models",
  "check first that the model server, or GitHub, offers the models of the entry",
  { conflicts: "rehearse" },
);

const sandbox = choice(
  "--sandbox <mode>",
  "whether programs run in a sandbox, if stricter than the entry",
  sandboxModes,
);

const models = {
  ...server,
  models: parsed(
    "--model <[category=]id>",
    "use another model for everything, or for a category (repeatable)",
    parseModel,
  ),
  permissions: choice(
    "--permissions <preset>",
    "default permissions, and an upper bound for those of the entry",
    permissionPresets,
  ),
  sandbox,
  maxParallel: count(
    "--max-parallel <n>",
    "maximum number of concurrent turns; overrides limits.parallel",
  ),
  timeoutMinutes: parsed(
    "--timeout-minutes <n>",
    "time limit of the job; overrides limits.jobMinutes",
    (one) => parseNumber(one, "a number"),
  ),
};

const rehearsal = {
  rehearse: option("--rehearse <file>", "let the script of a rehearsal play the model"),
  inPlace: option<true>(
    "--in-place",
    "with --rehearse: work in the folder itself instead of a copy",
  ),
};

const env = parsed(
  "--env <name>",
  "an environment variable that workflows, tools and MCP servers may read (repeatable)",
  parseEnvName,
);

const answers = parsed(
  "--answer <id=text>",
  "the answer to an ASK, by its id; several for one id are used in order (repeatable)",
  parseAnswer,
);

const tool = {
  env,
  entryFile: option(
    "--entry <file>",
    "entry file (default: the only one in the current directory)",
  ),
  workingDirectory: option(
    "--working-directory <dir>",
    "folder in which the tool works (default: the current directory)",
  ),
};

const format = or(choice("--format <format>", "output format", ["text", "json"]), "text");
const forPrograms = { format, json: option<true>("--json", "the same as --format json") };

const otlp = option(
  "--otlp <url>",
  "send a trace and metrics to this OTLP collector (default: OTEL_EXPORTER_OTLP_ENDPOINT)",
);

const run = {
  userInput: option("--user-input <text>", "the text of $user-input", {
    conflicts: "userInputFile",
  }),
  userInputFile: option(
    "--user-input-file <path>",
    "read the user input from a file (- for stdin)",
  ),
  workingDirectory: option(
    "--working-directory <dir>",
    "folder in which the agent works (default: the current directory)",
  ),
  ...change,
  inputs: parsed(
    "--input <name=value>",
    "an input of the entry, or name=@FILE (repeatable)",
    parseInput,
  ),
  params: parsed("--param <name=value>", "a parameter of the workflow (repeatable)", parseParam),
  answers,
  env,
  outputDir: option("--output-dir <dir>", "write reports, run.json and output of commands here"),
  format,
  history: option(
    "--history <dir>",
    "write each step of a workflow to a Markdown file in this folder",
  ),
  resume: option(
    "--resume <journal>",
    "continue the run of this journal: what is done isn't run again",
  ),
  resumeAnyway: option<true>(
    "--resume-anyway",
    "with --resume: tasks that had not started may have changed",
  ),
  rerun: option<true>("--rerun", "with --resume of a workflow: rerun the interrupted command"),
  ...rehearsal,
  ...models,
  checkModels,
  record: option("--record <file>", "record this run as a rehearsal"),
  journal: option("--journal <file>", "write every event to a file, as JSON lines"),
  htmlReport: option("--html-report <file>", "write a report of the run as one HTML file"),
  sarif: option("--sarif <file>", "write the findings as SARIF, for code scanning"),
  junit: option("--junit <file>", "write works and findings as JUnit test cases"),
  otlp,
  chart: option<true>("--chart", "print a Mermaid chart of what ran"),
  quiet: option<true>("--quiet", "print only failures, what the run goes on without, and the end", {
    conflicts: "verbose",
  }),
  verbose: option<true>("--verbose", "also print sessions, tool calls and messages"),
};

/** By command. Fields that a run or a host has, too, are called the same. */
export const options = {
  run: {
    ...run,
    shard: parsed(
      "--shard <n/count>",
      "with --resume of a plan: only one of several parts, such as 1/3",
      parseShard,
    ),
  },
  plan: {
    ...run,
    shards: or(count("--shards <n>", "into how many parts the job is split"), 2),
  },
  merge: {
    ...run,
    entry: option("--entry <file>", "entry file (default: that of the journals)"),
    onMissing: choice(
      "--on-missing <what>",
      "whether the run fails if a shard is missing (default: fail)",
      ["fail", "continue"],
    ),
  },
  validate: {
    ...server,
    format: or(choice("--format <format>", "output format", ["text", "json", "github"]), "text"),
    strict: option<true>("--strict", "treat warnings as errors"),
    checkModels,
  },
  init: {
    workflow: option<true>("--workflow", "also write the workflow of GitHub Actions"),
    providerBaseUrl: option(
      "--provider-base-url <url>",
      "with --workflow: address of your own model server, for which the job needs no `copilot-requests`",
    ),
    force: option<true>("--force", "overwrite files that are there with another content"),
  },
  deliver: {
    entry: option("--entry <file>", "entry in the repository, whose outputs say what may be done"),
    job: option("--job <name>", "name of the job; may be omitted if the entry has only one"),
    digest: option("--digest <sha256>", "the digest that the journal must have"),
    staged: option<true>("--staged", "only show what would be written"),
  },
  models: { ...server, ...forPrograms },
  list: forPrograms,
  chart: {
    journal: option(
      "--journal <file>",
      "draw a recorded run from its journal, with the outcome of each task",
    ),
    run: option("--run <id>", "run of the journal to draw (default: the last)"),
  },
  report: {
    output: or(option("-o, --output <file>", "file to write (- for stdout)"), "report.html"),
  },
  rehearse: {
    test: parsed(
      "-t, --test <pattern>",
      "only rehearsals whose path or description matches this regular expression",
      parsePattern,
    ),
    watch: option<true>("--watch", "rehearse again what depends on a file when it changes"),
    reporters: parsed(
      "--reporter <name[=file]>",
      `${reporterNames.join(", ")}; printed, or written to a file (repeatable; default: list)`,
      parseReporter,
    ),
    shard: parsed("--shard <n/count>", "only one of several equal parts, such as 1/3", parseShard),
    update: option<true>(
      "--update",
      "write what was seen into expect, where it differs or is missing",
    ),
    parallel: count(
      "--parallel <n>",
      "maximum number of concurrent rehearsals (default: the number of cores)",
    ),
    coverage: option<true>("--coverage", "report what of the jobs no rehearsal has reached"),
    coverageThreshold: parsed(
      "--coverage-threshold <percent>",
      "fail if the coverage is lower",
      parsePercent,
    ),
    env,
    workingDirectory: option(
      "--working-directory <dir>",
      "folder for rehearsals that name none (default: the current directory, or the checkout of a rehearsal outside of it)",
    ),
    inPlace: option<true>("--in-place", "work in the folder itself instead of a copy"),
    sandbox,
    runtimePath: server.runtimePath,
    verbose: option<true>("--verbose", "print the log of each run"),
  },
  eval: {
    runs: count("--runs <n>", "runs of each case; overrides runs of the file"),
    only: parsed(
      "--only <pattern>",
      "only cases whose name matches this regular expression",
      parsePattern,
    ),
    sample: count("--sample <n>", "only so many cases, the same each time"),
    parallel: count(
      "--parallel <n>",
      "maximum number of concurrent runs; overrides parallel of the file",
    ),
    baseline: option(
      "--baseline <file>",
      "fail if a pass rate is significantly lower than in this file",
    ),
    updateBaseline: option<true>("--update-baseline", "write the pass rates to the baseline"),
    outputDir: option(
      "--output-dir <dir>",
      "write report.html, eval.json, junit.xml, summary.md and results.jsonl here",
    ),
    summary: option(
      "--summary <file>",
      "write the result as Markdown (default: add it to the job summary, in GitHub Actions)",
    ),
    format,
    quiet: option<true>("--quiet", "don't print each run"),
    env,
    sandbox,
    ...server,
  },
  serve: {
    entry: option(
      "--entry <file>",
      "the same as the argument (default: the entry of the rehearsal, or an example)",
    ),
    port: or(parsed("--port <port>", "port to listen on; 0 selects a free one", parsePort), 8888),
    host: or(
      option("--host <host>", "address to listen on; --token is required unless it is loopback"),
      "127.0.0.1",
    ),
    allowedHost: parsed<readonly string[]>(
      "--allowed-host <name>",
      "another host name of this server, such as that of a proxy (repeatable)",
      (one, earlier = []) => ({ kind: "value", value: [...earlier, one] }),
    ),
    token: option("--token <token>", "token that every request must carry", {
      env: "AGENT_JOBS_TOKEN",
    }),
    journals: option(
      "--journals <dir>",
      "write the journal of every run to this folder, and show its journals",
    ),
    test: option<true>("--test", "start without an entry, and let clients install entries"),
    entriesDir: option(
      "--entries-dir <dir>",
      "with --test: the folder of the entries that clients may install (default: test)",
    ),
    otlp,
    ...change,
    answers,
    env,
    ...rehearsal,
    ...models,
  },
  doctor: {
    model: option("--model <id>", "also ask this model to call a tool, and measure its answer"),
    ...server,
    ...forPrograms,
  },
  build: {
    ...tool,
    print: option<true>(
      "--print",
      "print the Dockerfile of its recipe, or its command, and build nothing",
    ),
    plain: option<true>("--plain", "with --print: fails for a recipe that needs Docker", {
      implies: { print: true },
    }),
  },
  call: tool,
};

type Valued<T> = T extends Described<infer Value> ? Value : never;
type Given<Table> = {
  readonly [
    Field in keyof Table as Table[Field] extends { readonly default: unknown } ? Field : never
  ]: Valued<Table[Field]>;
} & {
  readonly [
    Field in keyof Table as Table[Field] extends { readonly default: unknown } ? never : Field
  ]?: Valued<Table[Field]>;
};

export type OptionsOf<Name extends keyof typeof options> = Given<(typeof options)[Name]>;
