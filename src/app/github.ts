/** A run on GitHub, composed for the action: the reporter of a prepared run, and the report if there was no run. */
import { diagnosticLine, type Diagnostic } from "../document/diagnostic.ts";
import type { Reporter } from "../events/sink.ts";
import { applyEvent, createRunView } from "../events/view.ts";
import {
  annotate,
  chartDetail,
  createGithubReporter,
  diagnosticAnnotations,
  outputsOf,
  reasonAnnotations,
  type GithubCore,
  type GithubOptions,
  type OutputName,
  type Result,
} from "../reporters/github/github-reporter.ts";
import { systemClock } from "../platform/clock.ts";
import { breakOldMarker, inline, logLine } from "../reporters/github/escape.ts";
import { chartOf } from "../report/chart.ts";
import type { PreparedRun } from "./prepare-run.ts";

export type { GithubCore, OutputName, Result };
export type Outputs = Readonly<Record<OutputName, string>>;
export type GithubRunOptions = Omit<GithubOptions, "lineOf" | "chart" | "clock">;

export interface GithubRun {
  /** For `RunOptions.reporters`. */
  readonly reporters: readonly Reporter[];
  /** Of what is known so far. */
  outputs(): Outputs;
  /** Log, annotations and summary, for a process that has no time to let the run end. */
  finish(): Promise<void>;
}

export function createGithubRun(prepared: PreparedRun, options: GithubRunOptions): GithubRun {
  const { loaded } = prepared;
  const { journal, rehearsal } = options;
  const view = createRunView();
  const reporter = createGithubReporter({
    ...options,
    clock: systemClock,
    lineOf: (taskId) => loaded.locateTask(taskId).line,
    chart: (shown) => chartOf(shown, (workId) => chartDetail(shown, workId)),
  });
  return {
    reporters: [{ name: "outputs", report: (event) => applyEvent(view, event) }, reporter],
    outputs: () =>
      outputsOf(view, {
        ...(journal === undefined ? {} : { journal }),
        ...(rehearsal === undefined ? {} : { rehearsal }),
      }),
    finish: () => reporter.finish(),
  };
}

/** The outputs of a step that had no run. */
export function outputsWithoutRun(result: Result, reason: string): Outputs {
  return outputsOf(createRunView(), { result, reason });
}

const MAX_PROBLEMS = 10;

/** The summary of such a step; the problems of an entry with their places, as far as they are few. */
export function summaryWithoutRun(
  result: Result,
  reasons: readonly string[],
  problems: readonly Diagnostic[] = [],
): string {
  const lines = reasons.flatMap((reason) => reason.split("\n"));
  const shown = problems
    .slice(0, MAX_PROBLEMS)
    .map((problem) => `- ${inline(diagnosticLine(problem), 1000)}`);
  const left = problems.length - shown.length;
  if (left > 0) shown.push(`- …and ${left} more, in the log`);
  const parts = [
    ...lines.map((line) => inline(line, 2000)),
    ...(shown.length > 0 ? [shown.join("\n")] : []),
  ];
  return `## agent-jobs: ${result}\n\n${parts.join("\n\n")}\n`;
}

/** All problems of an entry or a rehearsal: as annotations where they are wanted, and in the log if there are more. */
export function reportDiagnostics(
  core: GithubCore,
  diagnostics: readonly Diagnostic[],
  options: Pick<GithubOptions, "annotations" | "entryFile"> & {
    readonly rehearsal: string | undefined;
  },
): void {
  const annotations =
    options.annotations === "off" ? [] : diagnosticAnnotations(diagnostics, options);
  for (const annotation of annotations) annotate(core, annotation);
  if (annotations.length === diagnostics.length && diagnostics.length < 10) return;
  for (const diagnostic of diagnostics) sayLine(core, `Invalid: ${diagnosticLine(diagnostic)}`);
}

/** Why there was no run: as annotations where they are wanted, and in the log if there are more. */
export function reportReasons(
  core: GithubCore,
  level: "error" | "notice",
  reasons: readonly string[],
  wanted: GithubOptions["annotations"],
): void {
  const shown = wanted === "all" || (wanted === "errors" && level === "error");
  const annotations = shown ? reasonAnnotations(level, reasons) : [];
  for (const annotation of annotations) annotate(core, annotation);
  if (reasons.length <= annotations.length) return;
  for (const reason of reasons) sayLine(core, `Not started: ${reason}`);
}

/** GitHub shows ten warnings of a step, and the run may have some of its own. */
const maxWarnings = 3;

/** The warnings about a valid entry: all in the log, the first as annotations where they are wanted. */
export function reportWarnings(
  core: GithubCore,
  warnings: readonly Diagnostic[],
  options: { readonly annotations: GithubOptions["annotations"]; readonly entryFile: string },
): void {
  const shown = options.annotations === "all" ? warnings.slice(0, maxWarnings) : [];
  for (const annotation of diagnosticAnnotations(shown, options)) {
    annotate(core, annotation);
  }
  for (const warning of warnings) sayLine(core, `Entry: ${diagnosticLine(warning)}`);
}

/** Prints a line to the log, whatever it contains. `text` must begin with a fixed prefix. */
export function sayLine(core: Pick<GithubCore, "info">, text: string): void {
  core.info(logLine(text, 4000));
}

/** An annotation's text, harmless on every line. */
export function annotationText(text: string): string {
  return breakOldMarker(text).slice(0, 4096);
}
