/** The command line: names, help texts, and the one place where an error becomes text and an exit code. */
import { inspect } from "node:util";
import { Argument, Command, CommanderError } from "commander";
import { UsageError } from "../run/options.ts";
import { DiagnosticsError, diagnosticLine } from "../document/diagnostic.ts";
import { version } from "../generated/version.ts";
import { systemFault } from "../platform/system-error.ts";
import { addOptions, options, type OptionsOf } from "./options.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";

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

export function reportBug(error: unknown, { output }: Io): void {
  const fault = systemFault(error);
  output.printError(
    fault === undefined
      ? `agent-jobs: this is a bug in agent-jobs. Please report it.\n${inspect(error)}`
      : `agent-jobs: ${fault}`,
  );
}

const ENTRY = "entry file, YAML or JSON, or the name of one in .github/agent-jobs";
const ENTRY_OR_WORKFLOW =
  "entry, workflow (*.wf.md) or prompt (*.prompt.md), or the name of one in .github/agent-jobs";
const ALL = "default: those in .github/agent-jobs";
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

  const command = (name: Exclude<keyof typeof options, "build" | "call">): Command =>
    addOptions(program.command(name), options[name]);

  command("run")
    .argument("[entry]", ENTRY_OR_WORKFLOW)
    .argument("[job]", JOB)
    .description("run a job of an entry, a workflow, or a prompt")
    .addHelpText(
      "after",
      `
Examples:
  agent-jobs run review --base main --uncommitted
  agent-jobs run entries/hello.yml --user-input you --rehearse entries/hello.rehearsal.yml
  agent-jobs run --prompt 'Review this change: $change-files' --model gpt-5-mini`,
    )
    .action(async (entry: string | undefined, job: string | undefined, given: OptionsOf<"run">) =>
      end(await (await import("./run.ts")).run(entry, job, given, io)),
    );

  command("plan")
    .argument("<entry>", ENTRY)
    .argument("[job]", JOB)
    .description("run the steps before a job's fan-out, and print the matrix of its shards")
    .action(async (entry: string, job: string | undefined, given: OptionsOf<"plan">) =>
      end(await (await import("./run.ts")).plan(entry, job, given, io)),
    );

  command("merge")
    .argument("<journal...>", "journals of a plan and of its shards")
    .description("merge the shards of a job, and run the steps after its fan-out")
    .action(async (journals: string[], given: OptionsOf<"merge">) =>
      end(await (await import("./run.ts")).merge(journals, given, io)),
    );

  command("validate")
    .argument("[entry...]", `entries, workflows, rehearsals and evals (${ALL})`)
    .description(
      "report all problems of entries, workflows (*.wf.md), rehearsals (*.rehearsal.*) and evals (*.eval.*), one per line",
    )
    .action(async (files: string[], given: OptionsOf<"validate">) =>
      end(await (await import("./validate.ts")).validate(files, given, io)),
    );

  command("init")
    .addArgument(
      new Argument("[template]", "what to write")
        .choices(["review", "fix-ci", "nightly", "triage", "release-notes"])
        .default("review"),
    )
    .description("write an entry and its rehearsal for this repository, and rehearse it")
    .action(async (template: string, given: OptionsOf<"init">) =>
      end(await (await import("./init.ts")).init(template, given, io)),
    );

  command("deliver")
    .argument("<journal>", "journal of a run of the action")
    .description("publish the output of a run that couldn't write to GitHub")
    .action(async (journal: string, given: OptionsOf<"deliver">) =>
      end(await (await import("./deliver.ts")).deliver(journal, given, io)),
    );

  command("models")
    .description("list the models that the token or the model server offers")
    .action(async (given: OptionsOf<"models">) =>
      end(await (await import("./models.ts")).models(given, io)),
    );

  command("list")
    .argument("[entry]", `${ENTRY_OR_WORKFLOW} (${ALL})`)
    .description(
      "list the jobs of an entry with their user input, tasks and models, or the parameters of a workflow",
    )
    .action(async (entry: string | undefined, { json, format }: OptionsOf<"list">) =>
      end(await (await import("./list.ts")).list(entry, json === true || format === "json", io)),
    );

  command("chart")
    .argument("[entry]", `${ENTRY_OR_WORKFLOW}; not with --journal`)
    .argument("[job]", JOB)
    .description("print a job or a workflow as a Mermaid flowchart")
    .action(async (entry: string | undefined, job: string | undefined, given: OptionsOf<"chart">) =>
      end(await (await import("./chart.ts")).chart(entry, job, given, io)),
    );

  command("report")
    .argument("<journal...>", "journals, and folders of journals (*.jsonl)")
    .description("write the runs of journals as one HTML file that opens without a server")
    .action(async (journals: string[], given: OptionsOf<"report">) =>
      end(await (await import("./report.ts")).report(journals, given, io)),
    );

  command("history")
    .argument("[journal...]", "journals, and folders of journals (*.jsonl)")
    .description(
      "show what earlier runs cost and took, which tasks are flaky, what became of findings",
    )
    .action(async (journals: string[], given: OptionsOf<"history">) =>
      end(await (await import("./history.ts")).history(journals, given, io)),
    );

  command("rehearse")
    .argument(
      "[rehearsal...]",
      "rehearsal files, folders and globs (default: those in .github/agent-jobs, or if there is no such folder, here)",
    )
    .description("run rehearsals as tests")
    .action(async (files: string[], given: OptionsOf<"rehearse">) =>
      end(await (await import("./rehearse.ts")).rehearse(files, given, io)),
    );

  command("eval")
    .argument("<file>", "eval file, YAML or JSON")
    .description("measure how often the cases of a job pass, and what they cost")
    .action(async (file: string, given: OptionsOf<"eval">) =>
      end(await (await import("./eval.ts")).evaluate(file, given, io)),
    );

  command("serve")
    .argument("[entry]", ENTRY_OR_WORKFLOW)
    .description("serve the HTTP API and the portal")
    .action(async (entry: string | undefined, given: OptionsOf<"serve">) =>
      end(await (await import("./serve.ts")).serve(withEntry(given, entry), io)),
    );

  command("doctor")
    .description("check that this machine has what runs need, and say how to fix the rest")
    .action(async (given: OptionsOf<"doctor">) =>
      end(await (await import("./doctor.ts")).doctor(given, io)),
    );

  program
    .command("schema")
    .description("print the JSON Schema of entries, rehearsals or evals")
    .addArgument(
      new Argument("[kind]", "which one").choices(["entry", "rehearsal", "eval"]).default("entry"),
    )
    .action(async (kind: string) => end((await import("./schema.ts")).schema(kind, io)));

  program
    .command("completion")
    .description("print a script that completes commands, options and names of entries in a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .action(async (shell: string) => {
      output.print((await import("./completion.ts")).completion(program, shell));
      end(exitCode.success);
    });

  const tool = program.command("tool").description("build or call a tool of an entry");
  addOptions(tool.command("build"), options.build)
    .argument("<name>", "name of the tool")
    .description("build a tool, as before its first call")
    .action(async (name: string, given: OptionsOf<"build">) =>
      end(await (await import("./tool.ts")).buildTool(name, given, io)),
    );
  addOptions(tool.command("call"), options.call)
    .argument("<name>", "name of the tool, or SERVER/TOOL")
    .argument("[arguments]", "its arguments, a JSON object (default: {})")
    .description("call a tool, and print its result")
    .action(async (name: string, params: string | undefined, given: OptionsOf<"call">) =>
      end(await (await import("./tool.ts")).callTool(name, params, given, io)),
    );

  for (const one of program.commands)
    one.showHelpAfterError(`(run agent-jobs ${one.name()} --help for its options)`);
  for (const one of tool.commands)
    one.showHelpAfterError(`(run agent-jobs tool ${one.name()} --help for its options)`);
  return program;
}

/** The entry may be an argument, as for `run`. */
function withEntry(given: OptionsOf<"serve">, entry: string | undefined): OptionsOf<"serve"> {
  if (entry === undefined) return given;
  if (given.entry !== undefined) throw new UsageError("The entry is given twice. Omit --entry.");
  return { ...given, entry };
}
