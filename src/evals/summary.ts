import { fisherFall, wilson, type Interval, type Passes } from "./statistics.ts";
import type { Spent } from "./budget.ts";
import type { Cell, Eval } from "./read-eval.ts";
import type { RunResult } from "./results.ts";

interface Measured extends Passes, Spent {
  readonly interval: Interval;
  /** All of its runs took this long. */
  readonly milliseconds: number;
}

export interface MeasuredCase extends Measured {
  readonly key: string;
  readonly caseName: string;
  readonly variant: string;
  readonly model: string;
  readonly line: number;
  readonly flaky: boolean;
  /** The reasons of runs that failed, the most frequent first. */
  readonly failures: readonly { readonly text: string; readonly runs: number }[];
}

export interface Total extends Measured {
  /** The variant and the set of models. */
  readonly key: string;
  readonly comparison: Comparison | undefined;
}

/** The pass rates of two sets of runs, over the cases that have run in both. */
export interface Comparison {
  /** How probable such a fall is by chance (Fisher), times the number of comparisons. */
  readonly p: number;
  readonly before: Passes;
  readonly after: Passes;
  readonly fell: boolean;
  readonly against: string;
}

export interface EvalSummary {
  readonly file: string;
  readonly description: string;
  readonly cases: readonly MeasuredCase[];
  /** One for each variant and set of models, over all cases. */
  readonly totals: readonly Total[];
  /** With a baseline, a fall fails the eval. */
  readonly baseline: string | undefined;
  readonly spent: Spent;
  readonly stopped: string | undefined;
  readonly missing: number;
}

const SIGNIFICANT = 0.05;

export function summarize(
  { file, description = "" }: Pick<Eval, "file" | "description">,
  cells: readonly Cell[],
  {
    runs,
    results,
    baseline,
    ...end
  }: Pick<EvalSummary, "spent" | "stopped"> & {
    readonly runs: number;
    readonly results: readonly RunResult[];
    readonly baseline:
      { readonly file: string; readonly cases: Readonly<Record<string, Passes>> } | undefined;
  },
): EvalSummary {
  const own = (cell: Cell): readonly RunResult[] =>
    results.filter(
      ({ key, fingerprint, run }) =>
        key === cell.key && fingerprint === cell.fingerprint && run <= runs,
    );
  const cases = cells.map((cell): MeasuredCase => {
    const { key, caseName, variant, model, line } = cell;
    const found = own(cell);
    const all = measure(found);
    const flaky = all.passed > 0 && all.passed < all.runs;
    const failures = frequent(found.flatMap((one) => one.failures.slice(0, 1)));
    return { key, caseName, variant, model, line, ...all, flaky, failures };
  });
  const axes = [...new Set(cells.map(axisOf))];
  const [first = ""] = axes;
  // If there is no baseline, all others are compared with the first variant and set of models.
  const reference = new Map(
    cases.filter((one) => axisOf(one) === first).map((one) => [one.caseName, one]),
  );
  const against = baseline === undefined ? first : "baseline";
  const count = baseline === undefined ? axes.length - 1 : axes.length;
  const totals = axes.map((key): Total => {
    const pairs = cases
      .filter((one) => axisOf(one) === key)
      .map((after) => {
        const before = baseline ? baseline.cases[after.key] : reference.get(after.caseName);
        return { before, after };
      });
    const all = cells.filter((cell) => axisOf(cell) === key).flatMap(own);
    return { key, ...measure(all), comparison: compare(pairs, count, against) };
  });
  return {
    file,
    description,
    cases,
    totals,
    ...end,
    baseline: baseline?.file,
    missing: cells.length * runs - cases.reduce((sum, one) => sum + one.runs, 0),
  };
}

function compare(
  pairs: readonly { readonly before: Passes | undefined; readonly after: Passes }[],
  count: number,
  against: string,
): Comparison | undefined {
  const both = pairs.flatMap(({ before, after }) =>
    before === undefined || before === after || before.runs === 0 || after.runs === 0
      ? []
      : [{ before, after }],
  );
  if (both.length === 0) return undefined;
  const before = together(both.map((one) => one.before));
  const after = together(both.map((one) => one.after));
  const p = Math.min(1, fisherFall(before, after) * count);
  return { p, before, after, fell: p < SIGNIFICANT, against };
}

function together(all: readonly Passes[]): Passes {
  return { passed: sum(all.map(({ passed }) => passed)), runs: sum(all.map(({ runs }) => runs)) };
}

function axisOf({ variant, model }: Pick<Cell, "variant" | "model">): string {
  return [variant, model].filter((name) => name !== "").join(" | ");
}

function measure(results: readonly RunResult[]): Measured {
  const passed = results.filter(({ failures }) => failures.length === 0).length;
  const passes = { passed, runs: results.length };
  return {
    ...passes,
    interval: wilson(passes),
    tokens: sum(results.map(({ tokens }) => tokens)),
    cost: Math.round(sum(results.map(({ cost }) => cost)) * 1e6) / 1e6,
    milliseconds: sum(results.map(({ milliseconds }) => milliseconds)),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

function frequent(texts: readonly string[]): MeasuredCase["failures"] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts]
    .map(([text, runs]) => ({ text, runs }))
    .sort((a, b) => b.runs - a.runs)
    .slice(0, 3);
}
