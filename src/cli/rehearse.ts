/** `agent-jobs rehearse`: rehearsal files as tests. Each is run and compared with what it expects. */
import { DiagnosticsError, diagnosticLine, type Diagnostic } from "../document/diagnostic.ts";
import pLimit from "p-limit";
import { systemClock } from "../platform/system-clock.ts";
import { oneLine } from "../reports/text.ts";
import { readRehearsal } from "../run/entry-files.ts";
import { prepareRehearsal, type RunOptions } from "../run/prepare.ts";
import { executeRun, type RunSignals } from "../run/execute.ts";
import { UsageError } from "../run/options.ts";
import type { OptionsOf } from "./options.ts";
import { cancelFromTerminal, exitCode, type ExitCode, type Io } from "./process.ts";

/** One line for each file, the reasons of a failure below it, the counts at the end. */
export async function rehearse(
  files: readonly string[],
  given: OptionsOf<"rehearse">,
  { output }: Io,
): Promise<ExitCode> {
  const signals = cancelFromTerminal();
  const warned = new Set<string>();
  const counts = { passed: 0, failed: 0, invalid: 0 };
  const terminal = {
    stream: output.terminal,
    verbosity: "verbose",
    colors: output.looks.colors,
    live: false,
  } as const;
  try {
    const { verbose, ...rest } = given;
    const options = {
      ...rest,
      environment: process.env,
      ...(verbose === true ? { terminal } : {}),
    };
    for await (const report of rehearseFiles(files, options, signals)) {
      counts[report.kind] += 1;
      for (const line of linesOf(report)) output.print(line);
      // Several rehearsals of one entry: its warnings once.
      for (const warning of report.kind === "invalid" ? [] : report.warnings) {
        const line = diagnosticLine(warning);
        if (!warned.has(line)) output.printError(line);
        warned.add(line);
      }
    }
  } finally {
    signals.dispose();
  }
  if (signals.signal.aborted) return exitCode.canceled;
  output.print(`${counts.passed} passed, ${counts.failed + counts.invalid} failed`);
  if (counts.invalid > 0) return exitCode.usage;
  return counts.failed > 0 ? exitCode.failed : exitCode.success;
}

function linesOf(report: RehearsalReport): readonly string[] {
  if (report.kind === "invalid") {
    const problems = report.diagnostics.map((diagnostic) => `      ${diagnosticLine(diagnostic)}`);
    return [`FAIL  ${report.file}`, ...problems];
  }
  const seconds = (report.milliseconds / 1000).toFixed(1);
  const failures = report.kind === "failed" ? report.failures : [];
  return [
    `${report.kind === "failed" ? "FAIL " : "ok   "} ${report.file} (${report.jobName}, ${seconds} s)`,
    ...failures.map((failure) => `      ${failure.replaceAll("\n", "\n      ")}`),
    ...report.omissions.map((omission) => `      warning: ${omission}`),
  ];
}

export interface RehearseOptions extends Pick<
  RunOptions,
  "environment" | "runtimePath" | "sandbox" | "inPlace" | "env" | "terminal"
> {
  /** For rehearsals that name none. */
  readonly workingDirectory: string;
}

interface RunReport {
  readonly jobName: string;
  readonly milliseconds: number;
  readonly warnings: readonly Diagnostic[];
  /** What the run went on without. */
  readonly omissions: readonly string[];
}

export type RehearsalReport = { readonly file: string } & (
  | ({ readonly kind: "passed" } & RunReport)
  | ({ readonly kind: "failed"; readonly failures: readonly string[] } & RunReport)
  | { readonly kind: "invalid"; readonly diagnostics: readonly Diagnostic[] }
);

/** A rehearsal mostly waits for its runtime, so a few run at once. They are reported in the given order. */
const AT_ONCE = 4;

export async function* rehearseFiles(
  files: readonly string[],
  options: RehearseOptions,
  signals: RunSignals,
): AsyncGenerator<RehearsalReport> {
  const limit = pLimit(options.terminal === undefined ? AT_ONCE : 1);
  const reports = files.map((file) => limit(() => rehearseFile(file, options, signals)));
  // An early failure must not become an unhandled rejection while an earlier file still runs.
  for (const report of reports) report.catch(() => {});
  for (const report of reports) {
    const done = await report;
    if (done !== undefined) yield done;
  }
}

async function rehearseFile(
  file: string,
  { workingDirectory, ...given }: RehearseOptions,
  signals: RunSignals,
): Promise<RehearsalReport | undefined> {
  const canceled = (): boolean => signals.signal?.aborted === true;
  if (canceled()) return undefined;
  try {
    const script = await readRehearsal(file);
    const namesFolder = script.workingDirectory !== undefined || script.workspace !== undefined;
    const options = {
      ...given,
      entryFile: script.entryFile,
      ...(namesFolder ? {} : { workingDirectory }),
    };
    const prepared = await prepareRehearsal(options, script);
    const start = systemClock.now();
    const { rehearsalFailures: failures, view } = await executeRun(prepared, options, signals);
    if (canceled()) return undefined;
    const milliseconds = systemClock.now() - start;
    const { jobName, warnings } = prepared;
    const omissions = view.omissions.map(
      ({ workId, taskId, text }) => `#${workId} ${oneLine(taskId, 100)}: ${oneLine(text, 600)}`,
    );
    const report = { file, jobName, milliseconds, warnings, omissions };
    return failures.length === 0
      ? { kind: "passed", ...report }
      : { kind: "failed", ...report, failures };
  } catch (error) {
    if (error instanceof DiagnosticsError)
      return { kind: "invalid", file, diagnostics: error.diagnostics };
    if (error instanceof UsageError) {
      const diagnostics = [{ file, codePath: "", reason: error.message }];
      return { kind: "invalid", file, diagnostics };
    }
    throw error;
  }
}
