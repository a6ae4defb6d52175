import assert from "node:assert/strict";
import { readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RunEvent } from "../../src/events/event.ts";
import { openOutputDirectory } from "../../src/run/output-directory.ts";
import { alive } from "../outputs/alive.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const stamp = { runId: "r", seq: 1, at: 1 };
const given = (markdown: string): RunEvent => ({
  ...stamp,
  type: "report.given",
  work: { workId: 1, taskId: "plan", iteration: 1 },
  markdown,
});
const ended: RunEvent = { ...stamp, type: "run.ended", outcome: { kind: "succeeded" } };

test("the report of the job is whole, however long it is", async (t) => {
  const folder = join((await makeWorkspace(t)).path, "out");
  const output = openOutputDirectory(folder);
  const long = "é".repeat(128_000);
  output.report(given(long));
  output.report(ended);
  for (const name of ["plan.md", "report.md"])
    assert.equal(readFileSync(join(folder, name), "utf8"), `${long}\n`, name);
});

test("the index shows titles and items as text", async (t) => {
  const folder = join((await makeWorkspace(t)).path, "out");
  const output = openOutputDirectory(folder);
  const title = "[x](https://evil.example) @all <b>";
  output.report({
    ...stamp,
    type: "report.given",
    work: { workId: 1, taskId: "plan", iteration: 1, item: "a](b)`\n- c", outerItems: [] },
    title,
    markdown: "x",
  });
  output.report(ended);
  const index = readFileSync(join(folder, "index.md"), "utf8");
  assert.deepEqual(alive(index, { links: [] }), ["a link: plan-a-b---c.md"]);
  assert.ok(index.includes(title), index);
});

test("links that an agent has put into the folder, or in its place, lead nowhere", async (t) => {
  const { path } = await makeWorkspace(t);
  const folder = join(path, "out");
  const victim = join(path, "victim");
  writeFileSync(victim, "as it was");
  const output = openOutputDirectory(folder);
  for (const name of ["plan.md", "report.md", "index.md", "run.json"])
    symlinkSync(victim, join(folder, name));
  output.report(given("hostile"));
  output.report(ended);
  assert.equal(readFileSync(victim, "utf8"), "as it was");
  assert.equal(readFileSync(join(folder, "report.md"), "utf8"), "hostile\n");
  renameSync(folder, join(path, "moved"));
  symlinkSync(join(path, "moved"), folder);
  assert.throws(() => output.report(given("more")), /was moved or replaced during the run/);
});
