import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { prepareRun } from "../../src/run/prepare.ts";
import { executeRun } from "../../src/run/execute.ts";
import { applyEvent, createRunView, viewsOf, type RunView } from "../../src/events/view.ts";
import { parseJournal } from "../../src/journal/read.ts";
import { chartOf } from "../../src/reports/flow-chart.ts";
import { renderSummary } from "../../src/reports/github/summary.ts";
import { chartDetail } from "../../src/reports/github/github-reporter.ts";
import { createPaint } from "../../src/reports/paint.ts";
import { worksTable } from "../../src/reports/works-table.ts";
import { runCli } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entries = join(import.meta.dirname, "../../../entries");

function shown(view: RunView): Readonly<Record<string, string>> {
  return {
    chart: chartOf(view),
    table: worksTable(view, 120, createPaint(false)).join("\n"),
    summary: renderSummary(view, {
      summary: "full",
      entryFile: "jobs.yml",
      chart: (one) => chartOf(one, (workId) => chartDetail(one, workId)),
    }),
  };
}

test("chart, table of works and summary come from a journal alone, as the live run showed them", async (t) => {
  const { path } = await makeWorkspace(t, {});
  const journal = join(path, "journal.jsonl");
  const live = createRunView();
  const options = {
    entryFile: join(entries, "commit-review.yml"),
    rehearse: join(entries, "commit-review.rehearsal.yml"),
    journal,
    environment: process.env,
    reporters: [{ report: (event) => applyEvent(live, event) }],
  } satisfies Parameters<typeof prepareRun>[0];
  const report = await executeRun(await prepareRun(options), options);
  assert.deepEqual([report.outcome.kind, report.complete], ["succeeded", true]);

  const { events, problems } = parseJournal(await readFile(journal, "utf8"));
  assert.deepEqual(problems, []);
  const [view, ...others] = [...viewsOf(events).values()];
  assert.ok(view !== undefined && others.length === 0);
  assert.deepEqual(shown(view), shown(live));
  assert.match(shown(view)["chart"] ?? "", /class n\d+.* succeeded/);

  const printed = await runCli(["chart", "--journal", journal], { cwd: path });
  assert.deepEqual([printed.stdout, printed.stderr, printed.code], [chartOf(live), "", 0]);
});
