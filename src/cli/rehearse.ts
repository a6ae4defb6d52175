import { unwatchFile, watchFile } from "node:fs";
import { dirname, resolve } from "node:path";
import { diagnosticLine } from "../document/diagnostic.ts";
import { systemClock } from "../platform/system-clock.ts";
import { CoverageOfJobs } from "../rehearsal/coverage.ts";
import {
  belowThreshold,
  type RehearsalReport,
  rehearsalReporter,
  type RehearsalReporter,
  type RehearsalTotals,
  type ReporterName,
} from "../reports/rehearsals.ts";
import { findRehearsals } from "../run/entry-files.ts";
import type { Cancellation } from "../run/cancellation.ts";
import type { RunSignals } from "../run/execute.ts";
import { UsageError } from "../run/options.ts";
import { writeTextFile } from "../run/options-paths.ts";
import {
  matchingRehearsals,
  rehearseFiles,
  type RehearseOptions,
  shardOf,
  shareRuntimes,
} from "../run/rehearse.ts";
import { placeOfEntries } from "./found.ts";
import { isDirectory } from "../platform/files.ts";
import type { OptionsOf } from "./options.ts";
import { cancelFromTerminal, exitCode, type ExitCode, type Io, type Output } from "./process.ts";
import { unlessAborted } from "../platform/waiting.ts";

export async function rehearse(
  { output }: Io,
  named: readonly string[],
  asked: OptionsOf<"rehearse">,
): Promise<ExitCode> {
  const place = named.length === 0 ? placeOfEntries() : undefined;
  const isThere = place !== undefined && (await isDirectory(place.folder));
  const given = isThere ? [place.folder] : named;
  const options = { ...(isThere && { workingDirectory: place.root }), ...asked };
  checkReporters(options);
  const signals = cancelFromTerminal();
  try {
    const files = await chosenFiles(given, options);
    if (options.watch !== true) return await rehearseOnce(files, options, output, signals);
    return await rehearseOnChanges(given, options, output, signals);
  } finally {
    signals.dispose();
  }
}

type Given = OptionsOf<"rehearse">;

function checkReporters({
  reporters = [],
  coverageThreshold,
  coverage,
  watch,
  shard,
}: Given): void {
  const printed = reporters.filter(({ file }) => file === undefined).map(({ name }) => name);
  const alone = printed.find((name) => name === "json" || name === "junit");
  if (alone !== undefined && printed.length > 1) {
    throw new UsageError(
      `--reporter ${alone} prints a document, so nothing else can be printed. Write it to a file: --reporter ${alone}=FILE.`,
    );
  }
  if (coverageThreshold !== undefined && coverage !== true) {
    throw new UsageError("--coverage-threshold requires --coverage.");
  }
  if (watch === true && shard !== undefined) {
    throw new UsageError("--watch and --shard can't be used together.");
  }
}

async function chosenFiles(
  given: readonly string[],
  { test, shard }: Given,
): Promise<readonly string[]> {
  const found = await findRehearsals(given, ".", process.env);
  const matching = test === undefined ? found : await matchingRehearsals(found, test);
  if (matching.length === 0) {
    throw new UsageError(
      `None of ${found.length} rehearsals matches -t ${JSON.stringify(test?.source)}: neither its path nor its description.`,
    );
  }
  return shard === undefined ? matching : shardOf(matching, shard);
}

interface Target {
  readonly name: ReporterName;
  readonly reporter: RehearsalReporter;
  readonly file?: string;
  readonly lines: string[];
}

function targetsOf({ reporters = [] }: Given): Target[] {
  const prints = reporters.some(({ file }) => file === undefined);
  const all = prints ? reporters : [{ name: "list" } as const, ...reporters];
  return all.map((one) => ({ ...one, reporter: rehearsalReporter(one.name), lines: [] }));
}

async function rehearseOnce(
  files: readonly string[],
  given: Given,
  output: Output,
  signals: RunSignals,
  more: Partial<RehearseOptions> = {},
): Promise<ExitCode> {
  const { verbose, coverage: covers, coverageThreshold: threshold } = given;
  const { env, workingDirectory, inPlace, sandbox, runtimePath, parallel, update } = given;
  const coverage = covers === true ? new CoverageOfJobs() : undefined;
  const options = {
    env,
    inPlace,
    sandbox,
    runtimePath,
    parallel,
    update,
    coverage,
    workingDirectory,
    environment: process.env,
    terminal: verbose === true ? terminalOf(output) : undefined,
    ...more,
  };
  const targets = targetsOf(given);
  const reports: RehearsalReport[] = [];
  const warned = new Set<string>();
  const emit = (target: Target, lines: readonly string[]): void => {
    if (target.file === undefined) for (const line of lines) print(output, target.name, line);
    else target.lines.push(...lines);
  };
  for await (const report of rehearseFiles(files, options, signals)) {
    reports.push(report);
    for (const target of targets) emit(target, target.reporter.one(report));
    // Several rehearsals of one entry: its warnings once.
    for (const warning of report.kind === "invalid" ? [] : report.warnings) {
      const line = diagnosticLine(warning);
      if (!warned.has(line)) output.printError(line);
      warned.add(line);
    }
  }
  if (signals.signal?.aborted === true) return exitCode.canceled;
  const totals: RehearsalTotals = {
    reports,
    coverage: coverage?.total(),
    threshold,
  };
  for (const target of targets) {
    emit(target, target.reporter.end(totals));
    const { file, lines } = target;
    if (file === undefined) continue;
    const text = lines.map((line) => `${line}\n`).join("");
    await writeTextFile(file, text, "the report ");
  }
  if (reports.some(({ kind }) => kind === "invalid")) return exitCode.usage;
  const passed = reports.every(({ kind }) => kind === "passed");
  return passed && belowThreshold(totals) === undefined ? exitCode.success : exitCode.failed;
}

function terminalOf(output: Output): NonNullable<RehearseOptions["terminal"]> {
  const { colors } = output.looks;
  return { stream: output.terminal, verbosity: "verbose", colors, live: false };
}

function print(output: Output, name: ReporterName, line: string): void {
  switch (name) {
    case "list":
    case "dot":
      return output.print(line);
    case "json":
      return output.printJson(JSON.parse(line));
    case "junit":
      return output.printData(line);
    case "github":
      return output.printCommand(line);
  }
}

async function rehearseOnChanges(
  given: readonly string[],
  options: Given,
  output: Output,
  signals: Cancellation,
): Promise<ExitCode> {
  const runtimes = shareRuntimes({ ...options, environment: process.env });
  const reads = new Map<string, Set<string>>();
  const changes = new FileChanges();
  const onRead = (rehearsal: string, file: string): void =>
    void reads.get(rehearsal)?.add(changes.watch(file));
  try {
    let code: ExitCode = exitCode.success;
    let changed: ReadonlySet<string> = new Set();
    for (;;) {
      // One may have been added, or the last one removed.
      const files = await chosenFiles(given, options).catch(() => []);
      const due = files.filter((file) => {
        const read = reads.get(file);
        return read === undefined || [...read].some((one) => changed.has(one));
      });
      if (due.length > 0) {
        for (const file of due) {
          // Before they run: a change meanwhile counts.
          reads.set(file, new Set([changes.watch(file)]));
          changes.watch(dirname(file));
        }
        code = await rehearseOnce(due, options, output, signals, { runtimes, onRead });
        output.print("Waiting for changes. Ctrl-C ends the watch.");
      }
      const next = await unlessAborted(changes.next(signals.signal), signals.signal);
      if (next === undefined) return code;
      changed = next.value;
    }
  } finally {
    changes.close();
    await runtimes.stop();
  }
}

/** An editor saves in several steps, and git changes many files at once. */
const QUIET_MS = 300;

/** Which of some files and folders have changed. By their times: an editor replaces a file, which a watch of it misses. */
class FileChanges {
  readonly #watched = new Set<string>();
  readonly #changed = new Set<string>();
  #wake: () => void = () => {};

  /** Its absolute path. */
  watch(file: string): string {
    const path = resolve(file);
    if (this.#watched.has(path)) return path;
    this.#watched.add(path);
    watchFile(path, { interval: 200 }, (now, before) => {
      if (now.mtimeMs === before.mtimeMs) return;
      this.#changed.add(path);
      this.#wake();
    });
    return path;
  }

  /** All changes since the last call, once nothing has changed for a moment. */
  async next(signal: AbortSignal): Promise<ReadonlySet<string>> {
    while (this.#changed.size === 0) await new Promise<void>((done) => (this.#wake = done));
    let seen = 0;
    while (this.#changed.size !== seen) {
      seen = this.#changed.size;
      await systemClock.sleep(QUIET_MS, signal);
    }
    const changed = new Set(this.#changed);
    this.#changed.clear();
    return changed;
  }

  close(): void {
    for (const path of this.#watched) unwatchFile(path);
  }
}
