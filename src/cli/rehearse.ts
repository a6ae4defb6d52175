import { defined } from "../document/guards.ts";
import { rehearseFiles, type RehearsalReport } from "./rehearse-files.ts";
import type { SandboxMode } from "../entry/model.ts";
import { diagnosticLine } from "../document/diagnostic.ts";
import { cancelFromTerminal, exitCode, type ExitCode, type Io } from "./process.ts";

export interface RehearseFlags {
  readonly workingDirectory: string;
  readonly runtimePath?: string;
  readonly sandbox?: SandboxMode | undefined;
  readonly inPlace?: true;
  readonly verbose?: true;
  readonly env?: readonly string[];
}

/** One line for each file, the reasons of a failure below it, the counts at the end. */
export async function rehearse(
  files: readonly string[],
  flags: RehearseFlags,
  { output }: Io,
): Promise<ExitCode> {
  const signals = cancelFromTerminal();
  const warned = new Set<string>();
  const counts = { passed: 0, failed: 0, invalid: 0 };
  try {
    const options = {
      environment: process.env,
      workingDirectory: flags.workingDirectory,
      inPlace: flags.inPlace === true,
      verbose:
        flags.verbose === true
          ? { stream: output.terminal, colors: output.looks.colors }
          : undefined,
      ...defined({ runtimePath: flags.runtimePath }),
      sandbox: flags.sandbox,
      ...defined({ env: flags.env }),
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
  switch (report.kind) {
    case "passed":
      return [
        `ok    ${report.file} (${report.jobName}, ${seconds(report.milliseconds)})`,
        ...report.omissions.map((omission) => `      warning: ${omission}`),
      ];
    case "failed":
      return [
        `FAIL  ${report.file} (${report.jobName}, ${seconds(report.milliseconds)})`,
        ...report.failures.map((failure) => `      ${failure.replaceAll("\n", "\n      ")}`),
        ...report.omissions.map((omission) => `      warning: ${omission}`),
      ];
    case "invalid":
      return [
        `FAIL  ${report.file}`,
        ...report.diagnostics.map((diagnostic) => `      ${diagnosticLine(diagnostic)}`),
      ];
  }
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;
