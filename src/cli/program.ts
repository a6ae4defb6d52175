/** The command line: names, help texts, and the one place where an error becomes text and an exit code. */
import { inspect } from "node:util";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { withoutSecrets } from "../app/secrets.ts";
import {
  parseChoice,
  parseModel,
  parseNumber,
  UsageError,
  type Models,
  type Parsed,
} from "../app/options.ts";
import { providerTypes, wireApis } from "../app/options-provider.ts";
import { DiagnosticsError, diagnosticLine } from "../document/diagnostic.ts";
import { permissionPresets } from "../entry/model.ts";
import { version } from "../app/run-spec.ts";
import { chart, type ChartFlags } from "./chart.ts";
import { list } from "./list.ts";
import { exitCode, output, type ExitCode } from "./process.ts";
import { rehearse, type RehearseFlags } from "./rehearse.ts";
import { run, type RunFlags } from "./run.ts";
import { schema } from "./schema.ts";
import { validate, validateFormats } from "./validate.ts";

/** Runs one command; never rejects. */
export async function runProgram(args: readonly string[]): Promise<ExitCode> {
  let code: ExitCode = exitCode.success;
  const program = createProgram((result) => (code = result));
  try {
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? exitCode.success : exitCode.usage;
    }
    if (error instanceof DiagnosticsError) {
      for (const diagnostic of error.diagnostics) say(diagnosticLine(diagnostic));
      return exitCode.usage;
    }
    if (error instanceof UsageError) {
      say(`agent-jobs: ${error.message}`);
      return exitCode.usage;
    }
    say(`agent-jobs: this is a defect of agent-jobs, please report it.\n${inspect(error)}`);
    return exitCode.failed;
  }
}

/** What went wrong may quote what we were given. */
function say(text: string): void {
  output.printError(withoutSecrets(text, { environment: process.env }));
}

function createProgram(end: (code: ExitCode) => void): Command {
  const program = new Command("agent-jobs")
    .description("Runs AI-agent work the way a test runner runs tests.")
    .version(version)
    .showHelpAfterError("(agent-jobs --help lists the commands and their options)")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => output.print(text.trimEnd()),
      writeErr: (text) => output.printError(text.trimEnd()),
    })
    .addHelpText(
      "after",
      `
Exit codes: 0 success, 1 the job failed (rehearse: an expectation or a rule failed),
            2 wrong usage, a missing user input or an invalid entry, 130 canceled.`,
    );

  addRunOptions(program.command("run <entry> [job]"))
    .description("run a job of an entry (the job may be left out if the entry has just one)")
    .action(async (entry: string, job: string | undefined, flags: RunFlags) =>
      end(await run(entry, job, flags)),
    );

  program
    .command("validate <entry...>")
    .description(
      "report all problems of entries and rehearsals (*.rehearsal.*), as file:line:column: codePath: reason",
    )
    .addOption(choice("--format <format>", "how to print them", validateFormats).default("text"))
    .option("--strict", "let warnings count as errors")
    .action(
      async (
        files: string[],
        { format, strict }: { format: (typeof validateFormats)[number]; strict?: true },
      ) => end(await validate(files, format, strict === true)),
    );

  program
    .command("list <entry>")
    .description("list the jobs of an entry: the input they need, their tasks and models")
    .option("--json", "as JSON")
    .action(async (entry: string, { json }: { json?: true }) =>
      end(await list(entry, json === true)),
    );

  program
    .command("chart [entry] [job]")
    .description(
      "print a job as a Mermaid flowchart (the job may be left out if there is just one)",
    )
    .option("--journal <file>", "instead: the job of a run, with how every task of it ended")
    .option("--run <id>", "which run of the journal (default: the last)")
    .action(async (entry: string | undefined, job: string | undefined, flags: ChartFlags) =>
      end(await chart(entry, job, flags)),
    );

  program
    .command("rehearse <rehearsal...>")
    .description("run rehearsal files as tests: script and expectations, one line each")
    .option("--working-directory <dir>", "where the rehearsals that name no folder run", ".")
    .option("--in-place", "work in that folder itself, where a copy of it is the default")
    .option("--runtime-path <path>", "the Copilot runtime to use")
    .option("--verbose", "show what happens in each run")
    .action(async (files: string[], flags: RehearseFlags) => end(await rehearse(files, flags)));

  program
    .command("schema")
    .description("print the JSON Schema of an entry or of a rehearsal")
    .argument("[kind]", "entry or rehearsal", "entry")
    .action((kind: string) => end(schema(kind)));

  return program;
}

function addRunOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--user-input <text>", "what $user-input stands for").conflicts("userInputFile"),
    )
    .option("--user-input-file <path>", "read the user input from a file; - is stdin")
    .option("--working-directory <dir>", "where the agent works (default: the current directory)")
    .option("--rehearse <file>", "let the script of a rehearsal file play the model")
    .option("--in-place", "with --rehearse: work in the folder itself, not in a copy of it")
    .option("--record <file>", "keep the model exchanges of this run as a rehearsal")
    .option("--journal <file>", "write every event as a line of JSON")
    .option(
      "--model <category=id>",
      "use another model for a category (repeatable)",
      (text: string, models?: Models) => valueOf(parseModel(text, models)),
    )
    .addOption(
      choice(
        "--permissions <preset>",
        "what the agent may do where the entry does not say, and at most where it does",
        permissionPresets,
      ),
    )
    .option(
      "--max-parallel <n>",
      "turns at once (default: limits.parallel, 8)",
      by((text) => parseNumber(text, "a whole number")),
    )
    .addOption(
      choice("--provider-type <type>", "kind of model server (default: openai)", providerTypes),
    )
    .option(
      "--provider-base-url <url>",
      "a model server of your own; no GitHub token is needed then",
    )
    .addOption(new Option("--provider-api-key <key>", "its key").env("AGENT_JOBS_PROVIDER_API_KEY"))
    .addOption(choice("--provider-wire-api <api>", "its API (default: completions)", wireApis))
    .option("--runtime-path <path>", "the Copilot runtime to use")
    .option(
      "--timeout-minutes <n>",
      "limit of the whole job, over limits.jobMinutes",
      by((text) => parseNumber(text, "a number")),
    )
    .option("--chart", "print the chart of what ran, as Mermaid text")
    .addOption(new Option("--quiet", "print failures and the end only").conflicts("verbose"))
    .option("--verbose", "also print sessions, tool calls and messages");
}

/** How commander parses a value: with the parser that all edges share. */
function by<T>(parse: (text: string) => Parsed<T>): (text: string) => T {
  return (text) => valueOf(parse(text));
}

/** Commander puts the option and its argument before what is thrown. */
function valueOf<T>(parsed: Parsed<T>): T {
  if (parsed.kind === "value") return parsed.value;
  throw new InvalidArgumentError(`It ${parsed.problem}.`);
}

/** An option that has one of these values. */
function choice(flags: string, description: string, values: readonly string[]): Option {
  // `choices` lists them in the help.
  return new Option(flags, description)
    .choices(values)
    .argParser(by((text) => parseChoice(text, values)));
}
