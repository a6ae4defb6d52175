/** A share of the failures, side by side: each waits most of its time. All of them: `npm run test:chaos:full`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { problemsOf, story } from "./check.ts";
import { failures } from "./failures.ts";
import { moments } from "./failure.ts";
import { play } from "./play.ts";
import { caseName } from "./rules.ts";
import { allCases, kindOf, selectedCases } from "./selection.ts";

describe("a failure", { skip: process.platform !== "linux", concurrency: 3 }, () => {
  for (const one of selectedCases())
    it(`ends as the rules say, with nothing left: ${caseName(one)}`, async () => {
      const seen = await play(one, 5);
      const problems = problemsOf(one, seen, false);
      assert.equal(problems.length, 0, [caseName(one), ...problems, story(seen)].join("\n"));
    });
});

describe("the failures that are played", () => {
  it("are all of them at every moment in the full matrix, and each moment in the share", () => {
    const all = new Set(allCases().map(({ failure, moment }) => `${failure.name} ${moment}`));
    assert.ok(failures.every(({ name, moments: [first] }) => all.has(`${name} ${first}`)));
    const share = selectedCases();
    assert.deepEqual(
      moments.filter((moment) => !share.some((one) => one.moment === moment)),
      [],
    );
    assert.equal(new Set(share.map(caseName)).size, share.length);
    assert.equal(new Set(share.map(kindOf)).size, 12);
  });
});
