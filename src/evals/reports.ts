/** An eval as JSON, JUnit and Markdown. */
import { junitXml, type TestCase } from "../outputs/junit.ts";
import { inline } from "../reports/github/escape.ts";
import { endLine, heads, notes, rowOf } from "./report-lines.ts";
import type { EvalSummary, Measured } from "./summary.ts";

/** The stable shape of `eval.json` and `--format json`, documented in docs/evals.md. */
export function evalJson(summary: EvalSummary): object {
  const { file, measured, totals, comparisons, baseline = null, stopped = null } = summary;
  const { spent, missing } = summary;
  return {
    version: 1,
    file,
    cases: measured.map(({ file: _file, line: _line, ...one }) => one),
    totals: totals.map(({ file: _file, ...one }) => one),
    comparisons,
    baseline,
    spent,
    missing,
    stopped,
  };
}

/** A case fails if its pass rate fell, or if it never passed. */
export function evalJunit(summary: EvalSummary): string {
  const cases = summary.measured.map((one): TestCase => {
    const { caseName: name, file, line, milliseconds } = one;
    const group = [file, one.variant, one.model].filter((part) => part !== "").join(" ");
    const seconds = milliseconds.sum / 1000;
    return { name, group, file, line, seconds, ...resultOf(one, summary) };
  });
  return junitXml("agent-jobs eval", cases);
}

function resultOf(
  { key, passed, runs, failures }: Measured,
  { comparisons, baseline }: EvalSummary,
): Pick<TestCase, "result" | "reason" | "type" | "output"> {
  if (runs === 0) return { result: "skipped", reason: "it did not run" };
  const output = `${passed} of ${runs} runs passed`;
  const reason = [output, ...failures.map(({ text, runs: times }) => `${times}×: ${text}`)].join(
    "\n",
  );
  const fell = baseline !== undefined && comparisons.some((one) => one.key === key && one.fell);
  if (fell) return { result: "failure", type: "fell", reason };
  if (passed === 0) return { result: "failure", type: "never-passed", reason };
  return { result: "success", output: passed === runs ? output : reason };
}

const LONGEST = 300;

/** For the job summary of GitHub Actions. Texts of the eval and of runs are literal. */
export function evalMarkdown(summary: EvalSummary): string {
  const { file, measured, totals } = summary;
  const row = (name: string, cells: readonly string[]): string =>
    `| ${[name, ...cells.map((cell) => inline(cell, LONGEST))].join(" | ")} |\n`;
  const failed = measured.filter(({ failures }) => failures.length > 0);
  return [
    `## Eval: ${inline(file, LONGEST)}\n\n${inline(endLine(summary), LONGEST)}\n\n`,
    notes(summary)
      .map((note) => `- ${inline(note, LONGEST)}\n`)
      .join(""),
    `\n${row("Case", heads)}|${" --- |".repeat(heads.length + 1)}\n`,
    ...measured.map((one) => row(inline(one.key, LONGEST), rowOf(one, summary))),
    ...totals.map((one) => row(`**${inline(totalName(one.key), LONGEST)}**`, rowOf(one, summary))),
    ...(failed.length === 0 ? [] : ["\n<details><summary>Failures</summary>\n\n"]),
    ...failed.flatMap(({ key, failures }) =>
      failures.map(
        ({ text, runs }) => `- ${inline(key, LONGEST)}, ${runs}×: ${inline(text, LONGEST)}\n`,
      ),
    ),
    ...(failed.length === 0 ? [] : ["\n</details>\n"]),
  ].join("");
}

export function totalName(key: string): string {
  return key === "" ? "all cases" : `all cases | ${key}`;
}
