import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunView } from "../../src/events/view.ts";
import { chartOf } from "../../src/reports/flow-chart.ts";
import { outputsOf } from "../../src/github/step-outputs.ts";
import { renderSummary } from "../../src/github/summary.ts";
import { act, ActionTelling, documentOf, releaseStory } from "../rig/action-events.ts";
import { hidden, outsideOfFences } from "./page.ts";
import { report } from "./summary-rig.ts";

function summary(view: RunView): string {
  return renderSummary(view, {
    summary: "full",
    entryFile: "jobs.yml",
    chart: (shown) => chartOf(shown),
  });
}

const told = await (await releaseStory()).finish();

test("the summary of a task with actions has its response, its documents, a chart over time and a table", () => {
  const page = summary(told.view);
  const [, section = ""] = page.split("### Actions of <b>#0</b> <code>ship</code>\n\n");
  assert.match(
    page,
    /### Report\n\nResponse of <b>#0<\/b> <code>ship<\/code>\n\nDeployed to \*\*staging/,
  );
  assert.match(
    section,
    /<sub>3 documents · 1 rejected · 10 actions · 2 warnings<\/sub>\n\n- document 2 rejected: /,
  );
  assert.match(section, /```mermaid\ngantt\n/);
  for (const row of [
    "| 1 | <code>look</code> | <code>search</code> | ✓\u00A0succeeded | 1.0\u00A0s |  |",
    "| 1 | <code>build</code> | <code>npm/build</code> (in the background) | ✓\u00A0succeeded | 20\u00A0s |  |",
    "| 2 | <code>tests</code> › <code>e2e</code> | <code>npm/test</code> | ✗\u00A0failed | 6.0\u00A0s | 2 of 40 tests failed ⏎ the end of stderr |",
    '| 2 | <code>early</code> | <code>deploy</code> | –\u00A0skipped |  | It needs "tests", which failed. |',
    "| 2 | <code>slow</code> | <code>deploy</code> | ✗\u00A0timed\u00A0out | 1\u00A0min\u00A000\u00A0s | It did not end within 60 seconds. |",
  ])
    assert.ok(section.includes(`${row}\n`), row);
  assert.equal(hidden(page), "");
  // Its turns are no attempts.
  assert.doesNotMatch(page, /↻|retried/);
});

test("a task without documents has no section", () => {
  assert.doesNotMatch(summary(new ActionTelling().view), /Actions of/);
});

test("the output `report` is the response", () => {
  assert.equal(outputsOf(told.view).report, "Deployed to **staging**. Two end-to-end tests fail.");
});

test("what a model writes into a document is literal text", async () => {
  const hostile =
    "```\n</details>\n@octocat #12 ![x](https://evil.example/x.png) |\n<script>alert(1)</script>\n## x\u001B[31m";
  const evil = new ActionTelling();
  await evil.turn(documentOf([act(hostile, "x")]));
  await evil.turn(
    documentOf(
      [
        act("lint", "lint", { fails: hostile }, { display: { type: "x", label: hostile } }),
        { ...act(hostile, "group"), sub_actions: [act("lint", "inner", { fails: hostile })] },
      ],
      { response: hostile },
    ),
  );
  const page = summary((await evil.finish()).view);
  assert.equal(hidden(page), "");
  assert.doesNotMatch(outsideOfFences(page), /octocat(?<!@\u2060octocat|&#64;\u2060octocat)/);
});

test("the log has the lines of actions in the group of their work, with the names of other tasks", async () => {
  const { lines } = await report(told.events);
  const group = lines.slice(
    lines.findIndex((line) => line.startsWith("::group::#0 ship succeeded")),
  );
  assert.ok(
    group.some((line) => /^00:27 e2e \(npm\/test\) failed after 6.0 s: 2 of 40/.test(line)),
  );
  assert.ok(group.includes("00:03 docs: prompt turn: Update the changelog."), group.join("\n"));
  assert.equal(lines.filter((line) => line.startsWith("::group::")).length, 1);
});

test("a long run stays within the limit, and says how many actions are omitted", async () => {
  const long = new ActionTelling();
  for (let n = 1; n <= 40; n += 1) {
    const one = (id: number) => act("lint", `a${n}-${id}`, { fails: "é`|".repeat(1000) });
    await long.turn(documentOf(Array.from({ length: 30 }, (_, id) => one(id))));
  }
  const page = summary((await long.finish()).view);
  assert.ok(Buffer.byteLength(page) < 1024 * 1024);
  assert.equal(hidden(page), "");
  assert.match(page, /<summary>300 actions, 900 earlier omitted<\/summary>/);
  assert.match(page, /<sub>1100 further actions not drawn<\/sub>/);
});
