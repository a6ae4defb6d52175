import { defined } from "../document/guards.ts";
import { text } from "node:stream/consumers";
import { ReadStream } from "node:tty";
import { asFlag } from "../run/options.ts";
import { readUserInputFile } from "../run/options-paths.ts";
import { prepareRun, type RunOptions } from "../run/prepare-run.ts";
import { executeRun } from "../run/run.ts";
import { createTerminalAsker, type TerminalAsker } from "./terminal-asker.ts";
import { diagnosticLine } from "../document/diagnostic.ts";
import {
  readSharedFlags,
  readWorkflowFlags,
  type SharedFlags,
  type WorkflowFlags,
} from "./flags.ts";
import { cancelFromTerminal, exitCode, type ExitCode, type Io } from "./process.ts";

/** The options of `agent-jobs run`, as commander hands them over. */
export interface RunFlags extends SharedFlags, WorkflowFlags {
  readonly userInput?: string;
  readonly userInputFile?: string;
  readonly workingDirectory?: string;
  readonly record?: string;
  readonly journal?: string;
  readonly htmlReport?: string;
  readonly chart?: true;
  readonly quiet?: true;
  readonly verbose?: true;
}

export async function run(
  entryFile: string,
  jobName: string | undefined,
  flags: RunFlags,
  io: Io,
): Promise<ExitCode> {
  const signals = cancelFromTerminal();
  try {
    const options = await runOptions(entryFile, jobName, flags, io);
    const prepared = await prepareRun(options);
    const { output } = io;
    for (const warning of flags.quiet === true ? [] : prepared.warnings) {
      output.printError(diagnosticLine(warning));
    }
    const { outcome, reporterFailures, complete } = await executeRun(prepared, options, {
      ...signals,
      onStarted(save) {
        if (options.htmlReport !== undefined) signals.onLastCall = save;
      },
    });
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
  io: Io,
): Promise<RunOptions> {
  const shared = readSharedFlags(flags);
  const userInput = await userInputOf(flags, io);
  const { output } = io;
  const { asker, pause } = askerOf(flags, io) ?? {};
  return {
    entryFile,
    ...shared,
    ...readWorkflowFlags(flags),
    terminal: {
      stream: output.terminal,
      verbosity: flags.quiet === true ? "quiet" : flags.verbose === true ? "verbose" : "normal",
      ...output.looks,
      chart: flags.chart === true,
      ...defined({ pause }),
    },
    ...defined({
      asker,
      jobName,
      userInput,
      workingDirectory: flags.workingDirectory,
      record: flags.record,
      journal: flags.journal,
      htmlReport: flags.htmlReport,
    }),
  };
}

/** Nobody is asked by a rehearsal, whose answers are in its file, or in CI. */
function askerOf(
  { rehearse, userInputFile }: RunFlags,
  { stdin: input, stderr: output }: Io,
): TerminalAsker | undefined {
  const environment = process.env;
  const isWatched = output.isTTY === true && ["", "0", "false"].includes(environment["CI"] ?? "");
  if (
    !(input instanceof ReadStream) ||
    !isWatched ||
    rehearse !== undefined ||
    userInputFile === "-"
  )
    return undefined;
  const interrupt = (): void => void process.kill(process.pid, "SIGINT");
  return createTerminalAsker({ input, output, environment, interrupt });
}

async function userInputOf(
  { userInput, userInputFile }: RunFlags,
  io: Io,
): Promise<string | undefined> {
  if (userInputFile === undefined) return userInput;
  const input =
    userInputFile === "-" ? await text(io.stdin) : await readUserInputFile(userInputFile, asFlag);
  // As a shell's $(…) does: the line break at the end of a file is not part of the input.
  return input.replace(/\r?\n$/, "");
}
