/** The runs on the start page. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { earlierRuns, newestFirst, runsByJob } from "../../web/portal/runs.ts";
import type { RunListItem } from "../../web/data/api-types.ts";
import type { RunSummary } from "../../src/reports/run-summary.ts";

const run = (jobId: string, minute: number, status: RunListItem["status"]): RunListItem => ({
  jobId,
  jobName: "review",
  startTime: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
  status,
  workingDirectory: "/",
  userInput: "",
  tasks: [],
});

it("the newest run comes first", () => {
  const runs = [run("a", 1, "Failed"), run("c", 3, "Running"), run("b", 2, "Succeeded")];
  assert.deepEqual(
    newestFirst(runs).map(({ jobId }) => jobId),
    ["c", "b", "a"],
  );
});

it("a job has its running runs and the newest one that ended", () => {
  const runs = [
    run("a", 1, "Failed"),
    run("b", 2, "Succeeded"),
    run("c", 3, "Running"),
    run("d", 4, "Running"),
  ];
  const { running, last } = runsByJob(runs).get("review") ?? {};
  assert.equal(running, 2);
  assert.equal(last?.jobId, "b");
});

it("earlier runs are those of journals that the server doesn't list, each once, the newest first", () => {
  const kept = (runId: string, startTime?: string): RunSummary => ({
    runId,
    jobName: "review",
    status: "succeeded",
    ...(startTime === undefined ? {} : { startTime }),
    durationMs: 0,
    modelCalls: 0,
    inputTokens: 0,
    outputTokens: 0,
    cost: 0,
    attempts: 0,
    retries: 0,
    crashes: 0,
    denials: 0,
  });
  const journal = (...runs: RunSummary[]) => ({
    name: "x.jsonl",
    size: 0,
    modified: "",
    runs,
    problems: 0,
  });
  const old = kept("old", "2025-12-30T00:00:00.000Z");
  const newer = kept("newer", "2025-12-31T00:00:00.000Z");
  const listed = kept("a", "2026-01-01T00:00:00.000Z");
  const journals = [journal(old, listed), journal(old, newer, kept("without a start"))];
  assert.deepEqual(
    earlierRuns(journals, [run("a", 1, "Succeeded")]).map(({ runId }) => runId),
    ["newer", "old"],
  );
});
