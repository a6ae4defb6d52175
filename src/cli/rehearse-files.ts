/** Rehearsal files as tests: each is run and compared with what it expects. */
import { defined } from "../document/guards.ts";
import { DiagnosticsError, type Diagnostic } from "../document/diagnostic.ts";
import pLimit from "p-limit";
import { systemClock } from "../platform/system-clock.ts";
import { oneLine } from "../reports/text.ts";
import type { TerminalStream } from "../reports/terminal/terminal-reporter.ts";
import { readRehearsal } from "../run/entry-files.ts";
import type { ModelAccess } from "../run/options-provider.ts";
import { prepareRehearsal, type RunOptions } from "../run/prepare-run.ts";
import { executeRun, type RunSignals } from "../run/run.ts";
import { UsageError } from "../run/options.ts";

export interface RehearseOptions
  extends Pick<ModelAccess, "environment" | "runtimePath">, Pick<RunOptions, "sandbox"> {
  /** For rehearsals that name none. */
  readonly workingDirectory: string;
  /** Work in the folder itself, where a copy of it is the default. */
  readonly inPlace: boolean;
  /** Names of the environment that workflows may read. */
  readonly env?: readonly string[];
  /** Where to show what happens in each run; undefined: nowhere. */
  readonly verbose: { readonly stream: TerminalStream; readonly colors: boolean } | undefined;
}

export type RehearsalReport =
  | {
      readonly kind: "passed";
      readonly file: string;
      readonly jobName: string;
      readonly milliseconds: number;
      readonly warnings: readonly Diagnostic[];
      /** What the run went on without. */
      readonly omissions: readonly string[];
    }
  | {
      readonly kind: "failed";
      readonly file: string;
      readonly jobName: string;
      readonly milliseconds: number;
      readonly warnings: readonly Diagnostic[];
      /** What the run went on without. */
      readonly omissions: readonly string[];
      readonly failures: readonly string[];
    }
  | {
      readonly kind: "invalid";
      readonly file: string;
      readonly diagnostics: readonly Diagnostic[];
    };

/** A rehearsal mostly waits for its runtime, so a few run at once. They are reported in the given order. */
const AT_ONCE = 4;

export async function* rehearseFiles(
  files: readonly string[],
  options: RehearseOptions,
  signals: RunSignals,
): AsyncGenerator<RehearsalReport> {
  const limit = pLimit(options.verbose === undefined ? AT_ONCE : 1);
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
  { environment, runtimePath, workingDirectory, inPlace, env, sandbox, verbose }: RehearseOptions,
  signals: RunSignals,
): Promise<RehearsalReport | undefined> {
  const canceled = (): boolean => signals.signal?.aborted === true;
  if (canceled()) return undefined;
  try {
    const script = await readRehearsal(file);
    const options = {
      entryFile: script.entryFile,
      environment,
      inPlace,
      ...(script.workingDirectory === undefined && script.workspace === undefined
        ? { workingDirectory }
        : {}),
      ...defined({ runtimePath, env }),
      sandbox,
      ...(verbose === undefined
        ? {}
        : {
            terminal: { ...verbose, verbosity: "verbose", live: false } as const,
          }),
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
      return {
        kind: "invalid",
        file,
        diagnostics: [{ file, codePath: "", reason: error.message }],
      };
    }
    throw error;
  }
}
