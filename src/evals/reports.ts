import { junitXml, type TestCase } from "../outputs/junit.ts";
import { inline } from "../reports/github/escape.ts";
import { escapeHtml, findPageFiles } from "../reports/html/page.ts";
import type { EvalSummary, Measured } from "./summary.ts";

interface Row {
  readonly name: string;
  /** Below `heads`. Tokens and cost are those of a run, on average. */
  readonly cells: readonly string[];
  readonly failures: Measured["failures"];
}

export const heads = ["Runs", "Passed", "95 %", "Tokens", "Cost", "Median", "p95", ""] as const;

/** One for each case, and one for each variant and set of models over all cases. */
export function evalRows({ measured, totals, comparisons }: EvalSummary): readonly Row[] {
  return [
    ...measured.map((one) => {
      const fell = comparisons.some(({ key, fell: isFall }) => key === one.key && isFall);
      const remarks = [...(fell ? ["fell"] : []), ...(one.flaky ? ["flaky"] : [])].join(", ");
      return { name: one.key, cells: [...cellsOf(one), remarks], failures: one.failures };
    }),
    ...totals.map((one) => {
      const name = one.key === "" ? "all cases" : `all cases | ${one.key}`;
      return { name, cells: [...cellsOf(one), ""], failures: [] };
    }),
  ];
}

function cellsOf(one: EvalSummary["totals"][number]): readonly string[] {
  const { passed, runs, interval, tokens, cost, milliseconds } = one;
  const each = (sum: number): number => (runs === 0 ? 0 : sum / runs);
  return [
    String(runs),
    runs === 0 ? "-" : percent(passed / runs),
    `${percent(interval.low)}–${percent(interval.high)}`,
    String(Math.round(each(tokens))),
    String(Math.round(each(cost) * 1e4) / 1e4),
    seconds(milliseconds.median),
    seconds(milliseconds.p95),
  ];
}

/** One sentence each: what fell, what is missing. */
export function notes({ comparisons, stopped, missing }: EvalSummary): string[] {
  const falls = comparisons
    .filter(({ fell }) => fell)
    .map(
      ({ key, p, before, after, against }) =>
        `${key}: passed ${after.passed} of ${after.runs}, against ${before.passed} of ${before.runs} of ${against} (p = ${p.toPrecision(2)}).`,
    );
  const why = stopped === undefined ? "" : `, because ${stopped}`;
  return missing === 0
    ? falls
    : [...falls, `Missing: ${missing === 1 ? "1 run" : `${missing} runs`}${why}.`];
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
  const literal = (text: string): string => inline(text, LONGEST);
  const line = (cells: readonly string[]): string => `| ${cells.map(literal).join(" | ")} |\n`;
  const rows = evalRows(summary);
  const failures = rows.flatMap(({ name, failures: own }) =>
    own.map(({ text, runs }) => `- ${literal(name)}, ${runs}×: ${literal(text)}\n`),
  );
  return [
    `## Eval: ${literal(summary.file)}\n\n${literal(endLine(summary))}\n\n`,
    ...notes(summary).map((note) => `- ${literal(note)}\n`),
    `\n${line(["Case", ...heads])}|${" --- |".repeat(heads.length + 1)}\n`,
    ...rows.map(({ name, cells }) => line([name, ...cells])),
    ...(failures.length === 0
      ? []
      : ["\n<details><summary>Failures</summary>\n\n", ...failures, "\n</details>\n"]),
  ].join("");
}

/** Beside the style of the page, whose colors and sizes it uses. */
const style = `
main { max-width: var(--page-width); margin: 0 auto; padding: var(--space-5); }
main > * + * { margin-top: var(--space-4); }
table { width: 100%; border-collapse: collapse; background: var(--surface); border: 1px solid var(--line); }
th, td { padding: var(--space-2) var(--space-3); border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child, td:last-child { text-align: left; }
.note { color: var(--fail); }
.muted { color: var(--muted); font-size: var(--text-s); font-weight: 400; }
`;

export function evalHtml(summary: EvalSummary): string {
  const { file, description } = summary;
  const page = (findPageFiles()?.style ?? "").replace(/<\/style/gi, "");
  const policy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
  const paragraph = (text: string, kind: string): string =>
    `<p class="${kind}">${escapeHtml(text)}</p>`;
  const row = ({ name, cells, failures }: Row): string => {
    const reasons = failures.map(
      ({ text, runs }) => `<div class="muted">${runs}×: ${escapeHtml(text)}</div>`,
    );
    const others = cells.map((cell) => `<td>${escapeHtml(cell)}</td>`);
    return `<tr><th scope="row">${escapeHtml(name)}${reasons.join("")}</th>${others.join("")}</tr>`;
  };
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
${paragraph(description, "muted")}
${paragraph(endLine(summary), "")}
${notes(summary)
  .map((note) => paragraph(note, "note"))
  .join("\n")}
<table>
<thead><tr>${["Case", ...heads].map((text) => `<th scope="col">${text}</th>`).join("")}</tr></thead>
<tbody>
${evalRows(summary).map(row).join("\n")}
</tbody>
</table>
</main>
</body>
</html>
`;
}
