import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { probabilityOfFall, wilson } from "../../src/evals/summary.ts";

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
