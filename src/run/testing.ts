/** `import { rehearse } from "agent-jobs/testing"`: rehearsals in a suite of one's own, such as node:test or Vitest. */
import { processEnvironment, type Environment } from "../platform/environment.ts";
import { CoverageOfJobs } from "../rehearsal/coverage.ts";
import { reasonsOf, type CoverageReport } from "../reports/rehearsals.ts";
import { findRehearsals } from "./entry-files.ts";
import { rehearseFiles } from "./rehearse.ts";

/** How rehearsals run. */
export interface RehearseOptions {
  /** For rehearsals that name none. Default: the current directory, or the checkout of a rehearsal outside of it. */
  readonly workingDirectory?: string;
  /** Work in the folder itself, one rehearsal after the other. Default: where tools may change it, in a copy. */
  readonly inPlace?: boolean;
  /** How many run at once. Default: the number of cores. */
  readonly parallel?: number;
  /** Write what was seen into `expect`, where it differs or is missing. Default: false. */
  readonly update?: boolean;
  /** Names of environment variables that workflows, tools and MCP servers may read. */
  readonly env?: readonly string[];
  /** The environment of the rehearsals. Default: that of the process. */
  readonly environment?: Environment;
  /** The Copilot runtime. Default: `COPILOT_CLI_PATH`, else the installed one. */
  readonly runtimePath?: string;
  /** Cancels what runs. */
  readonly signal?: AbortSignal;
}

/** A rehearsal that passed. */
export interface PassedRehearsal {
  /** Its path, relative to the current directory. */
  readonly file: string;
  /** The job that it rehearsed. */
  readonly jobName: string;
  /** How long it took. */
  readonly milliseconds: number;
  /** Things that the run continued without, one sentence each. */
  readonly omissions: readonly string[];
}

/** Rehearsals that passed, and what of their jobs they have reached. */
export interface Rehearsed {
  /** In the order of the files. */
  readonly rehearsals: readonly PassedRehearsal[];
  /** Per job and in total. */
  readonly coverage: CoverageReport;
}

/** Rehearsals failed or are invalid. The message has every reason. */
export class RehearsalError extends Error {
  /** By file: the reasons, one sentence each. */
  readonly failures: Readonly<Record<string, readonly string[]>>;

  /** Takes the reasons by file. */
  constructor(failures: Readonly<Record<string, readonly string[]>>) {
    const lines = Object.entries(failures).flatMap(([file, reasons]) => [
      `${file} failed:`,
      ...reasons.map((reason) => `  ${reason.replaceAll("\n", "\n  ")}`),
    ]);
    super(lines.join("\n"));
    this.name = "RehearsalError";
    this.failures = failures;
  }
}

/**
 * Runs rehearsals: files, folders and globs, as the command line takes them. They share a runtime, so one call with
 * several is faster than several calls. Rejects with a `RehearsalError` if one doesn't pass, and with a `UsageError` if
 * none is found.
 */
export async function rehearse(
  rehearsals: string | readonly string[],
  options: RehearseOptions = {},
): Promise<Rehearsed> {
  const { environment = processEnvironment(), signal, ...given } = options;
  const files = await findRehearsals([rehearsals].flat(), ".", environment);
  const coverage = new CoverageOfJobs();
  const passed: PassedRehearsal[] = [];
  const failures: Record<string, readonly string[]> = {};
  const run = { ...given, environment, coverage };
  for await (const report of rehearseFiles(files, run, { signal })) {
    if (report.kind !== "passed") failures[report.file] = reasonsOf(report);
    else {
      const { file, jobName, milliseconds, omissions } = report;
      passed.push({ file, jobName, milliseconds, omissions });
    }
  }
  signal?.throwIfAborted();
  if (Object.keys(failures).length > 0) throw new RehearsalError(failures);
  return { rehearsals: passed, coverage: coverage.total() };
}

/** The rehearsals of files, folders and globs, for a suite that has a test for each. Default: all in the current directory. */
export function rehearsalFiles(rehearsals: string | readonly string[] = []): Promise<string[]> {
  return findRehearsals([rehearsals].flat(), ".", processEnvironment());
}
