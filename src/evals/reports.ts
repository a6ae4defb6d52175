/** An eval as lines of text, JSON, JUnit, Markdown and HTML. */
import { junitXml, type TestCase } from "../outputs/junit.ts";
import { inline } from "../reports/github/escape.ts";
import { escapeHtml, findPageFiles } from "../reports/html/page.ts";
import type { EvalSummary, Measured } from "./summary.ts";

export const heads = ["Runs", "Passed", "95 %", "Tokens", "Cost", "Median", "p95", ""] as const;

type Row = Pick<
  Measured,
  "key" | "passed" | "runs" | "interval" | "tokens" | "cost" | "milliseconds"
> & { readonly flaky?: boolean };

/** The cells below `heads`. Tokens and cost are those of a run, on average. */
export function rowOf(one: Row, { comparisons }: EvalSummary): string[] {
  const { key, passed, runs, interval, tokens, cost, milliseconds } = one;
  const isCase = one.flaky !== undefined;
  const fell = isCase && comparisons.some((each) => each.key === key && each.fell);
  const notes = [...(fell ? ["fell"] : []), ...(one.flaky === true ? ["flaky"] : [])];
  const each = (sum: number): number => (runs === 0 ? 0 : sum / runs);
  return [
    String(runs),
    runs === 0 ? "-" : percent(passed / runs),
    `${percent(interval.low)}–${percent(interval.high)}`,
    String(Math.round(each(tokens))),
    String(Math.round(each(cost) * 1e4) / 1e4),
    seconds(milliseconds.median),
    seconds(milliseconds.p95),
    notes.join(", "),
  ];
}

/** One sentence each: what fell, what is missing. */
export function notes({ comparisons, stopped, missing }: EvalSummary): string[] {
  return [
    ...comparisons
      .filter(({ fell }) => fell)
      .map(
        ({ key, p, before, after, against }) =>
          `${key}: passed ${after.passed} of ${after.runs}, against ${before.passed} of ${before.runs} of ${against} (p = ${p.toPrecision(2)}).`,
      ),
    ...(missing === 0
      ? []
      : [`Missing: ${missing} runs${stopped === undefined ? "" : `, because ${stopped}`}.`]),
  ];
}

export function endLine({ measured, comparisons, baseline, spent }: EvalSummary): string {
  const runs = measured.reduce((sum, one) => sum + one.runs, 0);
  const passed = measured.reduce((sum, one) => sum + one.passed, 0);
  const flaky = measured.filter((one) => one.flaky).length;
  const fell = comparisons.filter((one) => one.fell).length;
  const against = comparisons[0]?.against ?? (baseline === undefined ? undefined : "baseline");
  const compared = against === undefined ? "" : `, ${fell} fell against ${against}`;
  return `${passed} of ${runs} runs passed, ${flaky} flaky${compared}; spent ${spent.tokens} tokens, cost ${Math.round(spent.cost * 1e4) / 1e4}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

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

/** Beside the style of the page, whose colors and sizes it uses. */
const style = `
main { max-width: var(--page-width); margin: 0 auto; padding: var(--space-5); }
main > * + * { margin-top: var(--space-4); }
.eval-table { width: 100%; border-collapse: collapse; background: var(--surface); border: 1px solid var(--line); }
.eval-table th, .eval-table td { padding: var(--space-2) var(--space-3); border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; vertical-align: top; }
.eval-table thead th { color: var(--muted); font-weight: 500; }
.eval-table th:first-child, .eval-table td:last-child { text-align: left; white-space: normal; }
.eval-bar { display: inline-block; width: 80px; height: 8px; background: var(--fail-soft); border-radius: var(--radius-small); overflow: hidden; }
.eval-bar > span { display: block; height: 100%; background: var(--ok); }
.eval-note { color: var(--fail); }
.eval-muted { color: var(--muted); }
.eval-failure { color: var(--muted); font-size: var(--text-s); font-weight: 400; }
`;

export function evalHtml(summary: EvalSummary): string {
  const { file, description, measured, totals } = summary;
  const page = (findPageFiles()?.style ?? "").replace(/<\/style/gi, "");
  const policy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
  const head = ["Case", "", ...heads];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${escapeHtml(file)} – agent-jobs eval</title>
<style>
${page}${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(file)}</h1>
<p class="eval-muted">${escapeHtml(description)}</p>
<p>${escapeHtml(endLine(summary))}</p>
${notes(summary)
  .map((note) => `<p class="eval-note">${escapeHtml(note)}</p>`)
  .join("\n")}
<table class="eval-table">
<thead><tr>${head.map((text) => `<th scope="col">${text}</th>`).join("")}</tr></thead>
<tbody>
${measured.map((one) => row(one.key, one, summary, one.failures)).join("\n")}
</tbody>
<tfoot>
${totals.map((one) => row(totalName(one.key), one, summary, [])).join("\n")}
</tfoot>
</table>
</main>
</body>
</html>
`;
}

function row(
  name: string,
  one: Parameters<typeof rowOf>[0],
  summary: EvalSummary,
  failures: Measured["failures"],
): string {
  const { passed, runs } = one;
  const width = runs === 0 ? 0 : Math.round((passed / runs) * 100);
  const reasons = failures.map(
    ({ text, runs: times }) => `<div class="eval-failure">${times}×: ${escapeHtml(text)}</div>`,
  );
  const cells = rowOf(one, summary).map((cell) => `<td>${escapeHtml(cell)}</td>`);
  const bar = `<td><span class="eval-bar" aria-hidden="true"><span style="width: ${width}%"></span></span></td>`;
  return `<tr><th scope="row">${escapeHtml(name)}${reasons.join("")}</th>${bar}${cells.join("")}</tr>`;
}
