/** The options of each command: rows of the table of runs, and those that only a command has. */
import { InvalidArgumentError, Option as Flag, type Command } from "commander";
import type { ReporterName } from "../reports/rehearsals.ts";
import {
  choice,
  count,
  flag,
  isRepeated,
  parseChoice,
  paths,
  pattern,
  percent,
  port,
  right,
  several,
  shard,
  text,
  wrong,
  type Kind,
} from "../run/option-kinds.ts";
import { optionsOn, optionTable, type Option, type Value } from "../run/option-table.ts";

export type Row<T = unknown> = Option<T> & { readonly flag: string; readonly default?: T };

function row<T, const More extends Partial<Row<T>>>(
  flag: string,
  help: string,
  kind: Kind<T>,
  more?: More,
): Row<T> & More;
function row(flag: string, help: string, kind: Kind<unknown>, more: Partial<Row> = {}): Row {
  return { flag, help, kind, ...more };
}

const reporterNames = [
  "list",
  "dot",
  "json",
  "junit",
  "github",
] as const satisfies readonly ReporterName[];

interface ChosenReporter {
  readonly name: ReporterName;
  readonly file?: string;
}

const reporters = several<readonly ChosenReporter[]>(
  [],
  (given, earlier) => {
    const [, name = "", file] = /^([^=]*)(?:=(.*))?$/s.exec(given) ?? [];
    const chosen = parseChoice(name, reporterNames);
    if (chosen.kind === "wrong") return chosen;
    if (file === "") return wrong(`names no file: ${JSON.stringify(given)}`);
    const isSame = (one: ChosenReporter): boolean =>
      one.file === file && (file !== undefined || one.name === chosen.value);
    if (earlier.some(isSame)) return wrong(`is given twice: ${JSON.stringify(given)}`);
    return right([...earlier, { name: chosen.value, file }]);
  },
  () => undefined,
);

const formats = choice(["text", "json"]);
const json = "The output format. `json` prints run.json to stdout, and the log to stderr.";
const format = row("--format <format>", "The output format.", formats, { default: "text" });
const forPrograms = { format, json: row("--json", "The same as `--format json`.", flag) };
const access = optionsOn("access");
const { prompt, promptFile, outputs, ...ofRun } = optionsOn("run");
const run = { ...ofRun, format: { ...format, help: json, group: "Output" } };
/** The options of a run that its help shows. `--help-all` shows all. */
const common: readonly string[] = (
  "prompt promptFile outputs userInput userInputFile inputs workingDirectory base uncommitted env resume " +
  "models providerBaseUrl providerApiKey permissions timeoutMinutes rehearse record outputDir journal verbose format"
).split(" ");
const { checkModels, env, inPlace, runtimePath, sandbox, verbose, workingDirectory } = optionTable;

const tool = {
  env,
  entryFile: row("--entry <file>", "The entry file.", text, {
    without: { cli: "the only one in the current directory" },
  }),
  workingDirectory,
};

/** A field that a run or a host has, too, has the same name there. */
export const options = {
  run: {
    prompt,
    promptFile,
    outputs,
    ...run,
    shard: optionTable.shard,
  },
  plan: {
    ...run,
    shards: row("--shards <n>", "The number of parts of the job.", count, { default: 2 }),
  },
  merge: {
    ...run,
    entry: row("--entry <file>", "The entry file.", text, {
      without: { cli: "that of the journals" },
    }),
    onMissing: optionTable.onMissing,
  },
  validate: {
    ...access,
    format: row("--format <format>", "The output format.", choice(["text", "json", "github"]), {
      default: "text",
    }),
    strict: row("--strict", "Treats warnings as errors.", flag),
    checkModels,
  },
  init: {
    workflow: row("--workflow", "Also writes the workflow of GitHub Actions.", flag),
    providerBaseUrl: row(
      "--provider-base-url <url>",
      "With `--workflow`: the address of your own model server, for which the job needs no `copilot-requests`.",
      text,
    ),
    force: row("--force", "Overwrites existing files whose content differs.", flag),
  },
  deliver: {
    entry: row("--entry <file>", "The entry in the repository, whose `outputs` allow it.", text),
    job: row("--job <name>", "The job. May be omitted if the entry has only one.", text),
    digest: row("--digest <sha256>", "The digest that the journal must have.", text),
    staged: row("--staged", "Only shows what would be written.", flag),
  },
  models: { ...access, ...forPrograms },
  list: forPrograms,
  chart: {
    journal: row(
      "--journal <file>",
      "Draws a run from its journal, with the outcome of each task.",
      text,
    ),
    run: row("--run <id>", "The run of the journal to draw.", text, {
      without: { cli: "the last" },
    }),
  },
  report: {
    output: row("-o, --output <file>", "The file to write (`-` for stdout).", text, {
      default: "report.html",
    }),
  },
  history: {
    workflow: row(
      "--workflow <file>",
      "Reads the journals that the latest runs of this GitHub workflow left as artifacts.",
      text,
    ),
    repository: row("--repository <owner/name>", "With `--workflow`: its repository.", text, {
      env: "GITHUB_REPOSITORY",
    }),
    runs: row("--runs <n>", "With `--workflow`: how many runs, at most 100.", count, {
      without: { cli: "30" },
    }),
    compare: row("--compare <a..b>", "Compares two runs, by the beginning of their ids.", text),
    html: row("--html <file>", "Also writes the runs as an HTML report.", text),
    ...forPrograms,
  },
  rehearse: {
    test: row(
      "-t, --test <pattern>",
      "Only rehearsals whose path or description matches this regular expression.",
      pattern,
    ),
    watch: row("--watch", "Rehearses again what depends on a file when it changes.", flag),
    reporters: row(
      "--reporter <name[=file]>",
      `${reporterNames.join(", ")}: printed, or written to a file.`,
      reporters,
      { without: { cli: "list" } },
    ),
    shard: row("--shard <n/count>", "Only one of several equal parts, such as 1/3.", shard),
    update: row(
      "--update",
      "Writes what was seen into `expect`, where it differs or is missing.",
      flag,
    ),
    parallel: row("--parallel <n>", "Maximum number of concurrent rehearsals.", count, {
      without: { cli: "the number of cores" },
    }),
    coverage: row("--coverage", "Reports which parts of the jobs no rehearsal has reached.", flag),
    coverageThreshold: row(
      "--coverage-threshold <percent>",
      "Fails if the coverage is lower.",
      percent,
    ),
    env,
    workingDirectory: row(
      "--working-directory <dir>",
      "For rehearsals that name no folder.",
      text,
      {
        without: {
          cli: "the current directory, or the checkout of a rehearsal outside of it",
        },
      },
    ),
    inPlace,
    sandbox,
    runtimePath,
    verbose: { ...verbose, help: "Prints the log of each run." },
  },
  eval: {
    runs: row("--runs <n>", "Runs of each case. Overrides `runs` of the file.", count),
    only: row(
      "--only <pattern>",
      "Only cases whose name matches this regular expression.",
      pattern,
    ),
    sample: row("--sample <n>", "Only this many cases, the same each time.", count),
    parallel: row(
      "--parallel <n>",
      "Maximum number of concurrent runs. Overrides `parallel` of the file.",
      count,
    ),
    baseline: row(
      "--baseline <file>",
      "Fails if a pass rate is significantly lower than in this file.",
      text,
    ),
    updateBaseline: row("--update-baseline", "Writes the pass rates to the baseline.", flag),
    failed: row(
      "--failed",
      "Repeats the failed runs of the last eval, and replaces their results.",
      flag,
    ),
    outputDir: row(
      "--output-dir <dir>",
      "The folder for report.html, eval.json, junit.xml, summary.md, results.jsonl and the journals of failed runs.",
      text,
    ),
    format,
    verbose: { ...verbose, help: "Prints each run, and all cases." },
    env,
    sandbox,
    ...access,
  },
  serve: {
    entry: row("--entry <file>", "The same as the argument.", text, {
      without: { cli: "the entry of the rehearsal, or an example" },
    }),
    port: row("--port <port>", "The port; 0 selects a free one.", port, { default: 8888 }),
    host: row(
      "--host <host>",
      "The address to listen on. `--token` is required unless it is loopback.",
      text,
      { default: "127.0.0.1" },
    ),
    allowedHost: row(
      "--allowed-host <name>",
      "Another host name of this server, such as that of a proxy.",
      paths,
    ),
    token: row("--token <token>", "The token that every request must carry.", text, {
      env: "AGENT_JOBS_TOKEN",
      mustBeFilled: true,
    }),
    journals: row(
      "--journals <dir>",
      "Writes the journal of every run to this folder, and shows its journals.",
      text,
    ),
    test: row("--test", "Starts without an entry, and lets clients install entries.", flag),
    entriesDir: row(
      "--entries-dir <dir>",
      "With `--test`: the folder of the entries that clients may install.",
      text,
      { without: { cli: "test" } },
    ),
    ...optionsOn("serve"),
  },
  doctor: {
    model: row("--model <id>", "Also asks this model to call a tool, and measures it.", text),
    ...access,
    ...forPrograms,
  },
  build: {
    ...tool,
    print: row(
      "--print",
      "Prints the Dockerfile of its recipe, or its command, and builds nothing.",
      flag,
    ),
    plain: row("--plain", "With `--print`: fails for a recipe that needs Docker.", flag, {
      implies: { print: true },
    }),
  },
  call: tool,
};

type Given<Rows> = {
  readonly [
    Field in keyof Rows as Rows[Field] extends { readonly default: unknown } ? Field : never
  ]: Value<Rows[Field]>;
} & {
  readonly [
    Field in keyof Rows as Rows[Field] extends { readonly default: unknown } ? never : Field
  ]?: Value<Rows[Field]>;
};

export type OptionsOf<Name extends keyof typeof options> = Given<(typeof options)[Name]>;

const runs: ReadonlySet<unknown> = new Set<unknown>([options.run, options.plan, options.merge]);

export function addOptions(command: Command, rows: Readonly<Record<string, Row>>): Command {
  const isOfRun = runs.has(rows);
  for (const [field, described] of Object.entries(rows)) {
    const { kind, env: variable, mustBeFilled, conflicts, implies, group } = described;
    const help = helpOf(described).replaceAll("`", "");
    const option = new Flag(described.flag, help).default(described.default);
    // `choices` lists them in the help.
    if (kind.values !== undefined) option.choices(kind.values);
    if (kind.isFlag !== true)
      option.argParser((one, earlier) =>
        variable !== undefined && mustBeFilled !== true && one.trim() === ""
          ? undefined
          : parsed(kind, one, earlier),
      );
    if (variable !== undefined) option.env(variable);
    if (conflicts !== undefined) option.conflicts(conflicts);
    if (implies !== undefined) option.implies({ ...implies });
    if (group !== undefined) option.helpGroup(`${group}:`);
    option.hidden = isOfRun && Object.hasOwn(options.run, field) && !common.includes(field);
    option.attributeName = () => field;
    command.addOption(option);
  }
  return isOfRun ? addHelpOfAll(command) : command;
}

function addHelpOfAll(command: Command): Command {
  return command.option("--help-all", "display help with all options").on("option:help-all", () => {
    for (const option of command.options) option.hidden = false;
    command.help();
  });
}

/** In Markdown. */
export function helpOf({ help, kind, without }: Row): string {
  const ends = [
    ...(without?.cli === undefined ? [] : [` Default: ${without.cli}.`]),
    ...(isRepeated(kind) ? [" Repeatable."] : []),
  ];
  return `${help}${ends.join("")}`;
}

/** Commander puts the option and its argument before what is thrown. */
function parsed(kind: Kind<unknown>, given: string, earlier: unknown): unknown {
  const read = kind.parse(given, earlier);
  if (read.kind === "value") return read.value;
  throw new InvalidArgumentError(`It ${read.problem}.`);
}
