import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import pLimit from "p-limit";
import { DiagnosticsError } from "../document/diagnostic.ts";
import { defined } from "../text/guards.ts";
import { isUnder } from "../permissions/paths.ts";
import type { Environment } from "../platform/environment.ts";
import { realPathOf } from "../platform/files.ts";
import { GitRepository } from "../git/repository.ts";
import { systemClock } from "../platform/system-clock.ts";
import { onAbort } from "../platform/waiting.ts";
import { ReachedPoints, type CoverageOfJobs } from "../rehearsal/coverage.ts";
import type { Script } from "../rehearsal/format/script.ts";
import type { RehearsalReport } from "../reports/rehearsals.ts";
import { oneLine } from "../text/harmless-text.ts";
import { Runtimes } from "../sessions/request-handler.ts";
import { readRehearsal } from "./entry-files.ts";
import { executeRun, type RunSignals } from "./execute.ts";
import { UsageError } from "./options.ts";
import { prepareRehearsal, type RunOptions } from "./prepare.ts";
import { SeenRun, updatedRehearsal } from "./recording.ts";

export interface RehearseOptions extends Pick<
  RunOptions,
  | "environment"
  | "runtimePath"
  | "sandbox"
  | "inPlace"
  | "env"
  | "terminal"
  | "checkFolder"
  | "runtimes"
> {
  /** For rehearsals that name none. Default: the current directory, or the checkout of a rehearsal outside of it. */
  readonly workingDirectory?: string | undefined;
  readonly parallel?: number | undefined;
  readonly update?: boolean | undefined;
  readonly coverage?: CoverageOfJobs | undefined;
  /** Gets the path of each file that the entry is read from. */
  readonly onRead?: ((rehearsal: string, file: string) => void) | undefined;
}

/** The reports come in the order of the files. After a cancel there are no more. */
export async function* rehearseFiles(
  files: readonly string[],
  options: RehearseOptions,
  signals: RunSignals,
): AsyncGenerator<RehearsalReport> {
  const { terminal, inPlace } = options;
  const own = options.runtimes === undefined ? shareRuntimes(options) : undefined;
  const release = onAbort(signals.lastCall, () => own?.kill());
  // Logs would be mixed; and in place, all work in the same folder.
  const alone = terminal !== undefined || inPlace === true;
  const limit = pLimit(alone ? 1 : (options.parallel ?? availableParallelism()));
  const sharing = { ...options, runtimes: options.runtimes ?? own };
  const reports = files.map((file) => limit(() => rehearseFile(file, sharing, signals)));
  // An early failure must not become an unhandled rejection while an earlier file still runs.
  for (const report of reports) report.catch(() => {});
  try {
    for (const report of reports) {
      const done = await report;
      if (done !== undefined) yield done;
    }
  } finally {
    limit.clearQueue();
    await own?.stop();
    release();
  }
}

async function rehearseFile(
  file: string,
  options: RehearseOptions,
  signals: RunSignals,
): Promise<RehearsalReport | undefined> {
  const canceled = (): boolean => signals.signal?.aborted === true;
  if (canceled()) return undefined;
  let description: string | undefined;
  try {
    const script = await readRehearsal(file);
    ({ description } = script);
    const report = await rehearseScript(script, options, signals);
    return canceled() ? undefined : report;
  } catch (error) {
    const invalid = { kind: "invalid", file, ...defined({ description }) } as const;
    if (error instanceof DiagnosticsError) return { ...invalid, diagnostics: error.diagnostics };
    if (error instanceof UsageError) {
      return { ...invalid, diagnostics: [{ file, codePath: "", reason: error.message }] };
    }
    throw error;
  }
}

async function rehearseScript(
  script: Script,
  { workingDirectory, coverage, update = false, onRead, runtimes, ...given }: RehearseOptions,
  signals: RunSignals,
): Promise<RehearsalReport> {
  const { file, description } = script;
  const namesFolder = script.workingDirectory !== undefined || script.workspace !== undefined;
  const options = {
    ...given,
    entryFile: script.entryFile,
    ...(namesFolder
      ? {}
      : { workingDirectory: workingDirectory ?? folderOf(file, given.environment) }),
    ...(killsRuntime(script) ? {} : { runtimes }),
  };
  onRead?.(file, script.entryFile);
  const prepared = await prepareRehearsal(options, script, {
    seen: (path) => onRead?.(file, path),
  });
  const reached = new ReachedPoints(prepared);
  const seen = new SeenRun();
  const startedAt = systemClock.now();
  const { rehearsalFailures: failures, view } = await executeRun(
    prepared,
    {
      ...options,
      reporters: [reached, seen],
      onTransition: (transition) => reached.take(transition),
    },
    signals,
  );
  const milliseconds = systemClock.now() - startedAt;
  const { jobName, warnings, loaded } = prepared;
  coverage?.add(loaded.file, loaded.entry, { jobName, reached: reached.points });
  const omissions = view.omissions.map(
    ({ workId, taskId, text }) => `#${workId} ${oneLine(taskId, 100)}: ${oneLine(text, 600)}`,
  );
  const measured = { startedAt, milliseconds };
  const report = { file, jobName, ...measured, warnings, omissions, ...defined({ description }) };
  if (update && signals.signal?.aborted !== true) {
    const written = await updatedRehearsal(script, seen, failures);
    if (written !== undefined) {
      // Parts that can't be written, such as an expected decision, still fail.
      const again = await rehearseScript(
        written,
        { workingDirectory, runtimes, ...given },
        signals,
      );
      return again.kind === "invalid" ? again : { ...again, updated: true };
    }
  }
  return failures.length === 0
    ? { kind: "passed", ...report }
    : { kind: "failed", ...report, failures };
}

/** Relative to the current directory, or absolute. */
function folderOf(file: string, environment: Environment): string {
  const checkoutOf = (folder: string): string | undefined =>
    GitRepository.at(folder, { environment })?.root;
  const [here, own] = [realPathOf("."), realPathOf(dirname(resolve(file)))];
  const checkout = checkoutOf(own);
  const around = checkoutOf(here) ?? (checkout === undefined ? here : undefined);
  return around !== undefined && isUnder(own, around) ? "." : (checkout ?? own);
}

/** It would take the sessions of other rehearsals along. */
export function killsRuntime({ rules }: Script): boolean {
  return rules.some(({ turns }) =>
    turns.some(({ replies }) => replies.some(({ kind }) => kind === "die")),
  );
}

/** For several calls of `rehearseFiles`. Their owner must stop them. */
export function shareRuntimes(options: Pick<RunOptions, "environment" | "runtimePath">): Runtimes {
  return new Runtimes({ ...options, clock: systemClock });
}

export function shardOf(
  files: readonly string[],
  { index, count }: { readonly index: number; readonly count: number },
): string[] {
  return files.filter((_, at) => at % count === index - 1);
}

export async function matchingRehearsals(
  files: readonly string[],
  pattern: RegExp,
): Promise<string[]> {
  const matches = await Promise.all(
    files.map(async (file) => {
      if (pattern.test(file)) return true;
      const script = await readRehearsal(file).catch(() => undefined);
      return pattern.test(script?.description ?? "");
    }),
  );
  return files.filter((_, index) => matches[index]);
}
