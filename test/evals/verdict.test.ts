/** When `agent-jobs eval` exits with 1, and what it refuses because it could never fail. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { again, evalFile, evaluated, rows, says, saysInTurn } from "./rig.ts";

const thirteen = (...words: readonly string[]): object => ({
  cases: Array.from({ length: 13 }, (_, at) => saysInTurn(`case ${at}`, ...words)),
});
const baseline = (cases: Readonly<Record<string, string>>): string => {
  const counts = Object.entries(cases).map(([name, text]) => {
    const [passed, runs] = text.split("/").map(Number);
    return [name, { passed, runs }];
  });
  return JSON.stringify({ version: 1, cases: Object.fromEntries(counts) });
};

describe("an eval of 13 cases with a baseline", () => {
  it("fails if each case falls, and not if nothing has changed", async (t) => {
    const args = ["--baseline", "base.json"];
    const { workspace, ...first } = await evaluated(
      t,
      thirteen("yes"),
      ...args,
      "--update-baseline",
    );
    assert.equal(first.code, 0, first.stdout + first.stderr);
    for (const [words, code, said] of [
      [["yes"], 0, /^65 of 65 runs passed, 0 flaky, 0 fell against baseline/m],
      [["yes", "yes", "yes", "yes", "no"], 1, /^all cases: passed 52 of 65, against 65 of 65 /m],
      [["no"], 1, /^all cases: passed 0 of 65, against 65 of 65 of baseline \(p < 0\.0001\)\.$/m],
    ] as const) {
      await workspace.write("a.eval.yml", evalFile(thirteen(...words)));
      const now = await again(workspace, ...args);
      assert.equal(now.code, code, now.stdout);
      assert.match(now.stdout, said);
      assert.match(
        now.stdout,
        /^all cases: detects a fall from 100 % to 92 % \(60 of 65 runs\)\.$/m,
      );
      if (words[0] === "no") {
        assert.deepEqual(rows(now.stdout)[0], "case 0 5 0 % was 100 %");
        assert.equal(rows(now.stdout).length, 13 + 1, "all of them fit");
        assert.ok(now.stdout.split("\n").length <= 51, "50 lines and the end of the last one");
      }
    }
  });
});

describe("an eval that could never fail", () => {
  for (const [name, passes, said] of [
    [
      "with too few runs",
      { a: "1/1" },
      /can't detect a fall from 1 of 1 passes, even if every run fails\.$/m,
    ],
    [
      "of cases that never passed",
      { a: "0/5" },
      /can't detect a fall from 0 of 5 passes, even if every run fails\.$/m,
    ],
    ["whose cases have other names", { b: "5/5" }, /base\.json has none of its cases/],
    ["of a case with the name of a method", { toString: "5/5" }, /none of its cases/],
  ] as const) {
    it(`is refused before it pays: ${name}`, async (t) => {
      const fields = { runs: 1, cases: [saysInTurn("a", "yes")] };
      const { workspace } = await evaluated(t, { ...fields, cases: [] });
      await workspace.write("a.eval.yml", evalFile(fields));
      await workspace.write("base.json", baseline(passes));
      const { code, stderr } = await again(workspace, "--baseline", "base.json");
      assert.equal(code, 2);
      assert.match(stderr, said);
      assert.match(stderr, /Increase --runs, update the baseline, or omit --baseline\./);
      assert.ok(!readdirSync(workspace.path).includes("a.eval.results.jsonl"), "nothing has run");
      const updated = await again(workspace, "--baseline", "base.json", "--update-baseline");
      assert.equal(updated.code, 0, updated.stderr);
    });
  }

  it("names what it can't compare, if it compares anything", async (t) => {
    const variants = { old: {}, new: {} };
    const fields = { runs: 4, variants, cases: [saysInTurn("a", "yes"), saysInTurn("b", "yes")] };
    const { workspace } = await evaluated(t, { cases: [] });
    await workspace.write("a.eval.yml", evalFile(fields));
    await workspace.write("base.json", baseline({ "a | old": "4/4" }));
    const { code, stdout } = await again(workspace, "--baseline", "base.json");
    assert.equal(code, 0, stdout);
    const twice = (text: string): void =>
      assert.equal(stdout.split(text).length, 3, `before and after the runs: ${text}\n${stdout}`);
    twice("all cases | old: detects a fall from 100 % to 0 % (0 of 4 runs); not in base.json: b.");
    twice("all cases | new: not compared, because base.json has none of its cases.");
  });

  it("doesn't trust a baseline with more passes than runs", async (t) => {
    const { workspace } = await evaluated(t, { cases: [] });
    await workspace.write("a.eval.yml", evalFile({ cases: [saysInTurn("a", "yes")] }));
    await workspace.write("base.json", baseline({ a: "9/5" }));
    const { code, stderr } = await again(workspace, "--baseline", "base.json");
    assert.equal(code, 2);
    assert.match(stderr, /base\.json: "a" passed more often than it ran/);
  });
});

describe("an eval without a baseline", () => {
  const half = saysInTurn("half", "yes", "no");
  for (const [name, code, said, fields] of [
    ["passes if any run passes", 0, /^1 of 2 runs passed/m, { cases: [half] }],
    [
      "fails if no run passes",
      1,
      /^all cases: passed none of 4 runs\.$/m,
      { cases: [saysInTurn("a", "no"), saysInTurn("b", "no")] },
    ],
    [
      "fails if no run of a variant passes",
      1,
      /^all cases \| bad: passed none of 2 runs\.$/m,
      {
        variants: { good: {}, bad: {} },
        cases: [
          {
            ...half,
            rehearsals: [
              { variant: "good", sessions: [says("yes")] },
              { variant: "bad", sessions: [says("no")] },
            ],
          },
        ],
      },
    ],
    ["passes at its minPassRate", 0, /^1 of 2 runs/m, { minPassRate: 0.5, cases: [half] }],
    [
      "fails below its minPassRate",
      1,
      /^all cases: passed 1 of 2, below minPassRate \(0\.51\)\.$/m,
      { minPassRate: 0.51, cases: [half] },
    ],
    [
      "fails if a case is below its own",
      1,
      /^half: passed 1 of 2, below minPassRate \(0\.9\)\.$/m,
      { minPassRate: 0.5, cases: [saysInTurn("a", "yes"), { ...half, minPassRate: 0.9 }] },
    ],
    [
      "may fail altogether with a minPassRate of 0",
      0,
      /^0 of 2 runs passed/m,
      { minPassRate: 0, cases: [saysInTurn("a", "no")] },
    ],
  ] as const) {
    it(name, async (t) => {
      const given = ["--output-dir", "out"];
      const { workspace, ...ended } = await evaluated(t, { runs: 2, ...fields }, ...given);
      assert.equal(ended.code, code, ended.stdout + ended.stderr);
      assert.match(ended.stdout, said);
      const junit = await workspace.read("out/junit.xml");
      if (code === 1)
        assert.match(
          junit,
          /<failure message="passed [^"]*" type="below-minimum">|<failure message="1 of 2 runs passed" type="below-minimum">/,
        );
    });
  }

  it("writes no baseline with which nothing could fall", async (t) => {
    const args = ["--baseline", "base.json", "--update-baseline"];
    const { workspace, code } = await evaluated(t, { cases: [saysInTurn("a", "no")] }, ...args);
    assert.equal(code, 1);
    assert.ok(!readdirSync(workspace.path).includes("base.json"));
  });
});
