import assert from "node:assert/strict";
import { test } from "node:test";
import {
  figures,
  filterRuns,
  noFilter,
  sortRuns,
  type ListedRun,
} from "../../web/report/run-list.ts";
import { differenceOf } from "../../src/reports/run-summary.ts";

function run(runId: string, more: Partial<ListedRun> = {}): ListedRun {
  return {
    runId,
    jobName: "nightly",
    status: "succeeded",
    startTime: "2026-01-01T00:00:00.000Z",
    durationMs: 1000,
    modelCalls: 1,
    inputTokens: 10,
    outputTokens: 1,
    cost: 0.5,
    attempts: 1,
    retries: 0,
    crashes: 0,
    denials: 0,
    journals: ["linux.jsonl"],
    ...more,
  };
}

const runs = [
  run("a", { startTime: "2026-01-03T00:00:00.000Z", cost: 2 }),
  run("b", { jobName: "review", status: "failed", reason: "criteria not met", retries: 3 }),
  run("c", { status: "running", journals: ["mac.jsonl", "all.jsonl"], outputTokens: 500 }),
];
const ids = (found: readonly ListedRun[]): string => found.map(({ runId }) => runId).join("");

test("runs are found by every word of job, id, reason and journal, and by status and job", () => {
  for (const [filter, found] of [
    [{}, "abc"],
    [{ text: "  NIGHTLY mac" }, "c"],
    [{ text: "criteria" }, "b"],
    [{ text: "all.jsonl" }, "c"],
    [{ text: "nightly criteria" }, ""],
    [{ status: "failed" }, "b"],
    [{ job: "nightly", status: "succeeded" }, "a"],
  ] as const)
    assert.equal(ids(filterRuns(runs, { ...noFilter, ...filter })), found, JSON.stringify(filter));
});

test("runs are sorted by each column, in both directions, and equal ones keep their order", () => {
  for (const [key, ascending] of [
    ["startTime", "bca"],
    ["jobName", "acb"],
    ["cost", "bca"],
    ["tokens", "abc"],
    ["retries", "acb"],
    ["status", "bca"],
    ["durationMs", "abc"],
  ] as const)
    assert.equal(ids(sortRuns(runs, { key, descending: false })), ascending, key);
  assert.equal(ids(sortRuns(runs, { key: "cost", descending: true })), "abc");
  const { startTime: _start, ...unknown } = run("x");
  const byStart = { key: "startTime", descending: true } as const;
  assert.equal(ids(sortRuns([unknown, ...runs], byStart)), "abcx");
});

test("a difference has a sign and a share, and is none where both look the same", () => {
  const of = (a: Partial<ListedRun>, b: Partial<ListedRun>): (string | undefined)[] =>
    figures.map((figure) => differenceOf(figure, run("a", a), run("b", b)));
  assert.deepEqual(of({ durationMs: 1000, cost: 0.5 }, { durationMs: 1500, cost: 0.25 }), [
    "+500 ms (+50 %)",
    undefined,
    "−0.25 (−50 %)",
    undefined,
    undefined,
  ]);
  assert.equal(of({}, { retries: 2 })[3], "+2");
  assert.equal(of({ durationMs: 20_000 }, { durationMs: 20_001 })[0], undefined);
});
