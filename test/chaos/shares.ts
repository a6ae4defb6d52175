/**
 * The selection of failures, dealt out to test files of about the same length: `node --test` runs the files
 * side by side, as many as it was told to, and bounds the time of each.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LOOP_MS, problemsOf, story } from "./check.ts";
import { play } from "./play.ts";
import { caseName, expectationOf, type Case } from "./rules.ts";
import { selectedCases } from "./selection.ts";

const shareCount = 8;

/** The longest first, each to the share that has least: always the same deal. */
function dealt(): readonly (readonly Case[])[] {
  const shares = Array.from({ length: shareCount }, () => ({
    seconds: 0,
    cases: new Array<Case>(),
  }));
  const seconds = (one: Case): number => expectationOf(one).seconds;
  for (const one of [...selectedCases()].sort((a, b) => seconds(b) - seconds(a))) {
    const least = shares.reduce((a, b) => (b.seconds < a.seconds ? b : a));
    least.cases.push(one);
    least.seconds += seconds(one);
  }
  return shares.map(({ cases }) => cases);
}

/** Declares the tests of one share; `number` counts from 1. */
export function playShare(number: number): void {
  describe("a failure", { skip: process.platform !== "linux" }, () => {
    for (const one of dealt()[number - 1] ?? []) {
      it(`ends as the rules say, in time, with nothing left: ${caseName(one)}`, async () => {
        const seen = await play(one);
        const problems = problemsOf(one, seen, LOOP_MS.selection);
        assert.equal(problems.length, 0, [caseName(one), ...problems, story(seen)].join("\n"));
      });
    }
  });
}
