/** The statistics of pass rates: intervals, drops, and the smallest drop that could be detected. */
import type { Passes } from "./results.ts";

/** 5 % with a tolerance for rounding, because three failures after three passes are exactly 5 %. */
export const isSignificant = (p: number): boolean => p < 0.05 + 1e-9;

export interface Interval {
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

export function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
