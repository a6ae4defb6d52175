import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { fisherFall, wilson } from "../../src/evals/statistics.ts";

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

describe("Fisher's one-sided test of a fall", () => {
  for (const [before, after, p] of [
    // The lady tasting tea, R: fisher.test(matrix(c(3,1,1,3), 2), alternative = "greater").
    [[3, 4], [1, 4], 0.242857],
    [[20, 20], [10, 20], 0.000218],
    [[20, 20], [19, 20], 0.5],
    [[10, 20], [20, 20], 1],
  ] as const) {
    it(`gives ${p} for ${before.join(" of ")} and then ${after.join(" of ")}`, () => {
      const of = ([passed, runs]: readonly [number, number]) => ({ passed, runs });
      near(fisherFall(of(before), of(after)), p);
    });
  }

  it("is a probability, falls with each pass that is lost, and finds nothing in equal counts", () => {
    fc.assert(
      fc.property(passes, passes, (before, after) => {
        const p = fisherFall(before, after);
        assert.ok(p >= 0 && p <= 1);
        if (after.passed > 0)
          assert.ok(fisherFall(before, { ...after, passed: after.passed - 1 }) <= p + 1e-9);
        assert.ok(fisherFall(before, before) >= 0.5 - 1e-9);
      }),
    );
  });
});
