/** The commands `run`, `plan` and `merge`: arguments to the options of a run, and its end to an exit code. */
import { text } from "node:stream/consumers";
import { ReadStream } from "node:tty";
import { asFlag, type Inputs, UsageError } from "../run/options.ts";
import type { RunOutcome } from "../events/event.ts";
import { printLastLine } from "../reports/terminal/terminal-reporter.ts";
import { fileErrorMessage } from "../platform/system-error.ts";
import { readUserInputFile } from "../run/options-paths.ts";
import type { ContinueOptions } from "../run/prepared-run.ts";
import { prepareRun, type RunOptions } from "../run/prepare.ts";
import { recordPaths } from "../run/records.ts";
import { executeRun } from "../run/execute.ts";
import type { TerminalAsker } from "./terminal-asker.ts";
import { diagnosticLine } from "../document/diagnostic.ts";
import { telemetryTarget } from "../run/telemetry.ts";
import { readAccess } from "./access.ts";
import { defined } from "../text/guards.ts";
import { findEntry } from "./found.ts";
import type { OptionsOf } from "./options.ts";
import { cancelFromTerminal, exitCode, type ExitCode, type Io } from "./process.ts";

type Given = Omit<OptionsOf<"run">, "shard">;

export function run(
  io: Io,
  entryFile: string | undefined,
  jobName: string | undefined,
  { shard, ...given }: OptionsOf<"run">,
): Promise<ExitCode> {
  return runPart(entryFile, jobName, given, io, { shard });
}

async function runPart(
  entryFile: string | undefined,
  jobName: string | undefined,
  given: Given,
  io: Io,
  more: ContinueOptions = {},
): Promise<ExitCode> {
  const signals = cancelFromTerminal();
  try {
    const options = { ...(await runOptions(entryFile, jobName, given, io)), ...more };
    const prepared = await prepareRun(options);
    const { output } = io;
    for (const warning of given.quiet === true ? [] : prepared.warnings) {
      output.printError(diagnosticLine(warning));
    }
    const { outcome, view, judgement, reporterFailures, complete } = await executeRun(
      prepared,
      options,
      {
        ...signals,
        onStarted(save) {
          if (options.outputDir !== undefined) signals.onLastCall = save;
        },
      },
    );
    for (const { reporter, message } of reporterFailures) {
      output.printError(`agent-jobs: warning: the ${reporter} is incomplete: ${message}`);
    }
    if (given.format === "json" && more.plan !== true) {
      const { runJson } = await import("../reports/run-json.ts");
      const { writtenRunJson } = await import("../run/output-directory.ts");
      output.printJson(writtenRunJson(options.outputDir) ?? runJson(view));
    }
    if (judgement.kind === "passed" && judgement.warning !== undefined)
      output.printError(`agent-jobs: warning: ${judgement.warning}`);
    const missing = complete ? [] : reporterFailures.filter(({ essential }) => essential);
    const reason = [
      ...missing.map(({ reporter, message }) => `The ${reporter} is incomplete: ${message}`),
      ...(judgement.kind === "failed" ? [judgement.reason] : []),
    ].join(" ");
    const code = codeOf(outcome, reason === "");
    const words = { fails: `the exit code is ${code}`, passes: "" };
    const passes = code === exitCode.success;
    if (options.terminal !== undefined)
      printLastLine(options.terminal, view, { passes, reason, words });
    return code;
  } finally {
    signals.dispose();
  }
}

function codeOf({ kind }: RunOutcome, isSound: boolean): ExitCode {
  if (kind === "canceled") return exitCode.canceled;
  return kind !== "failed" && isSound ? exitCode.success : exitCode.failed;
}

async function runOptions(
  entryFile: string | undefined,
  jobName: string | undefined,
  given: Given,
  io: Io,
): Promise<RunOptions> {
  const found = entryFile === undefined ? undefined : await findEntry(entryFile);
  const access = readAccess(given);
  const { quiet, verbose, chart, userInputFile: _, format, inputs, otlp, ...options } = access;
  const userInput = await userInputOf(given, io);
  const { output } = io;
  const { asker, pause } = (await askerOf(given, io)) ?? {};
  // A rehearsal may name a folder itself.
  const workingDirectory = given.rehearse === undefined ? found?.root : undefined;
  return {
    entryFile: found?.file,
    ...defined({ workingDirectory }),
    ...options,
    inputs: await readInputs(inputs),
    terminal: {
      // Whoever reads the result from stdout finds the log on stderr.
      stream: format === "json" ? io.stderr : output.terminal,
      verbosity: quiet === true ? "quiet" : verbose === true ? "verbose" : "normal",
      ...output.looks,
      chart: chart === true ? (await import("../reports/flow-chart.ts")).chartOf : undefined,
      pause,
    },
    telemetry: telemetryTarget(options.environment, otlp),
    asker,
    jobName,
    userInput,
  };
}

/** Nobody is asked by a rehearsal, whose answers are in its file, or in CI. */
async function askerOf(
  { rehearse, userInputFile }: Given,
  { stdin: input, stderr: output }: Io,
): Promise<TerminalAsker | undefined> {
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
  const { createTerminalAsker } = await import("./terminal-asker.ts");
  return createTerminalAsker({ input, output, environment, interrupt });
}

async function readInputs(inputs: Inputs = {}): Promise<Inputs> {
  const read = async ([name, value]: readonly [string, string]): Promise<[string, string]> => {
    if (!value.startsWith("@")) return [name, value];
    const whole = await readUserInputFile(value.slice(1), () => `--input ${name}`);
    return [name, whole.replace(/\r?\n$/, "")];
  };
  return Object.fromEntries(await Promise.all(Object.entries(inputs).map(read)));
}

async function userInputOf(
  { userInput, userInputFile }: Given,
  io: Io,
): Promise<string | undefined> {
  if (userInputFile === undefined) return userInput;
  const input =
    userInputFile === "-" ? await text(io.stdin) : await readUserInputFile(userInputFile, asFlag);
  // The line break at the end of a file is not part of the input, as in a shell's $(…).
  return input.replace(/\r?\n$/, "");
}

/** Prints the matrix on stdout, and the log of what runs before the fan-out on stderr. */
export async function plan(
  io: Io,
  entryFile: string,
  jobName: string | undefined,
  { shards, ...given }: OptionsOf<"plan">,
): Promise<ExitCode> {
  const { journal } = recordPaths(given, false);
  const { checkShards, matrixOf, missingJournal } = await import("../run/shards.ts");
  checkShards(shards, "--shards");
  if (journal === undefined) throw missingJournal("--journal or --output-dir");
  const code = await runPart(entryFile, jobName, { ...given, format: "json" }, io, {
    plan: true,
    shards,
  });
  if (code !== exitCode.success) return code;
  io.output.print(JSON.stringify(await matrixOf(journal, shards)));
  return code;
}

export async function merge(
  io: Io,
  journals: readonly string[],
  { entry, onMissing, ...given }: OptionsOf<"merge">,
): Promise<ExitCode> {
  const [first = ""] = journals;
  const { readEarlierJob } = await import("../run/past-run.ts");
  const { started } = await readEarlierJob(first).catch((error: unknown) => {
    throw new UsageError(`Can't merge: ${first}: ${fileErrorMessage(error)}.`);
  });
  const entryFile = entry ?? started?.entryFile;
  if (entryFile === undefined || started === undefined)
    throw new UsageError(`Can't merge: ${first} is not the journal of a job in an entry file.`);
  return runPart(entryFile, started.jobName, given, io, { journals, onMissing });
}
