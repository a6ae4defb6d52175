import { costText, costWords, plural } from "../text/numbers.ts";
import { junitXml, type TestCase } from "../outputs/junit.ts";
import { inline } from "../text/harmless-text.ts";
import { escapeHtml, findPageFiles, htmlDocument, policyAndStyle } from "../reports/html/page.ts";
import type { Comparison, EvalSummary, MeasuredCase, Total } from "./summary.ts";

interface Row {
  /** Below `heads`. Tokens, cost and seconds are averages per run. */
  readonly cells: readonly [name: string, ...string[]];
  readonly failures: MeasuredCase["failures"];
}

export const heads = [
  "Case",
  "Runs",
  "Passed",
  "95 %",
  "Tokens",
  "Credits",
  "Seconds",
  "",
] as const;

/** One for each case, and one for each variant and set of models over all cases. */
export function evalRows({ cases, totals }: EvalSummary): readonly Row[] {
  const row = (name: string, of: MeasuredCase | Total, note: string): Row["cells"] => {
    const { passed, runs, interval, tokens, cost, milliseconds } = of;
    const each = (sum: number): number => (runs === 0 ? 0 : sum / runs);
    return [
      name,
      String(runs),
      runs === 0 ? "-" : percent(passed / runs),
      `${percent(interval.low)}–${percent(interval.high)}`,
      String(Math.round(each(tokens))),
      decimal(each(cost)),
      (each(milliseconds) / 1000).toFixed(1),
      note,
    ];
  };
  return [
    ...cases.map((one) => ({
      cells: row(one.key, one, one.flaky ? "flaky" : ""),
      failures: one.failures,
    })),
    ...totals.map((one) => ({
      cells: row(nameOf(one), one, one.comparison?.fell === true ? "fell" : ""),
      failures: [],
    })),
  ];
}

const nameOf = ({ key }: Total): string => (key === "" ? "all cases" : `all cases | ${key}`);
const percent = (share: number): string => `${Math.round(share * 100)} %`;
const decimal = (amount: number): string => String(Math.round(amount * 1e4) / 1e4);

/** One sentence each: what fell, what is missing. */
export function notes({ totals, stopped, missing }: EvalSummary): string[] {
  const falls = totals.flatMap((total) => {
    const { comparison } = total;
    return comparison?.fell === true ? [`${nameOf(total)}: ${comparisonText(comparison)}.`] : [];
  });
  const why = stopped === undefined ? "" : `, because ${stopped}`;
  const lack = `Missing: ${plural(missing, "run")}${why}.`;
  return missing === 0 ? falls : [...falls, lack];
}

function comparisonText({ p, before, after, against }: Comparison): string {
  return `passed ${after.passed} of ${after.runs}, against ${before.passed} of ${before.runs} of ${against} (p = ${p.toPrecision(2)})`;
}

export function endLine({ cases, totals, spent, unpriced = [] }: EvalSummary): string {
  const runs = cases.reduce((sum, one) => sum + one.runs, 0);
  const passed = cases.reduce((sum, one) => sum + one.passed, 0);
  const flaky = cases.filter((one) => one.flaky).length;
  const comparisons = totals.flatMap(({ comparison }) => comparison ?? []);
  const fell = comparisons.filter((one) => one.fell).length;
  const [first] = comparisons;
  const compared = first === undefined ? "" : `, ${fell} fell against ${first.against}`;
  return `${passed} of ${runs} runs passed, ${flaky} flaky${compared}; spent ${spent.tokens} tokens, ${costWords({ ...spent, unpriced }).join(", ") || costText(0)}`;
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
    const { caseName: name, variant, model, line, milliseconds, tokens, cost } = one;
    const group = [file, variant, model].filter((part) => part !== "").join(" ");
    const properties = { model: model || undefined, tokens, cost };
    return { name, group, file, line, seconds: milliseconds / 1000, properties, ...resultOf(one) };
  });
  const ofTotals = totals.flatMap((total): readonly TestCase[] => {
    const { comparison } = total;
    if (baseline === undefined || comparison === undefined) return [];
    const at = { name: nameOf(total), group: file, file, seconds: 0 };
    const text = comparisonText(comparison);
    return comparison.fell
      ? [{ ...at, result: "failure", type: "fell", reason: text }]
      : [{ ...at, result: "success", output: text }];
  });
  return junitXml({
    name: "agent-jobs eval",
    startedAt,
    properties: { ...spent },
    cases: [...ofCases, ...ofTotals],
  });
}

function resultOf(one: MeasuredCase): Pick<TestCase, "result" | "reason" | "type" | "output"> {
  const { passed, runs } = one;
  if (runs === 0) return { result: "skipped", reason: "it did not run" };
  const failures = one.failures.map((failure) => `${failure.runs}×: ${failure.text}`);
  const text = [`${passed} of ${runs} runs passed`, ...failures].join("\n");
  return passed === 0
    ? { result: "failure", type: "never-passed", reason: text }
    : { result: "success", output: text };
}

const LONGEST = 300;

/** For the job summary of GitHub Actions. Texts of the eval and of runs are literal. */
export function evalMarkdown(summary: EvalSummary): string {
  const literal = (text: string): string => inline(text, LONGEST);
  const line = (cells: readonly string[]): string => `| ${cells.map(literal).join(" | ")} |\n`;
  const rows = evalRows(summary);
  const failures = rows.flatMap(({ cells: [name], failures: own }) =>
    own.map(({ text, runs }) => `- ${literal(name)}, ${runs}×: ${literal(text)}\n`),
  );
  return [
    `## Eval: ${literal(summary.file)}\n\n${literal(endLine(summary))}\n\n`,
    ...notes(summary).map((note) => `- ${literal(note)}\n`),
    `\n${line(heads)}|${" --- |".repeat(heads.length)}\n`,
    ...rows.map(({ cells }) => line(cells)),
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
  const element = (tag: string, kind: string, text: string): string =>
    `<${tag} class="${kind}">${escapeHtml(text)}</${tag}>\n`;
  const row = ({ cells: [name, ...others], failures }: Row): string => {
    const reasons = failures.map(({ text, runs }) => element("div", "muted", `${runs}×: ${text}`));
    const cells = others.map((cell) => `<td>${escapeHtml(cell)}</td>`);
    return `<tr><th scope="row">${escapeHtml(name)}${reasons.join("")}</th>${cells.join("")}</tr>\n`;
  };
  const page = htmlDocument({
    title: `${file} – agent-jobs eval`,
    head: policyAndStyle("script-src 'none'", `${findPageFiles()?.style ?? ""}${style}`),
    body: [
      `<main>\n<h1>${escapeHtml(file)}</h1>\n`,
      element("p", "muted", description),
      element("p", "", endLine(summary)),
      ...notes(summary).map((note) => element("p", "note", note)),
      `<table>\n<tr>${heads.map((text) => `<th scope="col">${text}</th>`).join("")}</tr>\n`,
      ...evalRows(summary).map(row),
      "</table>\n</main>\n",
    ],
  });
  return [...page].join("");
}
