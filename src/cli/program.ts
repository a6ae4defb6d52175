/** The command line: names, help texts, and the one place where an error becomes text and an exit code. */
import { inspect } from "node:util";
import { Command, CommanderError, Option } from "commander";
import { parsePort, UsageError } from "../run/options.ts";
import { DiagnosticsError, diagnosticLine } from "../document/diagnostic.ts";
import { version } from "../generated/version.ts";
import { systemFault } from "../platform/system-error.ts";
import type { ChartFlags } from "./chart.ts";
import type { DoctorFlags } from "./doctor.ts";
import {
  addEnvironmentOption,
  addServedOptions,
  addModelOptions,
  addServerOptions,
  addRehearsalOptions,
  addWorkflowOptions,
  by,
  choice,
  validateFormats,
  sandboxOption,
} from "./flags.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";
import type { ReportFlags } from "./report.ts";
import type { RehearseFlags } from "./rehearse.ts";
import type { RunFlags } from "./run.ts";
import type { ServeFlags } from "./serve.ts";
import type { ToolBuildFlags, ToolFlags } from "./tool.ts";
import type { ValidateFlags } from "./validate.ts";

/** Runs one command; never rejects. */
export async function runProgram(args: readonly string[], io: Io): Promise<ExitCode> {
  const { output } = io;
  let code: ExitCode = exitCode.success;
  const program = createProgram(io, (result) => (code = result));
  try {
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? exitCode.success : exitCode.usage;
    }
    if (error instanceof DiagnosticsError) {
      for (const diagnostic of error.diagnostics) output.printError(diagnosticLine(diagnostic));
      return exitCode.usage;
    }
    if (error instanceof UsageError) {
      output.printError(`agent-jobs: ${error.message}`);
      return exitCode.usage;
    }
    reportBug(error, io);
    return exitCode.failed;
  }
}

/** Reports an error that nothing else has explained. */
export function reportBug(error: unknown, { output }: Io): void {
  const fault = systemFault(error);
  output.printError(
    fault === undefined
      ? `agent-jobs: this is a bug in agent-jobs. Please report it.\n${inspect(error)}`
      : `agent-jobs: ${fault}`,
  );
}

const ENTRY = "entry file, YAML or JSON";
const ENTRY_OR_WORKFLOW = `${ENTRY}, or workflow file (*.wf.md)`;
const JOB = "name of the job; may be omitted if the entry has only one";

function tokenHint(error: string): string {
  return /^error: unknown option '--[\w-]*token/.test(error)
    ? "(a GitHub token is read from the environment: COPILOT_GITHUB_TOKEN=… agent-jobs …)\n"
    : "";
}

function createProgram(io: Io, end: (code: ExitCode) => void): Command {
  const { output } = io;
  const program = new Command("agent-jobs")
    .description("Runs AI agents the way a test runner runs tests.")
    .version(version)
    .showHelpAfterError("(run agent-jobs --help for a list of commands)")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => output.print(text.trimEnd()),
      writeErr: (text) => output.printError(text.trimEnd()),
      outputError: (text, write) => write(text + tokenHint(text)),
    })
    .addHelpText(
      "after",
      `
Exit codes: 0 success, 1 the job or a rehearsal failed,
            2 wrong usage, a missing user input, or an invalid entry, 130 canceled.`,
    );

  addRunOptions(program.command("run"))
    .argument("<entry>", ENTRY_OR_WORKFLOW)
    .argument("[job]", JOB)
    .description("run a job of an entry, or a workflow")
    .action(async (entry: string, job: string | undefined, flags: RunFlags) =>
      end(await (await import("./run.ts")).run(entry, job, flags, io)),
    );

  addServerOptions(program.command("validate"))
    .argument("<entry...>", "entries, workflows and rehearsals")
    .description(
      "report all problems of entries, workflows (*.wf.md) and rehearsals (*.rehearsal.*), one per line",
    )
    .addOption(choice("--format <format>", "output format", validateFormats).default("text"))
    .option("--strict", "treat warnings as errors")
    .option("--check-models", "ask the model server, or GitHub, whether it offers the models")
    .action(async (files: string[], flags: ValidateFlags) =>
      end(await (await import("./validate.ts")).validate(files, flags, io)),
    );

  program
    .command("list")
    .argument("<entry>", ENTRY_OR_WORKFLOW)
    .description(
      "list the jobs of an entry with their user input, tasks and models, or the parameters of a workflow",
    )
    .option("--json", "print JSON")
    .action(async (entry: string, { json }: { json?: true }) =>
      end(await (await import("./list.ts")).list(entry, json === true, io)),
    );

  program
    .command("chart")
    .argument("[entry]", `${ENTRY_OR_WORKFLOW}; not with --journal`)
    .argument("[job]", JOB)
    .description("print a job or a workflow as a Mermaid flowchart")
    .option(
      "--journal <file>",
      "draw a recorded run from its journal, with the outcome of each task",
    )
    .option("--run <id>", "run of the journal to draw (default: the last)")
    .action(async (entry: string | undefined, job: string | undefined, flags: ChartFlags) =>
      end(await (await import("./chart.ts")).chart(entry, job, flags, io)),
    );

  program
    .command("report")
    .argument("<journal...>", "journals, and folders of journals (*.jsonl)")
    .description("write the runs of journals as one HTML file that opens without a server")
    .option("-o, --output <file>", "file to write (- for stdout)", "report.html")
    .action(async (journals: string[], flags: ReportFlags) =>
      end(await (await import("./report.ts")).report(journals, flags, io)),
    );

  addEnvironmentOption(program.command("rehearse"))
    .argument("<rehearsal...>", "rehearsal files, YAML or JSON")
    .description("run rehearsals as tests")
    .option("--working-directory <dir>", "folder for rehearsals that don't name one", ".")
    .option("--in-place", "work in the folder itself instead of a copy")
    .addOption(sandboxOption())
    .option("--runtime-path <path>", "path of the Copilot runtime")
    .option("--verbose", "print the log of each run")
    .action(async (files: string[], flags: RehearseFlags) =>
      end(await (await import("./rehearse.ts")).rehearse(files, flags, io)),
    );

  addServeOptions(program.command("serve"))
    .argument("[entry]", ENTRY_OR_WORKFLOW)
    .description("serve the HTTP API and the portal")
    .action(async (entry: string | undefined, flags: ServeFlags) =>
      end(await (await import("./serve.ts")).serve(withEntry(flags, entry), io)),
    );

  addServerOptions(program.command("doctor"))
    .description("check what this machine has of what runs need, and say what to do about the rest")
    .option("--json", "print JSON")
    .action(async (flags: DoctorFlags) =>
      end(await (await import("./doctor.ts")).doctor(flags, io)),
    );

  program
    .command("schema")
    .description("print the JSON Schema of entries or rehearsals")
    .argument("[kind]", "entry or rehearsal", "entry")
    .action(async (kind: string) => end((await import("./schema.ts")).schema(kind, io)));

  addToolCommands(program.command("tool").description("build or call a tool of an entry"), io, end);

  for (const command of program.commands)
    command.showHelpAfterError(`(run agent-jobs ${command.name()} --help for its options)`);
  return program;
}

function addToolCommands(tool: Command, io: Io, end: (code: ExitCode) => void): void {
  addToolOptions(tool.command("build"))
    .argument("<name>", "name of the tool")
    .description("build a tool, as before its first call")
    .option("--print", "print the Dockerfile of its recipe, or its command, and build nothing")
    .addOption(
      new Option("--plain", "with --print: commands for a machine without Docker").implies({
        print: true,
      }),
    )
    .action(async (name: string, flags: ToolBuildFlags) =>
      end(await (await import("./tool.ts")).buildToolOf(name, flags, io)),
    );
  addToolOptions(tool.command("call"))
    .argument("<name>", "name of the tool, or SERVER/TOOL")
    .argument("[arguments]", "its arguments, a JSON object (default: {})")
    .description("call a tool, and print its result")
    .action(async (name: string, params: string | undefined, flags: ToolFlags) =>
      end(await (await import("./tool.ts")).callTool(name, params, flags, io)),
    );
  for (const command of tool.commands)
    command.showHelpAfterError(`(run agent-jobs tool ${command.name()} --help for its options)`);
}

function addToolOptions(command: Command): Command {
  return addEnvironmentOption(command)
    .option("--entry <file>", "entry file (default: the only one in the current directory)")
    .option(
      "--working-directory <dir>",
      "folder in which the tool works (default: the current directory)",
    );
}

function addRunOptions(command: Command): Command {
  return addModelOptions(addRehearsalOptions(addWorkflowOptions(addInputOptions(command))))
    .option("--record <file>", "record this run as a rehearsal")
    .option("--journal <file>", "write every event to a file, as JSON lines")
    .option("--html-report <file>", "write a report of the run as one HTML file")
    .option("--chart", "print a Mermaid chart of what ran")
    .addOption(
      new Option(
        "--quiet",
        "print only failures, what the run goes on without, and the end",
      ).conflicts("verbose"),
    )
    .option("--verbose", "also print sessions, tool calls and messages");
}

function addInputOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--user-input <text>", "the text of $user-input").conflicts("userInputFile"),
    )
    .option("--user-input-file <path>", "read the user input from a file (- for stdin)")
    .option(
      "--working-directory <dir>",
      "folder in which the agent works (default: the current directory)",
    );
}

function addServeOptions(command: Command): Command {
  const withServer = command
    .option(
      "--entry <file>",
      "the same as the argument (default: the entry of the rehearsal, or an example)",
    )
    .option("--port <port>", "port to listen on; 0 selects a free one", by(parsePort), 8888)
    .option(
      "--host <host>",
      "address to listen on; --token is required unless it is loopback",
      "127.0.0.1",
    )
    .option(
      "--allowed-host <name>",
      "another host name of this server, such as that of a proxy (repeatable)",
      (name: string, names?: readonly string[]) => [...(names ?? []), name],
    )
    .addOption(
      new Option("--token <token>", "token that every request must carry").env("AGENT_JOBS_TOKEN"),
    )
    .option(
      "--journals <dir>",
      "write the journal of every run to this folder, and show its journals",
    )
    .option("--test", "start without an entry, and let clients install entries")
    .option(
      "--entries-dir <dir>",
      "with --test: the folder of the entries that clients may install (default: test)",
    );
  return addModelOptions(addRehearsalOptions(addServedOptions(withServer)));
}

/** The entry may be an argument, as for `run`. */
function withEntry(flags: ServeFlags, entry: string | undefined): ServeFlags {
  if (entry === undefined) return flags;
  if (flags.entry !== undefined) throw new UsageError("The entry is given twice. Omit --entry.");
  return { ...flags, entry };
}
