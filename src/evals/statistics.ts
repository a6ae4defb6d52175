export interface Passes {
  readonly passed: number;
  readonly runs: number;
}

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
  const z2 = Z * Z;
  const center = (rate + z2 / (2 * runs)) / (1 + z2 / runs);
  const half =
    (Z / (1 + z2 / runs)) * Math.sqrt((rate * (1 - rate)) / runs + z2 / (4 * runs * runs));
  // Exact where rounding would leave the bound beside it.
  return {
    low: passed === 0 ? 0 : Math.max(0, center - half),
    high: passed === runs ? 1 : Math.min(1, center + half),
  };
}

/** The one-sided exact test: how probable so few passes are among the later runs, if all runs pass equally often. */
export function fisherFall(before: Passes, after: Passes): number {
  const runs = before.runs + after.runs;
  const passed = before.passed + after.passed;
  const all = logChoose(runs, after.runs);
  let sum = 0;
  for (let k = Math.max(0, passed - before.runs); k <= after.passed; k++) {
    sum += Math.exp(logChoose(passed, k) + logChoose(runs - passed, after.runs - k) - all);
  }
  return Math.min(1, sum);
}

function logChoose(n: number, k: number): number {
  return logFactorial(n) - logFactorial(k) - logFactorial(n - k);
}

function logFactorial(n: number): number {
  let sum = 0;
  for (let factor = 2; factor <= n; factor++) sum += Math.log(factor);
  return sum;
}
