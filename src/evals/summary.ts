import {
  fisherFall,
  holm,
  median,
  quantile,
  wilson,
  type Interval,
  type Passes,
} from "./statistics.ts";
import type { Spent } from "./budget.ts";
import type { Cell, Eval } from "./read-eval.ts";
import type { RunResult } from "./results.ts";

export interface Measured extends Passes {
  readonly key: string;
  readonly caseName: string;
  readonly variant: string;
  readonly model: string;
  readonly file: string;
  readonly line: number;
  readonly interval: Interval;
  readonly flaky: boolean;
  readonly tokens: number;
  readonly cost: number;
  readonly milliseconds: { readonly median: number; readonly p95: number; readonly sum: number };
  /** Of runs that failed, the most frequent first. */
  readonly failures: readonly { readonly text: string; readonly runs: number }[];
}

export interface Comparison {
  readonly key: string;
  /** A fall of the pass rate, after Fisher, corrected after Holm over all that is compared. */
  readonly p: number;
  readonly before: Passes;
  readonly after: Passes;
  /** With `p` below 5 %. */
  readonly fell: boolean;
  readonly against: string;
}

export interface EvalSummary {
  readonly file: string;
  readonly description: string;
  readonly measured: readonly Measured[];
  /** One for each variant and set of models, over all cases. */
  readonly totals: readonly Omit<Measured, "caseName" | "line" | "failures" | "flaky">[];
  readonly comparisons: readonly Comparison[];
  /** With a baseline, what falls fails the eval. */
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
  const measured = cells.map((cell): Measured => {
    const { key, caseName, variant, model, line } = cell;
    const found = own(cell);
    const all = measure(found);
    const flaky = all.passed > 0 && all.passed < all.runs;
    const failures = frequent(found.flatMap((one) => one.failures.slice(0, 1)));
    return { key, caseName, variant, model, file, line, ...all, flaky, failures };
  });
  const axes = [...new Set(cells.map(axisOf))];
  const totals = axes.map((key) => {
    const of = cells.filter((cell) => axisOf(cell) === key);
    const { variant = "", model = "" } = of[0] ?? {};
    return { key, variant, model, file, ...measure(of.flatMap(own)) };
  });
  return {
    file,
    description,
    measured,
    totals,
    ...end,
    comparisons: compare(measured, baseline?.cases),
    baseline: baseline?.file,
    missing: cells.length * runs - measured.reduce((sum, one) => sum + one.runs, 0),
  };
}

/** Without a baseline, the first variant and set of models is what the others are compared with. */
function compare(
  measured: readonly Measured[],
  baseline: Readonly<Record<string, Passes>> | undefined,
): Comparison[] {
  const [first] = measured;
  const axis = first === undefined ? "" : axisOf(first);
  const reference = new Map(
    measured.filter((one) => axisOf(one) === axis).map((one) => [one.caseName, one]),
  );
  const pairs = measured.flatMap((after) => {
    const before = baseline === undefined ? reference.get(after.caseName) : baseline[after.key];
    // What hasn't run can't have fallen.
    if (before === undefined || before === after || before.runs === 0 || after.runs === 0)
      return [];
    return [{ before, after }];
  });
  const corrected = holm(pairs.map(({ before, after }) => fisherFall(before, after)));
  const against = baseline === undefined ? axis : "baseline";
  return pairs.map(({ before, after: { key, passed, runs } }, at): Comparison => {
    const p = corrected[at] ?? 1;
    return { key, p, before, after: { passed, runs }, fell: p < SIGNIFICANT, against };
  });
}

function axisOf({ variant, model }: Pick<Cell, "variant" | "model">): string {
  return [variant, model].filter((name) => name !== "").join(" | ");
}

function measure(
  results: readonly RunResult[],
): Passes & Pick<Measured, "interval" | "tokens" | "cost" | "milliseconds"> {
  const passed = results.filter(({ failures }) => failures.length === 0).length;
  const count = { passed, runs: results.length };
  const times = results.map(({ milliseconds }) => milliseconds);
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  return {
    ...count,
    interval: wilson(count),
    tokens: sum(results.map(({ tokens }) => tokens)),
    cost: Math.round(sum(results.map(({ cost }) => cost)) * 1e6) / 1e6,
    milliseconds: { median: median(times), p95: quantile(times, 0.95), sum: sum(times) },
  };
}

function frequent(texts: readonly string[]): Measured["failures"] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts]
    .map(([text, runs]) => ({ text, runs }))
    .sort((a, b) => b.runs - a.runs)
    .slice(0, 3);
}
