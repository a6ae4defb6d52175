/** Sums up an eval: pass rates with their intervals, and whether they fell. */
import type { Spent } from "./budget.ts";
import type { Cell, Eval } from "./read-eval.ts";
import type { Baseline, Passes, RunResult } from "./results.ts";

interface Interval {
  readonly low: number;
  readonly high: number;
}

interface Measured extends Passes, Spent {
  readonly interval: Interval;
  /** All of its runs took this long. */
  readonly milliseconds: number;
}

export interface MeasuredCase
  extends Measured, Pick<Cell, "key" | "caseName" | "variant" | "model" | "line"> {
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
  /** How probable such a fall is by chance, times the number of comparisons. */
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
  /** Models whose cost is unknown. */
  readonly unpriced?: readonly string[];
  readonly stopped: string | undefined;
  readonly missing: number;
}

interface Ended extends Pick<EvalSummary, "spent" | "unpriced" | "stopped"> {
  readonly runs: number;
  readonly results: readonly RunResult[];
  readonly baseline: { readonly file: string; readonly cases: Baseline } | undefined;
}

const SIGNIFICANT = 0.05;

export function summarize(
  { file, description = "" }: Pick<Eval, "file" | "description">,
  cells: readonly Cell[],
  { runs, results, baseline, ...end }: Ended,
): EvalSummary {
  const measured = cells.map((cell) => {
    const { key, caseName, variant, model, line, fingerprint } = cell;
    const own = results.filter(
      (one) => one.key === key && one.fingerprint === fingerprint && one.run <= runs,
    );
    const all = measure(own);
    const flaky = all.passed > 0 && all.passed < all.runs;
    const failures = frequent(own.flatMap((one) => one.failures.slice(0, 1)));
    const of: MeasuredCase = { key, caseName, variant, model, line, ...all, flaky, failures };
    return { axis: [variant, model].filter((name) => name !== "").join(" | "), of, own };
  });
  const cases = measured.map(({ of }) => of);
  const axes = [...new Set(measured.map(({ axis }) => axis))];
  // If there is no baseline, all others are compared with the first variant and set of models.
  const first = measured.filter(({ axis }) => axis === axes[0]).map(({ of }) => of);
  const reference = new Map(first.map((one) => [one.caseName, one]));
  const totals = axes.map((key): Total => {
    const mine = measured.filter(({ axis }) => axis === key);
    const pairs = mine.flatMap(({ of: after }) => {
      const before = baseline ? baseline.cases[after.key] : reference.get(after.caseName);
      const isPair = before && before !== after && before.runs > 0 && after.runs > 0;
      return isPair ? [{ before, after }] : [];
    });
    const count = baseline === undefined ? axes.length - 1 : axes.length;
    const p = Math.min(1, probabilityOfFall(pairs) * count);
    const together = (all: readonly Passes[]): Passes => ({
      passed: sum(all.map(({ passed }) => passed)),
      runs: sum(all.map((one) => one.runs)),
    });
    const comparison = {
      p,
      before: together(pairs.map(({ before }) => before)),
      after: together(pairs.map(({ after }) => after)),
      fell: p < SIGNIFICANT,
      against: baseline === undefined ? (axes[0] ?? "") : "baseline",
    };
    const all = measure(mine.flatMap(({ own }) => own));
    return { key, ...all, comparison: pairs.length === 0 ? undefined : comparison };
  });
  const missing = cells.length * runs - sum(cases.map((one) => one.runs));
  return { file, description, cases, totals, ...end, baseline: baseline?.file, missing };
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

function frequent(texts: readonly string[]): MeasuredCase["failures"] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  const all = [...counts].map(([text, runs]) => ({ text, runs }));
  return all.sort((a, b) => b.runs - a.runs).slice(0, 3);
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

/** The two-sided 95 % quantile of the normal distribution. */
const Z = 1.959963984540054;

/** The 95 % interval of a pass rate, after Wilson. Without runs nothing is known: from 0 to 1. */
export function wilson({ passed, runs }: Passes): Interval {
  if (runs === 0) return { low: 0, high: 1 };
  const rate = passed / runs;
  const scale = 1 + (Z * Z) / runs;
  const center = (rate + (Z * Z) / (2 * runs)) / scale;
  const half = (Z / scale) * Math.sqrt((rate * (1 - rate)) / runs + (Z * Z) / (4 * runs * runs));
  // Exact where rounding would leave the bound beside it.
  return {
    low: passed === 0 ? 0 : Math.max(0, center - half),
    high: passed === runs ? 1 : Math.min(1, center + half),
  };
}

/** Smaller probabilities are left out: they change no digit that anybody sees. */
const NEGLIGIBLE = 1e-18;

/**
 * How probable so few passes are among all later runs, if the runs of each case pass as often before as after. The test
 * is Fisher's, one-sided and stratified by case (the exact test of Mantel and Haenszel), so each case may have run
 * another number of times.
 */
export function probabilityOfFall(
  pairs: readonly { readonly before: Passes; readonly after: Passes }[],
): number {
  let lowest = 0;
  let all: readonly number[] = [1];
  for (const { before, after } of pairs) {
    const own = laterPasses(before, after);
    const both = convolved(all, own.probabilities);
    const start = both.findIndex((one) => one > NEGLIGIBLE);
    const end = both.findLastIndex((one) => one > NEGLIGIBLE);
    lowest += own.lowest + start;
    all = both.slice(start, end + 1);
  }
  const observed = sum(pairs.map(({ after }) => after.passed));
  return Math.min(1, sum(all.slice(0, Math.max(0, observed - lowest + 1))));
}

/** The hypergeometric distribution of the passes among the later runs of a case, from the lowest number on. */
function laterPasses(before: Passes, after: Passes) {
  const passed = before.passed + after.passed;
  const mode = Math.floor(((after.runs + 1) * (passed + 1)) / (before.runs + after.runs + 2));
  const more = (k: number): number => (passed - k) * (after.runs - k);
  const less = (k: number): number => k * (before.runs - passed + k);
  const up: number[] = [];
  for (let k = mode, one = 1; one > NEGLIGIBLE; k++) {
    up.push(one);
    one *= more(k) / less(k + 1);
  }
  const down: number[] = [];
  for (let k = mode, one = 1; one > NEGLIGIBLE; k--) {
    down.unshift(one);
    one *= less(k) / more(k - 1);
  }
  const weights = [...down, ...up.slice(1)];
  const whole = sum(weights);
  return {
    lowest: mode - down.length + 1,
    probabilities: weights.map((one) => one / whole),
  };
}

function convolved(a: readonly number[], b: readonly number[]): number[] {
  const both = Array.from({ length: a.length + b.length - 1 }, () => 0);
  for (const [i, x] of a.entries())
    for (const [j, y] of b.entries()) both[i + j] = (both[i + j] ?? 0) + x * y;
  return both;
}
