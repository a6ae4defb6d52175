import { existsSync } from "node:fs";
import { defined } from "../text/guards.ts";
import { diagnosticLine, type Diagnostic } from "../document/diagnostic.ts";
import type { Reporter } from "../events/sink.ts";
import { createRunView } from "../events/view.ts";
import {
  annotate,
  chartDetail,
  createGithubReporter,
  diagnosticAnnotations,
  omittedFromOutputs,
  outputsOf,
  reasonAnnotations,
  renderSummary,
  type GithubCore,
  type GithubOptions,
  type OutputName,
  type Result,
} from "../github/github-reporter.ts";
import { clockText } from "../text/numbers.ts";
import { durationMs } from "../github/step-outputs.ts";
import { lastLine } from "../reports/last-line.ts";
import { resultText } from "../github/layout.ts";
import { systemClock } from "../platform/system-clock.ts";
import { breakOldMarker, logLine, sentence } from "../text/escape.ts";
import { chartOf } from "../reports/flow-chart.ts";
import type { Delivery } from "../github/delivery.ts";
import type { RunReport } from "../run/execute.ts";
import type { PreparedRun } from "../run/prepare.ts";
import type { Inputs } from "./inputs.ts";
import { truncate } from "../text/truncate.ts";

export type { GithubCore };
export type Outputs = Readonly<Record<OutputName, string>>;
export type GithubRunOptions = Omit<GithubOptions, "lineOf" | "jobLine" | "chart" | "clock"> & {
  readonly journalArtifact?: string;
  readonly reportFile?: string;
};

export type GithubRun = ReturnType<typeof createGithubRun>;

export function createGithubRun(prepared: PreparedRun, options: GithubRunOptions) {
  const { loaded, jobName } = prepared;
  const { journal, journalArtifact } = options;
  let view = noRun;
  const chart: GithubOptions["chart"] = (shown) =>
    chartOf(shown, (workId) => chartDetail(shown, workId));
  const reporter = createGithubReporter({
    ...options,
    clock: systemClock,
    lineOf: (taskId) => loaded.locateTask(taskId).line,
    ...defined({ jobLine: loaded.locate(["jobs", jobName]).line }),
    chart,
  });
  const outputs: Reporter = { name: "outputs", report: (_event, shared) => void (view = shared) };
  const reportFile = (): string | undefined =>
    options.reportFile !== undefined && existsSync(options.reportFile)
      ? options.reportFile
      : undefined;
  return {
    reporters: [outputs, reporter],
    outputs: (): Outputs =>
      outputsOf(view, defined({ journal, journalArtifact, reportFile: reportFile() })),
    lastLine(reason: string, ending: Ending): string {
      const text = lastLine(view, resultText(view, view.jobName), {
        passes: ending === "passed",
        reason,
        words: { fails: "the step fails", passes: "The step passes (`fail-on: never`)" },
      });
      return `${clockText(durationMs(view))} ${text.charAt(0).toLowerCase()}${text.slice(1)}`;
    },
    omissions: () => omittedFromOutputs(view, defined({ reportFile: reportFile() })),
    summary: (deliveries: readonly Delivery[]): string =>
      renderSummary(view, { ...options, chart, deliveries }),
    /** Writes the log, the annotations and the summary at once, if the process ends before the run. */
    finish: () => reporter.finish(),
  };
}

const noRun = createRunView();

export function outputsWithoutRun(result: Result, reason: string): Outputs {
  return outputsOf(noRun, { result, reason });
}

const MAX_PROBLEMS = 10;

export function summaryWithoutRun(
  result: Result,
  reasons: readonly string[],
  problems: readonly Diagnostic[] = [],
): string {
  const lines = reasons.flatMap((reason) => reason.split("\n"));
  const shown = problems
    .slice(0, MAX_PROBLEMS)
    .map((problem) => `- ${sentence(diagnosticLine(problem), 1000)}`);
  const left = problems.length - shown.length;
  if (left > 0) shown.push(`- …and ${left} more, in the log`);
  const parts = [
    ...lines.map((line) => sentence(line, 2000)),
    ...(shown.length > 0 ? [shown.join("\n")] : []),
  ];
  const what = result === "skipped" ? "skipped, no agent was started" : result;
  return `## agent-jobs: ${what}\n\n${parts.join("\n\n")}\n`;
}

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

/** GitHub shows ten warnings per step. The others are left to the run. */
const maxWarnings = 3;

export function reportWarnings(
  core: GithubCore,
  warnings: readonly Diagnostic[],
  options: { readonly annotations: GithubOptions["annotations"]; readonly entryFile: string },
): void {
  const shown = options.annotations === "all" ? warnings.slice(0, maxWarnings) : [];
  for (const annotation of diagnosticAnnotations(shown, options)) annotate(core, annotation);
  for (const warning of warnings) sayLine(core, `Entry: ${diagnosticLine(warning)}`);
}

/** Prints one line to the log. `text` must begin with a fixed prefix, so that it can be no workflow command. */
export function sayLine(core: Pick<GithubCore, "info">, text: string): void {
  core.info(logLine(text, 4000));
}

export function annotationText(text: string): string {
  return truncate(breakOldMarker(text), 4096);
}

export type Ending = "passed" | "failed";

export function endOf(
  { outcome: { kind }, judgement, complete }: RunReport,
  outputs: Outputs,
  {
    failures,
    isTrusted,
    failOn,
    refusal,
  }: Pick<Inputs, "failOn"> & {
    /** Why refused deliveries fail the step; empty: they don't. */
    readonly refusal: string;
    readonly failures: readonly string[];
    readonly isTrusted: boolean;
  },
): { readonly outputs: Outputs; readonly ending: Ending } {
  const passes = failOn === "never" ? "passed" : "failed";
  switch (kind) {
    case "succeeded":
    case "skipped":
      // A requested record is missing: a run that went well otherwise is no success.
      if (!complete || !isTrusted) {
        const reason = failures.join("\n");
        return { outputs: { ...outputs, result: "failure", reason }, ending: "failed" };
      }
      if (judgement.kind === "failed")
        return { outputs: { ...outputs, reason: judgement.reason }, ending: passes };
      return refusal === ""
        ? { outputs, ending: "passed" }
        : { outputs: { ...outputs, reason: refusal }, ending: "failed" };
    case "failed":
      return { outputs, ending: passes };
    case "canceled":
      return { outputs, ending: "failed" };
  }
}
