import assert from "node:assert/strict";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createStepHistory } from "../../src/run/step-history.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { buildStory, flowTree, FlowTelling, work } from "../rig/flow-events.ts";
import { ref } from "../rig/plan.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { tell } from "../rig/tell.ts";

const redactor = createRedactor([]);

async function written(told: FlowTelling, folder: string, by = redactor): Promise<void> {
  const history = createStepHistory(folder, by);
  tell(history, ...told.events);
  await history.close?.();
}

test("every step is a file that says what it was, what went in and what came out", async (t) => {
  const folder = join((await makeWorkspace(t)).path, "a", "history");
  await written(buildStory().finish(), folder);
  const names = readdirSync(folder);
  assert.equal(names.length, 11);
  assert.deepEqual(
    [names[0], names[7], names[10]],
    ["001-START.md", "008-START.md", "011-SUCCESS.md"],
  );
  const page = readFileSync(join(folder, "003-EXECUTE_BUILD.md"), "utf8");
  for (const part of [
    /^# 3 EXECUTE&#95;BUILD\n\n- docs\/flow.wf.md, line 12\n- Text: npm run build\n/,
    /- Began 2026-03-01T06:30:04.000Z, took 2.0 s\n- Failed\n- Continues with PROMPT&#95;PLAN\n/,
    /## Reason\n\n```text\nEXECUTE_BUILD ended with exit code 1.\n```/,
    /## Script\n\n```sh\nnpm run biuld\n```\n\n## Output, exit code 1\n\n```text\nno such script\n```/,
    /## RESULT\n\n```text\n\$ npm run biuld\nno such script\n```\n\n## Variables\n\n```text\nEXIT_CODE=1\n```/,
  ])
    assert.match(page, part);
  assert.match(
    readFileSync(join(folder, "009-ASK_SURE.md"), "utf8"),
    /docs\/publish.wf.md, line 6[\s\S]*## Question\n\n```text\nPublish it\?\n```\n\n## Answer\n\n```text\nyes\n```/,
  );
});

test("the whole output of a script is beside its step, redacted", async (t) => {
  const folder = (await makeWorkspace(t)).path;
  const secret = "hunter2-hunter2-hunter2";
  const whole = join(folder, "output");
  writeFileSync(whole, `${"x".repeat(65_530)}${secret}${"y".repeat(70_000)}`);
  const told = new FlowTelling().execute("EXECUTE_BUILD", "cat", {
    output: "xxx\n[many characters left out]\nyyy",
    outputCharacters: 135_553,
    outputFile: whole,
  });
  await written(told, join(folder, "history"), createRedactor([secret]));
  const copied = readFileSync(join(folder, "history", "001-EXECUTE_BUILD.output-1.txt"), "utf8");
  assert.equal(copied, `${"x".repeat(65_530)}***${"y".repeat(70_000)}`);
  const page = readFileSync(join(folder, "history", "001-EXECUTE_BUILD.md"), "utf8");
  assert.match(page, /whole output of script 1: \[001-EXECUTE_BUILD.output-1.txt\]/);
});

test("a journal of an earlier run can't name a file to copy, nor a link", async (t) => {
  const folder = (await makeWorkspace(t)).path;
  writeFileSync(join(folder, "private"), "private");
  symlinkSync(join(folder, "private"), join(folder, "link"));
  const executed = (path: string) =>
    new FlowTelling().execute("EXECUTE_BUILD", "cat", {
      outputCharacters: 7,
      outputFile: join(folder, path),
    });
  const restored = executed("private");
  const events = restored.events.map((event) =>
    event.type === "step.started" || event.type === "step.ended"
      ? { ...event, restored: true as const }
      : event,
  );
  restored.events.splice(0, events.length, ...events);
  for (const [index, told] of [restored, executed("link"), executed("missing")].entries()) {
    await written(told, join(folder, String(index)));
    assert.deepEqual(readdirSync(join(folder, String(index))), ["001-EXECUTE_BUILD.md"]);
  }
});

test("steps that did not end are written at the end", async (t) => {
  const folder = (await makeWorkspace(t)).path;
  const told = new FlowTelling().begin({
    activity: "PROMPT_PLAN",
    input: { kind: "prompt", agent: 0, text: "Do it." },
  });
  await written(told, join(folder, "killed"));
  await written(told.finish({ kind: "canceled", reason: "x" }), join(folder, "canceled"));
  for (const name of ["killed", "canceled"])
    assert.match(
      readFileSync(join(folder, name, "001-PROMPT_PLAN.md"), "utf8"),
      /- It did not end\n\n## Prompt\n\n```text\nDo it.\n```/,
    );
});

test("workflows among tasks have a folder for each iteration", async (t) => {
  const folder = (await makeWorkspace(t)).path;
  const told = new FlowTelling({ kind: "Seq", works: [flowTree(), ref(1, "review")] });
  told.step({ activity: "START" });
  const again = { ...work, iteration: 2 };
  for (const event of told.events.slice(-2))
    if (event.type === "step.started" || event.type === "step.ended")
      told.events.push({ ...event, work: again });
  await written(told, folder);
  assert.deepEqual(readdirSync(folder), ["000-flow.wf.md", "000-flow.wf.md-iteration-2"]);
});

test("a folder with other files, or a file, is refused; pages of an earlier run are replaced", async (t) => {
  const folder = (await makeWorkspace(t)).path;
  writeFileSync(join(folder, "mine.txt"), "mine");
  assert.throws(() => createStepHistory(folder, redactor), /the folder contains other files/);
  assert.throws(() => createStepHistory(join(folder, "mine.txt"), redactor), /mine\.txt/);
  const fresh = join(folder, "fresh");
  mkdirSync(fresh);
  writeFileSync(join(fresh, "001-START.md"), "earlier");
  writeFileSync(join(fresh, "002-END.md"), "earlier");
  const history = createStepHistory(fresh, redactor);
  tell(history, ...new FlowTelling().step({ activity: "START" }).events);
  await history.close?.();
  assert.deepEqual(readdirSync(fresh), ["001-START.md"]);
  assert.doesNotMatch(readFileSync(join(fresh, "001-START.md"), "utf8"), /earlier/);
});

test("what a model writes can't leave its fence, and an id can't leave the folder", async (t) => {
  const folder = (await makeWorkspace(t)).path;
  const told = new FlowTelling().prompt(
    "../../PROMPT",
    "```\n# x\n",
    "````\n\n<script>\n\u001B[31m",
  );
  await written(told, folder);
  const [name = ""] = readdirSync(folder);
  assert.equal(name, "001-.._.._PROMPT.md");
  const page = readFileSync(join(folder, name), "utf8");
  assert.match(page, /\n````text\n```\n# x\n````\n/);
  assert.match(page, /\n`````text\n````\n\n<script>\n`````\n/);
  assert.ok(!page.includes("\u001B"));
});

test("no page is written where a link took the place of the folder", async (t) => {
  const { path } = await makeWorkspace(t, { "other/file": "" });
  const folder = join(path, "history");
  const history = createStepHistory(folder, redactor);
  renameSync(folder, join(path, "moved"));
  symlinkSync("other", folder);
  const { events } = buildStory().finish();
  assert.throws(() => {
    tell(history, ...events);
  }, /was moved or replaced/);
  assert.deepEqual(readdirSync(join(path, "other")), ["file"]);
});

test("nor where a link took the place of the folder of one workflow among tasks", async (t) => {
  const { path } = await makeWorkspace(t, { "other/file": "" });
  const folder = join(path, "history");
  const history = createStepHistory(folder, redactor);
  const told = new FlowTelling({ kind: "Seq", works: [flowTree(), ref(1, "review")] });
  tell(history, ...told.step({ activity: "START" }).events);
  renameSync(join(folder, "000-flow.wf.md"), join(path, "moved"));
  symlinkSync("../other", join(folder, "000-flow.wf.md"));
  const before = told.events.length;
  const later = told.step({ activity: "CHECK" }).events.slice(before);
  assert.throws(() => {
    tell(history, ...later);
  }, /was moved or replaced/);
  assert.deepEqual(readdirSync(join(path, "other")), ["file"]);
});
