import { costText, costWords, plural } from "../text/numbers.ts";
import { junitXml, type TestCase } from "../outputs/junit.ts";
import { inline } from "../text/harmless-text.ts";
import { escapeHtml, findPageFiles, htmlDocument, policyAndStyle } from "../reports/html/page.ts";
import type { Answer, Answers } from "./results.ts";
import {
  comparisonText,
  nameOf,
  percent,
  type EvalSummary,
  type MeasuredCase,
  type Total,
} from "./summary.ts";

interface Row {
  /** The pass rate of a case; undefined for totals. */
  readonly rate: number | undefined;
  /** Below `heads`. Tokens, cost and seconds are averages per run. */
  readonly cells: readonly [name: string, ...string[]];
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
      cost === null ? "unknown" : decimal(each(cost)),
      (each(milliseconds) / 1000).toFixed(1),
      note,
    ];
  };
  return [
    ...cases.map((one) => {
      const { key, passed, runs, before, flaky } = one;
      const was = before && `was ${percent(before.passed / before.runs)}`;
      const note = [flaky && "flaky", was].filter(Boolean).join(", ");
      return { rate: passed / Math.max(1, runs), cells: row(key, one, note) };
    }),
    ...totals.map((one) => ({
      rate: undefined,
      cells: row(nameOf(one), one, one.comparison?.fell === true ? "fell" : ""),
    })),
  ];
}

const decimal = (amount: number): string => String(Math.round(amount * 1e4) / 1e4);

/** One sentence each, the most important first: missing runs, failed comparisons, drops, and why the eval fails. */
export function notes({ totals, problems, warnings, stopped, missing }: EvalSummary): string[] {
  const falls = totals.flatMap((total) => {
    const { comparison } = total;
    const isProblem = problems.some(({ name, kind }) => name === nameOf(total) && kind === "fell");
    return comparison?.fell === true && !isProblem
      ? [`${nameOf(total)}: ${comparisonText(comparison)}.`]
      : [];
  });
  const why = stopped === undefined ? "" : `, because ${stopped}`;
  const lack = `Missing: ${plural(missing, "run")}${why}.`;
  const reasons = problems.map(({ name, reason }) => `${name}: ${reason}.`);
  return [...(missing === 0 ? [] : [lack]), ...warnings, ...falls, ...reasons];
}

export function endLine({ cases, totals, spent, unpriced }: EvalSummary): string {
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

/** A case fails if it never passed. Cases, and all together, fail if they are why the eval fails. */
export function evalJunit(summary: EvalSummary, startedAt: number): string {
  const { file, cases, totals, baseline, spent } = summary;
  const problemOf = (of: string): Pick<TestCase, "result" | "reason" | "type"> | undefined => {
    const [first, ...more] = summary.problems.filter(({ name }) => name === of);
    const reason = [first, ...more].map((one) => one?.reason).join("\n");
    return first && { result: "failure", type: first.kind, reason };
  };
  const ofCases = cases.map((one): TestCase => {
    const { key, caseName: name, variant, model, line, milliseconds, tokens, cost } = one;
    const group = [file, variant, model].filter((part) => part !== "").join(" ");
    const properties = { model: model || undefined, tokens, cost: cost ?? undefined };
    const at = { name, group, file, line, seconds: milliseconds / 1000, properties };
    return { ...at, ...resultOf(one), ...problemOf(key) };
  });
  const ofTotals = totals.flatMap((total): readonly TestCase[] => {
    const { comparison } = total;
    const at = { name: nameOf(total), group: file, file, seconds: 0 };
    const problem = problemOf(nameOf(total));
    if (problem !== undefined) return [{ ...at, ...problem }];
    if (baseline === undefined || comparison === undefined) return [];
    return [{ ...at, result: "success", output: comparisonText(comparison) }];
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
  const failures = summary.cases.flatMap(({ key, failures: own }) =>
    own.map(({ text, runs }) => `- ${literal(key)}, ${runs}×: ${literal(text)}\n`),
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
.runs { display: flex; gap: var(--space-3); align-items: flex-start; overflow-x: auto; }
article { flex: 1 0 20rem; padding: var(--space-3); background: var(--surface); border: 1px solid var(--line); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.muted { color: var(--muted); font-size: var(--text-s); font-weight: 400; }
`;

export function evalHtml(summary: EvalSummary, answers: Answers): string {
  const { file, description } = summary;
  const element = (tag: string, kind: string, text: string): string =>
    `<${tag} class="${kind}">${escapeHtml(text)}</${tag}>\n`;
  const row = ({ cells: [name, ...others] }: Row): string => {
    const cells = others.map((cell) => `<td>${escapeHtml(cell)}</td>`);
    return `<tr><th scope="row">${escapeHtml(name)}</th>${cells.join("")}</tr>\n`;
  };
  const answer = ({ run, failures, journal, text }: Answer): string => {
    const reasons = failures.map((one) => element("p", "note", one));
    return `<article>\n<h3>Run ${run}</h3>\n${reasons.join("")}${element("pre", "", text)}<a href="${escapeHtml(journal)}">Journal</a>\n</article>\n`;
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
      "</table>\n",
      ...[...answers].map(
        ([key, all]) =>
          `${element("h2", "", `Failed: ${key}`)}<div class="runs">\n${all.map(answer).join("")}</div>\n`,
      ),
      "</main>\n",
    ],
  });
  return [...page].join("");
}
