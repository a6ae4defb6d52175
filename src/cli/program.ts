/** The command line: names, help texts, and the one place where an error becomes text and an exit code. */
import { inspect } from "node:util";
import { Argument, Command, CommanderError } from "commander";
import { UsageError } from "../run/options.ts";
import { DiagnosticsError, diagnosticLine } from "../document/diagnostic.ts";
import { version } from "../generated/version.ts";
import { systemFault } from "../platform/system-error.ts";
import { addOptions, options, type Row } from "./options.ts";
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
const JOURNALS = "journals, and folders of journals (*.jsonl)";
const JOB = "name of the job; may be omitted if the entry has only one";

function tokenHint(error: string): string {
  return /^error: unknown option '--[\w-]*token/.test(error)
    ? "(a GitHub token is read from the environment: COPILOT_GITHUB_TOKEN=… agent-jobs …)\n"
    : "";
}

/** Loads the code of a command only when it runs. The command gets its arguments, then its options. */
type Load<Given extends unknown[]> = () => Promise<
  (io: Io, ...given: Given) => ExitCode | Promise<ExitCode>
>;

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

  function add<Given extends unknown[]>(name: string, load: Load<Given>, parent = program) {
    const rows: Readonly<Record<string, Readonly<Record<string, Row>>>> = options;
    const command = parent
      .command(name)
      .action(async (...given: Given) => end(await (await load())(io, ...given)));
    return addOptions(command, rows[name] ?? {});
  }

  add("run", async () => (await import("./run.ts")).run)
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
    );
  add("plan", async () => (await import("./run.ts")).plan)
    .argument("<entry>", ENTRY)
    .argument("[job]", JOB)
    .description("run the steps before a job's fan-out, and print the matrix of its shards");
  add("merge", async () => (await import("./run.ts")).merge)
    .argument("<journal...>", "journals of a plan and of its shards")
    .description("merge the shards of a job, and run the steps after its fan-out");
  add("validate", async () => (await import("./validate.ts")).validate)
    .argument("[entry...]", `entries, workflows, rehearsals and evals (${ALL})`)
    .description(
      "report all problems of entries, workflows (*.wf.md), rehearsals (*.rehearsal.*) and evals (*.eval.*), one per line",
    );
  add("init", async () => (await import("./init.ts")).init)
    .addArgument(
      new Argument("[template]", "what to write")
        .choices(["review", "fix-ci", "nightly", "triage", "release-notes"])
        .default("review"),
    )
    .description("write an entry and its rehearsal for this repository, and rehearse it");
  add("deliver", async () => (await import("./deliver.ts")).deliver)
    .argument("<journal>", "journal of a run of the action")
    .description("publish the output of a run that couldn't write to GitHub");
  add("models", async () => (await import("./models.ts")).models).description(
    "list the models that the token or the model server offers",
  );
  add("list", async () => (await import("./list.ts")).list)
    .argument("[entry]", `${ENTRY_OR_WORKFLOW} (${ALL})`)
    .description(
      "list the jobs of an entry with their user input, tasks and models, or the parameters of a workflow",
    );
  add("chart", async () => (await import("./chart.ts")).chart)
    .argument("[entry]", `${ENTRY_OR_WORKFLOW}; not with --journal`)
    .argument("[job]", JOB)
    .description("print a job or a workflow as a Mermaid flowchart");
  add("report", async () => (await import("./report.ts")).report)
    .argument("<journal...>", JOURNALS)
    .description("write the runs of journals as one HTML file that opens without a server");
  add("history", async () => (await import("./history.ts")).history)
    .argument("[journal...]", JOURNALS)
    .description(
      "show what earlier runs cost and took, which tasks are flaky, what became of findings",
    );
  add("rehearse", async () => (await import("./rehearse.ts")).rehearse)
    .argument(
      "[rehearsal...]",
      "rehearsal files, folders and globs (default: those in .github/agent-jobs, or if there is no such folder, here)",
    )
    .description("run rehearsals as tests");
  add("eval", async () => (await import("./eval.ts")).evaluate)
    .argument("<file>", "eval file, YAML or JSON")
    .description("measure how often the cases of a job pass, and what they cost");
  add("serve", async () => (await import("./serve.ts")).serve)
    .argument("[entry]", ENTRY_OR_WORKFLOW)
    .description("serve the HTTP API and the portal");
  add("doctor", async () => (await import("./doctor.ts")).doctor).description(
    "check that this machine has what runs need, and say how to fix the rest",
  );
  add("schema", async () => (await import("./validate.ts")).printSchema)
    .addArgument(
      new Argument("[kind]", "which one").choices(["entry", "rehearsal", "eval"]).default("entry"),
    )
    .description("print the JSON Schema of entries, rehearsals or evals");
  program
    .command("completion")
    .description("print a script that completes commands, options and names of entries in a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .action(async (shell: string) => {
      output.print((await import("./completion.ts")).completion(program, shell));
      end(exitCode.success);
    });
  const tool = program.command("tool").description("build or call a tool of an entry");
  add("build", async () => (await import("./tool.ts")).buildTool, tool)
    .argument("<name>", "name of the tool")
    .description("build a tool, as before its first call");
  add("call", async () => (await import("./tool.ts")).callTool, tool)
    .argument("<name>", "name of the tool, or SERVER/TOOL")
    .argument("[arguments]", "its arguments, a JSON object (default: {})")
    .description("call a tool, and print its result");
  for (const one of [...program.commands, ...tool.commands]) {
    const path = one.parent === tool ? `tool ${one.name()}` : one.name();
    one.showHelpAfterError(`(run agent-jobs ${path} --help for its options)`);
  }
  return program;
}
