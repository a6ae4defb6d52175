/** Sums up an eval: pass rates with their intervals, drops, the smallest drop that could be detected, and why it fails. */
import { knownCost } from "../events/view.ts";
import { plural } from "../text/numbers.ts";
import type { Spent } from "./budget.ts";
import type { Cell, Eval } from "./read-eval.ts";
import type { Baseline, Passes, RunResult } from "./results.ts";

/** Why an eval fails. */
export interface Problem {
  /** A case, or all of a variant and a set of models. */
  readonly name: string;
  readonly kind: "below-minimum" | "fell";
  readonly reason: string;
}

interface Measured extends Passes {
  readonly interval: Interval;
  readonly tokens: number;
  /** Null if the cost is unknown. */
  readonly cost: number | null;
  /** All of its runs took this long. */
  readonly milliseconds: number;
}

export interface MeasuredCase
  extends Measured, Pick<Cell, "key" | "caseName" | "variant" | "model" | "line"> {
  readonly flaky: boolean;
  /** The pass rate in the baseline. */
  readonly before: Passes | undefined;
  /** The reasons of runs that failed, the most frequent first. */
  readonly failures: readonly { readonly text: string; readonly runs: number }[];
  /** The first ones. */
  readonly failedRuns: readonly Pick<RunResult, "run" | "failures">[];
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
  /** The reasons why the eval fails, except missing runs. */
  readonly problems: readonly Problem[];
  /** Sentences about what the comparison doesn't show. */
  readonly warnings: readonly string[];
  readonly spent: Spent;
  /** Models whose cost is unknown. */
  readonly unpriced: readonly string[];
  readonly stopped: string | undefined;
  readonly missing: number;
}

interface Ended extends Pick<EvalSummary, "spent" | "stopped" | "warnings"> {
  readonly runs: number;
  readonly results: readonly RunResult[];
  /** `replaced`: the baseline is going to be replaced, so a drop is no failure. */
  readonly baseline:
    { readonly file: string; readonly cases: Baseline; readonly replaced: boolean } | undefined;
}

const KEPT_RUNS = 5;

/** The variant and the set of models, which are compared over all cases. */
const axisOf = ({ variant, model }: Pick<Cell, "variant" | "model">): string =>
  [variant, model].filter((name) => name !== "").join(" | ");

export const nameOf = ({ key }: Pick<Total, "key">): string =>
  key === "" ? "all cases" : `all cases | ${key}`;
export const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Finds what each comparison with the baseline can detect, before anything runs. */
export function designsOf(
  cells: readonly Cell[],
  runs: number,
  { file, cases }: { readonly file: string; readonly cases: Baseline },
): readonly { readonly text: string; readonly detects: boolean; readonly isWhole: boolean }[] {
  const axes = [...new Set(cells.map(axisOf))].map((key) => {
    const own = cells.filter((cell) => axisOf(cell) === key);
    const unknown = own.filter((cell) => !cases.has(cell.key)).map(({ caseName }) => caseName);
    return { key, before: own.flatMap((cell) => cases.get(cell.key) ?? []), unknown };
  });
  const comparisons = axes.filter(({ before }) => before.length > 0).length;
  return axes.map(({ key, before, unknown }) => {
    const passes = detectableFall(before, runs, Math.max(1, comparisons));
    const { passed, runs: of } = together(before);
    const all = before.length * runs;
    const text =
      of === 0
        ? `not compared, because ${file} has none of its cases`
        : passes === undefined
          ? `can't detect a fall from ${passed} of ${of} passes, even if every run fails`
          : `detects a fall from ${percent(passed / of)} to ${percent(passes / all)} (${passes} of ${plural(all, "run")})`;
    const isWhole = unknown.length === 0;
    const rest = unknown.length > 3 ? ` and ${unknown.length - 3} more` : "";
    const lack = `; not in ${file}: ${unknown.slice(0, 3).join(", ")}${rest}`;
    const detects = passes !== undefined;
    return {
      text: `${nameOf({ key })}: ${text}${isWhole || of === 0 ? "" : lack}.`,
      detects,
      isWhole,
    };
  });
}

export function summarize(
  { file, description = "", minPassRate }: Pick<Eval, "file" | "description" | "minPassRate">,
  cells: readonly Cell[],
  { runs, results, baseline, ...end }: Ended,
): EvalSummary {
  const [problems, problemsOfCases]: [Problem[], Problem[]] = [[], []];
  const measured = cells.map((cell) => {
    const { key, caseName, variant, model, line, fingerprint } = cell;
    const own = results.filter(
      (one) => one.key === key && one.fingerprint === fingerprint && one.run <= runs,
    );
    const all = measure(own);
    const flaky = all.passed > 0 && all.passed < all.runs;
    const failed = own
      .filter((one) => one.failures.length > 0)
      .sort((a, b) => a.run - b.run)
      .map((one) => ({ run: one.run, failures: one.failures }));
    const failures = frequent(failed.flatMap((one) => one.failures.slice(0, 1)));
    const before = baseline?.cases.get(key);
    problemsOfCases.push(...belowMinimum(key, all, cell.minPassRate ?? 0));
    const ofCell = { key, caseName, variant, model, line, ...all, flaky, before, failures };
    const of: MeasuredCase = { ...ofCell, failedRuns: failed.slice(0, KEPT_RUNS) };
    return { axis: axisOf(cell), of, own };
  });
  const cases = measured.map(({ of }) => of);
  const keys = [...new Set(measured.map(({ axis }) => axis))];
  // If there is no baseline, all others are compared with the first variant and set of models.
  const first = measured.filter(({ axis }) => axis === keys[0]).map(({ of }) => of);
  const reference = new Map(first.map((one) => [one.caseName, one]));
  const axes = keys.map((key) => {
    const mine = measured.filter(({ axis }) => axis === key);
    const pairs = mine.flatMap(({ of: after }) => {
      const before = baseline ? after.before : reference.get(after.caseName);
      const isPair = before && before !== after && before.runs > 0 && after.runs > 0;
      return isPair ? [{ before, after }] : [];
    });
    return { key, pairs, all: measure(mine.flatMap(({ own }) => own)) };
  });
  const comparisons = axes.filter(({ pairs }) => pairs.length > 0).length;
  const totals = axes.map(({ key, pairs, all }): Total => {
    const p = Math.min(1, probabilityOfFall(pairs) * comparisons);
    const compared = {
      p,
      before: together(pairs.map(({ before }) => before)),
      after: together(pairs.map(({ after }) => after)),
      fell: isSignificant(p),
      against: baseline === undefined ? (keys[0] ?? "") : "baseline",
    };
    const comparison = pairs.length === 0 ? undefined : compared;
    const name = nameOf({ key });
    problems.push(...belowMinimum(name, all, minPassRate));
    if (comparison?.fell === true && baseline?.replaced === false)
      problems.push({ name, kind: "fell", reason: comparisonText(comparison) });
    return { key, ...all, comparison };
  });
  const missing = cells.length * runs - sum(cases.map((one) => one.runs));
  const all = {
    file,
    description,
    cases,
    totals,
    problems: [...problems, ...problemsOfCases],
    ...end,
  };
  return { ...all, unpriced: modelsOf(results), baseline: baseline?.file, missing };
}

export function comparisonText({ p, before, after, against }: Comparison): string {
  const probable = p < 1e-4 ? "p < 0.0001" : `p = ${p.toPrecision(2)}`;
  return `passed ${after.passed} of ${after.runs}, against ${before.passed} of ${before.runs} of ${against} (${probable})`;
}

/** If it is undefined, at least one run must pass. */
function belowMinimum(
  name: string,
  { passed, runs }: Passes,
  minimum: number | undefined,
): readonly Problem[] {
  const reason =
    minimum === undefined
      ? passed === 0 && `passed none of ${runs} runs`
      : passed / runs < minimum && `passed ${passed} of ${runs}, below minPassRate (${minimum})`;
  return runs === 0 || reason === false ? [] : [{ name, kind: "below-minimum", reason }];
}

const together = (all: readonly Passes[]): Passes => ({
  passed: sum(all.map(({ passed }) => passed)),
  runs: sum(all.map(({ runs }) => runs)),
});

function measure(results: readonly RunResult[]): Measured {
  const passed = results.filter(({ failures }) => failures.length === 0).length;
  const passes = { passed, runs: results.length };
  const cost = sum(results.map((one) => one.cost));
  return {
    ...passes,
    interval: wilson(passes),
    tokens: sum(results.map(({ tokens }) => tokens)),
    cost: knownCost({ cost, unpriced: modelsOf(results) }) ?? null,
    milliseconds: sum(results.map(({ milliseconds }) => milliseconds)),
  };
}

const modelsOf = (results: readonly RunResult[]): readonly string[] => [
  ...new Set(results.flatMap(({ unpriced = [] }) => unpriced)),
];

function frequent(texts: readonly string[]): MeasuredCase["failures"] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  const all = [...counts].map(([text, runs]) => ({ text, runs }));
  return all.sort((a, b) => b.runs - a.runs).slice(0, 3);
}

/* Statistics. */

/** 5 % with a tolerance for rounding, because three failures after three passes are exactly 5 %. */
const isSignificant = (p: number): boolean => p < 0.05 + 1e-9;

interface Interval {
  readonly low: number;
  readonly high: number;
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
  // Rounding would miss the exact bounds 0 and 1.
  return {
    low: passed === 0 ? 0 : Math.max(0, center - half),
    high: passed === runs ? 1 : Math.min(1, center + half),
  };
}

/** Smaller probabilities are ignored, because they change no digit that is shown. */
const NEGLIGIBLE = 1e-18;

/**
 * The probability of so few passes among the later runs if no pass rate has changed. The test is Fisher's, one-sided and
 * stratified by case (the exact test of Mantel and Haenszel), so the number of runs may differ from case to case.
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

/**
 * The highest number of passes that still counts as a drop, if each case runs this often and all drop alike. Undefined
 * if no drop can be detected, not even if every run fails.
 */
export function detectableFall(
  before: readonly Passes[],
  runs: number,
  comparisons: number,
): number | undefined {
  const expected = sum(before.map((one) => (one.passed / one.runs) * runs));
  const isFall = (total: number): boolean => {
    let [passes, given] = [0, 0];
    const pairs = before.map((one) => {
      passes += expected === 0 ? 0 : ((one.passed / one.runs) * runs * total) / expected;
      const passed = Math.round(passes) - given;
      given += passed;
      return { before: one, after: { passed, runs } };
    });
    return isSignificant(probabilityOfFall(pairs) * comparisons);
  };
  if (!isFall(0)) return undefined;
  let [fall, none] = [0, Math.floor(expected) + 1];
  while (none - fall > 1) {
    const middle = Math.floor((fall + none) / 2);
    if (isFall(middle)) fall = middle;
    else none = middle;
  }
  return fall;
}

function convolved(a: readonly number[], b: readonly number[]): number[] {
  const both = Array.from({ length: a.length + b.length - 1 }, () => 0);
  for (const [i, x] of a.entries())
    for (const [j, y] of b.entries()) both[i + j] = (both[i + j] ?? 0) + x * y;
  return both;
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
