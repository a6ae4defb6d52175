/** The results of rehearsals as tests, and their reporters. */
import { secondsText } from "../text/numbers.ts";
import { diagnosticLine, type Diagnostic } from "../document/diagnostic.ts";
import { junitXml, type TestCase, type TestSuite } from "../outputs/junit.ts";
import type { CoverageOfJobs } from "../rehearsal/coverage.ts";
import { annotation } from "../text/harmless-text.ts";

interface RunReport {
  readonly jobName: string;
  /** In milliseconds since 1970. */
  readonly startedAt: number;
  readonly milliseconds: number;
  readonly warnings: readonly Diagnostic[];
  readonly omissions: readonly string[];
  /** `expect` was written anew from what was seen. */
  readonly updated?: true;
}

export type RehearsalReport = { readonly file: string; readonly description?: string } & (
  | ({ readonly kind: "passed" } & RunReport)
  | ({ readonly kind: "failed"; readonly failures: readonly string[] } & RunReport)
  | { readonly kind: "invalid"; readonly diagnostics: readonly Diagnostic[] }
);

export type CoverageReport = ReturnType<CoverageOfJobs["total"]>;

export interface RehearsalTotals {
  readonly reports: readonly RehearsalReport[];
  readonly coverage?: CoverageReport;
  /** Fewer percent are a failure. */
  readonly threshold?: number;
}

export type ReporterName = "list" | "dot" | "json" | "junit" | "github";

export interface RehearsalReporter {
  /** Lines that are printed when a rehearsal has ended, in the order of the files. */
  one(report: RehearsalReport): readonly string[];
  end(totals: RehearsalTotals): readonly string[];
}

const make: Readonly<Record<ReporterName, () => RehearsalReporter>> = {
  list: () => ({ one: listed, end: (totals) => [...coverageLines(totals), countLine(totals)] }),
  dot: () => ({
    one: () => [],
    end: (totals) => [
      totals.reports.map(({ kind }) => (kind === "passed" ? "." : "F")).join(""),
      ...totals.reports.filter(({ kind }) => kind !== "passed").flatMap(listed),
      ...coverageLines(totals),
      countLine(totals),
    ],
  }),
  json: () => ({
    one: () => [],
    end: (totals) => [JSON.stringify(jsonOf(totals), null, 2)],
  }),
  junit: () => ({
    one: () => [],
    end: (totals) => [junitXml(testSuite(totals)).trimEnd()],
  }),
  github: () => ({
    one: annotations,
    end(totals) {
      const below = belowThreshold(totals);
      return below === undefined ? [] : [annotation("error", below, {})];
    },
  }),
};

export function rehearsalReporter(name: ReporterName): RehearsalReporter {
  return make[name]();
}

function listed(report: RehearsalReport): string[] {
  if (report.kind === "invalid") return [`FAIL  ${report.file}`, ...indented(reasonsOf(report))];
  const { file, jobName, milliseconds, omissions, updated } = report;
  const more = updated === true ? ", updated" : "";
  return [
    `${report.kind === "failed" ? "FAIL " : "ok   "} ${file} (${jobName}, ${secondsText(milliseconds)}${more})`,
    ...indented([...reasonsOf(report), ...omissions.map((omission) => `warning: ${omission}`)]),
  ];
}

const indented = (lines: readonly string[]): string[] =>
  lines.map((line) => `      ${line.replaceAll("\n", "\n      ")}`);

/** Returns a line for each reason. A rehearsal that passed has none. */
export function reasonsOf(report: RehearsalReport): readonly string[] {
  switch (report.kind) {
    case "passed":
      return [];
    case "failed":
      return report.failures;
    case "invalid":
      return report.diagnostics.map(diagnosticLine);
  }
}

function countLine({ reports }: RehearsalTotals): string {
  const passed = reports.filter(({ kind }) => kind === "passed").length;
  return `${passed} passed, ${reports.length - passed} failed`;
}

/** A sentence, if the coverage is lower than what was asked for. */
export function belowThreshold({ coverage, threshold }: RehearsalTotals): string | undefined {
  if (coverage === undefined || threshold === undefined || coverage.percent >= threshold)
    return undefined;
  return `The coverage is ${coverage.percent} %, and --coverage-threshold is ${threshold} %.`;
}

function coverageLines(totals: RehearsalTotals): string[] {
  const { coverage } = totals;
  if (coverage === undefined) return [];
  const below = belowThreshold(totals);
  return [
    "Coverage:",
    ...coverage.jobs.flatMap(({ entry, job, points, reached, missed }) => [
      `  ${entry}, ${job}: ${reached} of ${points}`,
      ...missed.map((point) => `    not reached: ${point}`),
    ]),
    `  total: ${coverage.reached} of ${coverage.points}, ${coverage.percent} %`,
    ...(below === undefined ? [] : [below]),
  ];
}

/** The stable shape of `--reporter json`, documented in docs/rehearsals.md. */
function jsonOf(totals: RehearsalTotals): object {
  const { reports, coverage = null, threshold = null } = totals;
  const passed = reports.filter(({ kind }) => kind === "passed").length;
  return {
    version: 1,
    passed,
    failed: reports.length - passed,
    rehearsals: reports.map((report) => ({
      file: report.file,
      description: report.description ?? null,
      result: report.kind,
      job: report.kind === "invalid" ? null : report.jobName,
      seconds: report.kind === "invalid" ? null : report.milliseconds / 1000,
      updated: report.kind !== "invalid" && report.updated === true,
      failures: reasonsOf(report),
      omissions: report.kind === "invalid" ? [] : report.omissions,
    })),
    coverage,
    threshold,
  };
}

function testSuite(totals: RehearsalTotals): TestSuite {
  const starts = totals.reports.flatMap((one) => (one.kind === "invalid" ? [] : one.startedAt));
  const cases = totals.reports.map((report): TestCase => {
    const { file, description } = report;
    const reason = reasonsOf(report).join("\n");
    const named = { name: description ?? file, file, line: placeOf(report).line };
    if (report.kind === "invalid") {
      return { ...named, group: file, seconds: 0, result: "error", type: "invalid", reason };
    }
    const { jobName, milliseconds, omissions, kind } = report;
    const printed = omissions.join("\n");
    return {
      ...named,
      group: `${file} ${jobName}`,
      seconds: milliseconds / 1000,
      ...(kind === "passed" ? { result: "success" } : { result: "failure", reason }),
      output: printed || undefined,
    };
  });
  const below = belowThreshold(totals);
  const coverage = { name: "coverage", group: "coverage", seconds: 0, result: "failure" } as const;
  if (below !== undefined) cases.push({ ...coverage, reason: below });
  return { name: "agent-jobs rehearse", startedAt: Math.min(...starts), cases };
}

/** The place in its own file that the first failure names: `expect.works[1] (a.rehearsal.yml:31:7): …`. */
function placeOf(report: RehearsalReport): { readonly line?: number; readonly col?: number } {
  if (report.kind === "invalid") {
    const { file = report.file, line, column } = report.diagnostics[0] ?? {};
    return file === report.file ? { line, col: column } : {};
  }
  const [, place = ""] = reasonsOf(report).join("\n").split(`(${report.file}:`);
  const [, line, col] = /^(\d+):(\d+)\)/.exec(place) ?? [];
  return line === undefined ? {} : { line: Number(line), col: Number(col) };
}

/** One at the place of the first reason, or at each place of an invalid file, as the runner shows them beside the code. */
function annotations(report: RehearsalReport): string[] {
  if (report.kind === "invalid") {
    return report.diagnostics.map(({ file = report.file, line, column, ...diagnostic }) =>
      annotation("error", diagnosticLine(diagnostic), { file, line, col: column }),
    );
  }
  const reasons = reasonsOf(report);
  if (reasons.length === 0) return [];
  return [annotation("error", reasons.join("\n"), { file: report.file, ...placeOf(report) })];
}
