import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunView } from "../../src/events/view.ts";
import { chartOf } from "../../src/reports/flow-chart.ts";
import { chooseAnnotations } from "../../src/github/annotations.ts";
import { renderSummary } from "../../src/github/summary.ts";
import { buildStory, flowTree, FlowTelling, work } from "../rig/flow-events.ts";
import { ref } from "../rig/plan.ts";
import { hidden, outsideOfFences } from "./page.ts";

const MEBIBYTE = 1024 * 1024;

function summary(view: RunView): string {
  return renderSummary(view, {
    summary: "full",
    entryFile: "docs/flow.wf.md",
    chart: (shown) => chartOf(shown),
  });
}

function annotations(view: RunView) {
  return chooseAnnotations(view, {
    entryFile: "jobs.yml",
    lineOf: () => 3,
  }).map(({ level, title, file, startLine, message }) => ({
    level,
    title,
    file,
    line: startLine,
    message,
  }));
}

test("the summary of a workflow has its RESULT, its path and each step with input and output", () => {
  const page = summary(buildStory().finish().view);
  assert.equal(page.match(/```mermaid/g)?.length, 1);
  assert.match(
    page,
    /### Report\n\nRESULT of <b>#0<\/b> <code>flow.wf.md<\/code>\n\n```text\nbuilt and published\n```/,
  );
  assert.match(
    page,
    /<details>\n<summary><b>3<\/b> ✗ <code>EXECUTE&#95;BUILD<\/code> npm run biuld, exit code 1 .*→ <code>PROMPT&#95;PLAN<\/code><\/summary>\n\nEXECUTE&#95;BUILD ended with exit code 1.\n\nScript:\n\n```sh\nnpm run biuld\n```\n\nOutput, exit code 1:\n\n```text\nno such script\n```\n\nVariables:/,
  );
  assert.match(page, /\n<b>6<\/b> ✓ <code>CHECK&#95;OK<\/code> → <code>CALL&#95;PUBLISH<\/code>\n/);
  assert.match(
    page,
    /<b>9<\/b> ✓ <code>ASK&#95;SURE<\/code> in <code>publish.wf.md<\/code> Publish it\?/,
  );
  assert.equal(hidden(page), "");
});

test("a workflow among tasks has its section beside the chart of the job", () => {
  const told = new FlowTelling({ kind: "Seq", works: [flowTree(), ref(1, "review")] });
  const page = summary(told.step({ activity: "START" }).view);
  assert.equal(page.match(/```mermaid/g)?.length, 2);
});

test("what a model or a command writes can't leave its fence", () => {
  const hostile =
    "```\n</details>\n@octocat #12 ![x](https://evil.example/x.png)\n````\n<script>alert(1)</script>\n~~~\n## x\n\u001B[31m";
  const told = new FlowTelling()
    .prompt("PROMPT_PLAN", hostile, hostile)
    .execute(
      "EXECUTE_BUILD",
      hostile,
      { output: hostile, exitCode: 1 },
      {
        reason: hostile,
        variables: { [hostile]: hostile },
      },
    )
    .step({
      activity: "ASK_NEVER",
      input: { kind: "execute", scripts: [{ tag: "geojson\n```", code: hostile }] },
    })
    .finish({ kind: "failed", reason: hostile }, hostile);
  const page = summary(told.view);
  assert.equal(hidden(page), "");
  assert.doesNotMatch(outsideOfFences(page), /octocat(?<!@\u2060octocat|&#64;\u2060octocat)/);
  assert.doesNotMatch(page, /^`+geojson/m);
});

test("a long run stays within the limit, and says how many steps are omitted", () => {
  const told = new FlowTelling();
  const text = "é`".repeat(20_000);
  for (let step = 0; step < 300; step += 1)
    told.execute("EXECUTE_BUILD", text, { output: text }, { result: text });
  const page = summary(told.finish({ kind: "succeeded" }, text).view);
  assert.ok(Buffer.byteLength(page) < MEBIBYTE);
  assert.equal(hidden(page), "");
  assert.match(page, /<b>Steps<\/b>\n\n2\d\d earlier steps omitted\./);
  assert.match(page, /<summary><b>300<\/b>/);
});

test("a chart that GitHub can't draw is replaced by a sentence", () => {
  const [main] = Object.values(flowTree().chart.files);
  assert.ok(main !== undefined);
  const [first] = main.activities;
  assert.ok(first !== undefined);
  const activities = Array.from({ length: 600 }, (_, index) => ({
    ...first,
    id: `SET_${index}`,
    next: `SET_${index + 1}`,
  }));
  const chart = { main: "flow.wf.md", files: { "flow.wf.md": { ...main, activities } } };
  const page = summary(new FlowTelling(flowTree(chart)).step({ activity: "SET_0" }).view);
  assert.doesNotMatch(page, /```mermaid/);
  assert.match(page, /The flowchart is too large for GitHub/);
  assert.match(page, /<code>SET&#95;0<\/code>/);
});

test("a failure is annotated at the line of the activity in the file of the workflow", () => {
  const told = new FlowTelling()
    .execute("EXECUTE_BUILD", "npm test", { exitCode: 1 }, { to: "PROMPT_PLAN" })
    .begin({ activity: "CALL_PUBLISH" })
    .step({ activity: "ASK_SURE", file: "publish.wf.md", succeeded: false, reason: "No answer." })
    .end({ succeeded: false, reason: "No answer.", to: "FAILED" })
    .step({ activity: "FAILED", succeeded: false })
    .finish({ kind: "failed", reason: "No answer." });
  assert.deepEqual(
    annotations(told.view).filter(({ level }) => level !== "notice"),
    [
      {
        level: "error",
        title: "FAILED: ASK_SURE",
        file: "docs/publish.wf.md",
        line: 6,
        message: "[TASK FAILED] No answer.",
      },
      {
        level: "warning",
        title: "FAILED: EXECUTE_BUILD",
        file: "docs/flow.wf.md",
        line: 12,
        message: "EXECUTE_BUILD ended with exit code 1.",
      },
      {
        level: "warning",
        title: "FAILED: CALL_PUBLISH",
        file: "docs/flow.wf.md",
        line: 14,
        message: "No answer.",
      },
    ],
  );
});

test("missing names and skipped scripts are warnings at their activity", () => {
  const told = new FlowTelling()
    .begin({ activity: "EXECUTE_BUILD" })
    .say({
      type: "decision",
      work,
      decision: { kind: "script-skipped", activity: "EXECUTE_BUILD", reason: "No fence." },
    })
    .end()
    .finish();
  assert.deepEqual(annotations(told.view)[0], {
    level: "warning",
    title: "OPERATION: flow.wf.md",
    file: "docs/flow.wf.md",
    line: 12,
    message: "[OPERATION] EXECUTE_BUILD: No fence.",
  });
});
