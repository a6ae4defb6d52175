import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import type { Passes } from "../../src/evals/results.ts";
import { detectableFall, probabilityOfFall, summarize, wilson } from "../../src/evals/summary.ts";
import { cellOf, resultOf } from "./rig.ts";

const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 5e-5, `${actual} is not ${expected}`);

const passes = fc
  .integer({ min: 1, max: 60 })
  .chain((runs) =>
    fc.record({ runs: fc.constant(runs), passed: fc.integer({ min: 0, max: runs }) }),
  );

describe("the interval of a pass rate", () => {
  for (const [passed, runs, low, high] of [
    [0, 10, 0, 0.2775],
    [10, 10, 0.7225, 1],
    [5, 10, 0.2366, 0.7634],
    [10, 20, 0.2993, 0.7007],
    [81, 263, 0.2553, 0.3662],
  ] as const) {
    it(`is from ${low} to ${high} for ${passed} of ${runs}`, () => {
      near(wilson({ passed, runs }).low, low);
      near(wilson({ passed, runs }).high, high);
    });
  }

  it("is everything without a run", () => {
    assert.deepEqual(wilson({ passed: 0, runs: 0 }), { low: 0, high: 1 });
  });

  it("contains the rate, is within 0 and 1, mirrors failures, and narrows with more runs", () => {
    fc.assert(
      fc.property(passes, ({ passed, runs }) => {
        const { low, high } = wilson({ passed, runs });
        const mirrored = wilson({ passed: runs - passed, runs });
        const more = wilson({ passed: passed * 4, runs: runs * 4 });
        assert.ok(0 <= low && low <= passed / runs && passed / runs <= high && high <= 1);
        near(mirrored.low, 1 - high);
        assert.ok(more.high - more.low < high - low);
      }),
    );
  });
});

const passesIn = (text: string) => {
  const [passed = 0, runs = 0] = text.split("/").map(Number);
  return { passed, runs };
};
/** Each pair is `PASSED/RUNS → PASSED/RUNS`. */
const fall = (...pairs: readonly string[]): number =>
  probabilityOfFall(
    pairs.map((pair) => {
      const [before = "", after = ""] = pair.split(" → ");
      return { before: passesIn(before), after: passesIn(after) };
    }),
  );

describe("the test of a fall", () => {
  for (const [name, pairs, p] of [
    // The lady tasting tea, R: fisher.test(matrix(c(3,1,1,3), 2), alternative = "greater").
    ["Fisher's for one case", ["3/4 → 1/4"], 0.242857],
    ["Fisher's for one case that fell far", ["20/20 → 10/20"], 0.000218],
    ["Fisher's for one case that lost one run", ["20/20 → 19/20"], 0.5],
    ["Fisher's for one case that rose", ["10/20 → 20/20"], 1],
    // (1 + 2 · 16 + 2 · 36 + 16 · 16) of 70 · 70 ways.
    ["that of two cases together", ["3/4 → 1/4", "3/4 → 1/4"], 0.073673],
    ["that of the case in which something can differ", ["4/4 → 4/4", "4/4 → 0/4"], 1 / 70],
    ["1 if only the numbers of runs differ", ["100/100 → 10/10", "0/10 → 0/100"], 1],
    ["1 without a case", [], 1],
  ] as const) {
    it(`is ${name}`, () => near(fall(...pairs), p));
  }

  it("is quickly computed for thousands of runs of many cases", () => {
    const cases = Array.from({ length: 50 }, () => "9000/10000 → 8990/10000");
    const p = fall(...cases);
    assert.ok(p > 0.04 && p < 0.06, String(p));
  });

  it("is a probability, falls with each pass that is lost, and finds nothing in equal counts", () => {
    fc.assert(
      fc.property(passes, passes, fc.array(fc.tuple(passes, passes)), (before, after, others) => {
        const all = others.map(([one, two]) => ({ before: one, after: two }));
        const p = probabilityOfFall([...all, { before, after }]);
        assert.ok(p >= 0 && p <= 1);
        const less = { ...after, passed: after.passed - 1 };
        if (after.passed > 0)
          assert.ok(probabilityOfFall([...all, { before, after: less }]) <= p + 1e-9);
        assert.ok(probabilityOfFall([{ before, after: before }]) >= 0.5 - 1e-9);
      }),
    );
  });
});

describe("the fall that can be detected", () => {
  for (const [name, before, runs, comparisons, passes] of [
    ["five runs of 13 cases", Array(13).fill("5/5"), 5, 1, 60],
    ["one run of 13 cases", Array(13).fill("5/5"), 1, 1, 11],
    ["four runs of a case", ["4/4"], 4, 1, 0],
    ["three runs of a case", ["3/3"], 3, 1, 0],
    ["two runs of a case are too few", ["2/2"], 2, 1, undefined],
    ["four runs of a case, compared four times, are too few", ["4/4"], 4, 4, undefined],
    ["cases that never passed", ["0/5", "0/9"], 5, 1, undefined],
    ["many cases that rarely passed", Array(50).fill("2/5"), 1, 1, 12],
    ["no case", [], 5, 1, undefined],
  ] as const) {
    it(`is known before anything runs: ${name}`, () => {
      const passed = before.map(passesIn);
      assert.equal(detectableFall(passed, runs, comparisons), passes);
    });
  }

  it("is found soon for many runs of many cases", () => {
    const before = Array.from({ length: 50 }, () => ({ passed: 180, runs: 200 }));
    const found = detectableFall(before, 200, 3) ?? 0;
    assert.ok(found > 8_850 && found < 8_950, String(found));
  });
});

/** Runs of 13 cases, five each, with these pass rates, by a generator that is always the same (mulberry32). */
function repetitions(name: string, before: Rates, after: Rates, axes = 1): number {
  let state = 1;
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let one = Math.imul(state ^ (state >>> 15), 1 | state);
    one = (one + Math.imul(one ^ (one >>> 7), 61 | one)) ^ one;
    return ((one ^ (one >>> 14)) >>> 0) / 2 ** 32;
  };
  const draw = (rate: number): boolean[] => Array.from({ length: 5 }, () => random() < rate);
  const cells = Array.from({ length: axes * 13 }, (_, at) => cellOf(at % 13, Math.floor(at / 13)));
  return Array.from({ length: 100 }, () => {
    const cases = new Map(
      cells.map(({ key, line }): [string, Passes] => {
        const passed = draw(before(line)).filter((one) => one).length;
        return [key, { passed, runs: 5 }];
      }),
    );
    const results = cells.flatMap(({ key, line }) =>
      draw(after(line)).map((passed, at) => resultOf(key, at + 1, passed)),
    );
    const { problems } = summarize({ file: name, minPassRate: undefined }, cells, {
      runs: 5,
      results,
      spent: { tokens: 0, cost: 0 },
      stopped: undefined,
      warnings: [],
      baseline: { file: "b.json", cases, replaced: false },
    });
    return problems.length > 0;
  }).filter((failed) => failed).length;
}

type Rates = (caseNumber: number) => number;

describe("an eval of 13 cases, repeated a hundred times,", () => {
  const mixed: Rates = (at) => [1, 0.9, 0.5, 0.2][at % 4] ?? 1;
  for (const [name, rates, axes] of [
    ["of which half of the runs pass", () => 0.5, 1],
    ["of which most runs pass", () => 0.9, 1],
    ["some of which are easy and some hard", mixed, 1],
    ["with three variants", mixed, 3],
  ] as const) {
    it(`fails at most five times if nothing has changed, ${name}`, () => {
      const failed = repetitions(name, rates, rates, axes);
      assert.ok(failed <= 5, String(failed));
    });

    it(`fails at least 95 times if each case falls far, ${name}`, () => {
      const failed = repetitions(name, rates, (at) => rates(at) / 3, axes);
      assert.ok(failed >= 95, String(failed));
    });
  }
});
