import { junitXml, type TestCase } from "../outputs/junit.ts";
import { inline } from "../reports/github/escape.ts";
import { escapeHtml, findPageFiles, htmlDocument, policyAndStyle } from "../reports/html/page.ts";
import type { Comparison, EvalSummary, MeasuredCase, Total } from "./summary.ts";

interface Row {
  readonly name: string;
  /** Below `heads`. Tokens, cost and seconds are those of a run, on average. */
  readonly cells: readonly string[];
  readonly failures: MeasuredCase["failures"];
}

export const heads = ["Runs", "Passed", "95 %", "Tokens", "Cost", "Seconds", ""] as const;

/** One for each case, and one for each variant and set of models over all cases. */
export function evalRows({ cases, totals }: EvalSummary): readonly Row[] {
  return [
    ...cases.map((one) => ({
      name: one.key,
      cells: [...cellsOf(one), one.flaky ? "flaky" : ""],
      failures: one.failures,
    })),
    ...totals.map((one) => ({
      name: nameOf(one),
      cells: [...cellsOf(one), one.comparison?.fell === true ? "fell" : ""],
      failures: [],
    })),
  ];
}

function nameOf({ key }: Total): string {
  return key === "" ? "all cases" : `all cases | ${key}`;
}

function cellsOf(one: MeasuredCase | Total): readonly string[] {
  const { passed, runs, interval, tokens, cost, milliseconds } = one;
  const each = (sum: number): number => (runs === 0 ? 0 : sum / runs);
  return [
    String(runs),
    runs === 0 ? "-" : percent(passed / runs),
    `${percent(interval.low)}–${percent(interval.high)}`,
    String(Math.round(each(tokens))),
    String(Math.round(each(cost) * 1e4) / 1e4),
    (each(milliseconds) / 1000).toFixed(1),
  ];
}

/** One sentence each: what fell, what is missing. */
export function notes({ totals, stopped, missing }: EvalSummary): string[] {
  const falls = totals.flatMap((total) =>
    total.comparison?.fell === true
      ? [`${nameOf(total)}: ${comparisonText(total.comparison)}.`]
      : [],
  );
  const why = stopped === undefined ? "" : `, because ${stopped}`;
  return missing === 0
    ? falls
    : [...falls, `Missing: ${missing === 1 ? "1 run" : `${missing} runs`}${why}.`];
}

function comparisonText({ p, before, after, against }: Comparison): string {
  return `passed ${after.passed} of ${after.runs}, against ${before.passed} of ${before.runs} of ${against} (p = ${p.toPrecision(2)})`;
}

export function endLine({ cases, totals, spent }: EvalSummary): string {
  const runs = cases.reduce((sum, one) => sum + one.runs, 0);
  const passed = cases.reduce((sum, one) => sum + one.passed, 0);
  const flaky = cases.filter((one) => one.flaky).length;
  const comparisons = totals.flatMap(({ comparison }) => comparison ?? []);
  const fell = comparisons.filter((one) => one.fell).length;
  const [first] = comparisons;
  const compared = first === undefined ? "" : `, ${fell} fell against ${first.against}`;
  return `${passed} of ${runs} runs passed, ${flaky} flaky${compared}; spent ${spent.tokens} tokens, cost ${Math.round(spent.cost * 1e4) / 1e4}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** The stable shape of `eval.json` and `--format json`. */
export function evalJson({ description: _description, ...summary }: EvalSummary): object {
  const { baseline = null, stopped = null } = summary;
  return { version: 1, ...summary, baseline, stopped };
}

/** A case fails if it never passed, and all cases together fail if their pass rate fell against the baseline. */
export function evalJunit(
  { file, cases, totals, baseline, spent }: EvalSummary,
  startedAt: number,
): string {
  const ofCases = cases.map((one): TestCase => {
    const { caseName: name, line, milliseconds, tokens, cost } = one;
    const group = [file, one.variant, one.model].filter((part) => part !== "").join(" ");
    const properties = { model: one.model || undefined, tokens, cost };
    return { name, group, file, line, seconds: milliseconds / 1000, properties, ...resultOf(one) };
  });
  const ofTotals = totals.flatMap((total): readonly TestCase[] => {
    const { comparison } = total;
    if (baseline === undefined || comparison === undefined) return [];
    const text = comparisonText(comparison);
    const result = comparison.fell
      ? ({ result: "failure", type: "fell", reason: text } as const)
      : ({ result: "success", output: text } as const);
    return [{ name: nameOf(total), group: file, file, seconds: 0, ...result }];
  });
  const { tokens, cost } = spent;
  const properties = { tokens, cost };
  return junitXml({
    name: "agent-jobs eval",
    startedAt,
    properties,
    cases: [...ofCases, ...ofTotals],
  });
}

function resultOf({
  passed,
  runs,
  failures,
}: MeasuredCase): Pick<TestCase, "result" | "reason" | "type" | "output"> {
  if (runs === 0) return { result: "skipped", reason: "it did not run" };
  const output = `${passed} of ${runs} runs passed`;
  const reason = [output, ...failures.map(({ text, runs: times }) => `${times}×: ${text}`)].join(
    "\n",
  );
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
  const paragraph = (text: string, kind: string): string =>
    `<p class="${kind}">${escapeHtml(text)}</p>\n`;
  const row = ({ name, cells, failures }: Row): string => {
    const reasons = failures.map(
      ({ text, runs }) => `<div class="muted">${runs}×: ${escapeHtml(text)}</div>`,
    );
    const others = cells.map((cell) => `<td>${escapeHtml(cell)}</td>`);
    return `<tr><th scope="row">${escapeHtml(name)}${reasons.join("")}</th>${others.join("")}</tr>\n`;
  };
  const page = htmlDocument({
    title: `${file} – agent-jobs eval`,
    head: policyAndStyle("script-src 'none'", `${findPageFiles()?.style ?? ""}${style}`),
    body: [
      `<main>\n<h1>${escapeHtml(file)}</h1>\n`,
      paragraph(description, "muted"),
      paragraph(endLine(summary), ""),
      ...notes(summary).map((note) => paragraph(note, "note")),
      `<table>\n<tr>${["Case", ...heads].map((text) => `<th scope="col">${text}</th>`).join("")}</tr>\n`,
      ...evalRows(summary).map(row),
      "</table>\n</main>\n",
    ],
  });
  return [...page].join("");
}
