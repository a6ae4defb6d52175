import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { EvalLines } from "../../src/cli/eval.ts";
import { createOutput } from "../../src/cli/process.ts";
import type { RunResult } from "../../src/evals/results.ts";
import { summarize } from "../../src/evals/summary.ts";
import { cellOf, resultOf } from "../evals/rig.ts";

/** What an eval of 120 cases with four variants, five runs each, prints if all but the first `passed` runs fail. */
function printed({
  passed = 0,
  verbose = false,
  isTTY = false,
  format = "text",
}: {
  readonly passed?: number;
  readonly verbose?: boolean;
  readonly isTTY?: boolean;
  readonly format?: "text" | "json";
}): string {
  const stdout = new PassThrough();
  let text = "";
  stdout.on("data", (part) => (text += String(part)));
  const output = createOutput(Object.assign(stdout, { isTTY }), process.stderr, {});
  const cells = Array.from({ length: 120 * 4 }, (_, at) => ({
    ...cellOf(at % 120, Math.floor(at / 120)),
    minPassRate: 1,
  }));
  const lines = new EvalLines(output, { verbose, format });
  lines.print(
    Array.from({ length: 9 }, (_, at) => `Detects ${at}.`),
    4,
  );
  const results: RunResult[] = [];
  for (const { key } of cells)
    for (let run = 1; run <= 5; run++) {
      const result = resultOf(key, run, results.length < passed);
      results.push({ ...result, failures: result.failures.map((one) => `${one}\nsecond line`) });
      lines.run(results.at(-1) ?? result, cells.length * 5);
    }
  lines.draw("");
  const ended = { spent: { tokens: 1, cost: 0 }, stopped: undefined, warnings: [] };
  const all = { ...ended, runs: 5, results, baseline: undefined };
  lines.end(summarize({ file: "a.eval.yml", minPassRate: undefined }, cells, all));
  return text;
}

describe("what an eval prints", () => {
  it("has at most 50 lines, with the failures and the worst cases", () => {
    const lines = printed({ passed: 1_203 }).trimEnd().split("\n");
    assert.ok(lines.length <= 50, lines.join("\n"));
    assert.ok(lines.length > 40, "there is a reason for each of them");
    const count = (words: RegExp): number => lines.filter((line) => words.test(line)).length;
    assert.equal(count(/^FAIL /), 6);
    assert.equal(count(/^ {6}wrong ⏎ second line$/), 6);
    assert.equal(count(/^ok /), 0);
    assert.equal(count(/^\d+ of 2400 runs, \d+ failed$/), 3);
    assert.equal(count(/^\d+ \| \d {2,}5 +0 % /), 13, "the cases that never passed");
    assert.equal(count(/^all cases \| \d {2}/), 4);
    assert.equal(count(/^… and 467 more rows/), 1);
    assert.equal(count(/^all cases \| 3: passed none of 600 runs\.$/), 1);
    assert.match(lines.at(-1) ?? "", /^1203 of 2400 runs passed, 1 flaky/);
  });

  it("has a line for each run and each case if it is verbose", () => {
    const lines = printed({ passed: 1_203, verbose: true }).split("\n");
    const count = (words: RegExp): number => lines.filter((line) => words.test(line)).length;
    assert.deepEqual([count(/^ok /), count(/^FAIL /)], [1_203, 1_197]);
    assert.equal(count(/^\d+ \| \d {2,}5 /), 480);
  });

  it("is only the result for programs", () => {
    assert.equal(JSON.parse(printed({ format: "json" })).cases.length, 480);
  });

  it("is one line of progress on a terminal, erased before anything else", () => {
    const text = printed({ passed: 2_395, isTTY: true });
    const erase = "\r\u001B[2K";
    assert.ok(
      text.includes(`${erase}2395 of 2400 runs, 0 failed${erase}FAIL  `),
      text.slice(-3000),
    );
    assert.ok(text.includes(`${erase}2400 of 2400 runs, 5 failed${erase}`));
  });
});
