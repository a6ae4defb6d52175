/**
 * Failures, each at two of the moments it can happen, alone and beside siblings: the outcome, the decisions,
 * the time, and that nothing is left. `npm run test:chaos:full` plays every combination.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { problemsOf, story } from "./check.ts";
import { play } from "./play.ts";
import { caseName, expectationOf } from "./rules.ts";
import { allCases, selectedCases, shortcomings } from "./selection.ts";

const selected = [...selectedCases()].sort(
  (a, b) => expectationOf(b).seconds - expectationOf(a).seconds,
);

describe("the selection of failures", () => {
  it("holds each failure at two moments, each moment with five failures and within a Par", () => {
    assert.deepEqual(shortcomings(selected), []);
    assert.deepEqual(shortcomings(allCases()), []);
  });
});

describe("a failure", { concurrency: 4, skip: process.platform !== "linux" }, () => {
  for (const one of selected) {
    it(`ends as the rules say, in time, with nothing left: ${caseName(one)}`, async () => {
      const seen = await play(one);
      const problems = problemsOf(one, seen);
      assert.equal(problems.length, 0, [caseName(one), ...problems, story(seen)].join("\n"));
    });
  }
});
