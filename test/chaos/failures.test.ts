/** A share of the failures, side by side: each waits most of its time. All of them: `npm run test:chaos:full`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { problemsOf, story } from "./check.ts";
import { play } from "./play.ts";
import { caseName, type Case } from "./rules.ts";
import { allCases, selectedCases } from "./selection.ts";

describe("a failure", { skip: process.platform !== "linux", concurrency: 3 }, () => {
  it("is tried at every moment", () => {
    const momentsOf = (cases: readonly Case[]): Set<string> =>
      new Set(cases.map(({ moment }) => moment));
    assert.deepEqual(momentsOf(selectedCases()), momentsOf(allCases()));
  });

  for (const one of selectedCases())
    it(`ends as the rules say, with nothing left: ${caseName(one)}`, async () => {
      const seen = await play(one, 5);
      const problems = problemsOf(one, seen, false);
      assert.equal(problems.length, 0, [caseName(one), ...problems, story(seen)].join("\n"));
    });
});
