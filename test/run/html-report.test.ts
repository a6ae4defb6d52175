/** The report of a run whose process has no time to wait for its end. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { prepareRun } from "../../src/run/prepare.ts";
import { executeRun } from "../../src/run/execute.ts";
import { readReport } from "../reports/rig.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entries = join(import.meta.dirname, "../../../entries");

test("a report can be saved before the run has ended, with the events so far", async (t) => {
  const { path } = await makeWorkspace(t);
  const htmlReport = join(path, "report.html");
  let save: (() => Promise<void>) | undefined;
  let saved: Promise<void> | undefined;
  const options = {
    entryFile: join(entries, "commit-review.yml"),
    rehearse: join(entries, "commit-review.rehearsal.yml"),
    htmlReport,
    environment: process.env,
    reporters: [
      { report: ({ type }) => void (type === "turn.ended" ? (saved ??= save?.()) : undefined) },
    ],
  } satisfies Parameters<typeof prepareRun>[0];
  const onStarted = (how: () => Promise<void>): void => void (save = how);
  const { outcome, complete } = await executeRun(await prepareRun(options), options, { onStarted });
  assert.deepEqual([outcome.kind, complete], ["succeeded", true]);
  assert.ok(saved !== undefined);
  await saved;
  const { boot, events } = readReport(await readFile(htmlReport, "utf8"));
  assert.deepEqual(
    boot.runs.map(({ status }) => status),
    ["running"],
  );
  assert.equal(events.at(-1)?.type, "turn.ended");
});
