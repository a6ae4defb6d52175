/** The words and numbers of an eval's reports, the same in all of them. */
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
