import type { FlowChart } from "../../src/events/flow.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlannedFlow, PlannedTree } from "../../src/events/plan.ts";
import { planned, ref } from "../rig/plan.ts";
import { Told } from "./told.ts";

const at = (position: string): string => `(tests/a.rehearsal.yml:${position})`;
const file = (name: string): FlowChart["files"][string] => ({
  file: name,
  parameters: [],
  activities: [],
});
const chart = {
  main: "flows/main.wf.md",
  files: {
    "flows/main.wf.md": file("main.wf.md"),
    "flows/sub/a.wf.md": file("sub/a.wf.md"),
    "flows/sub/b.wf.md": file("sub/b.wf.md"),
    "flows/b.wf.md": file("b.wf.md"),
  },
};

function flow(workIdInJob: number): PlannedFlow {
  const name = "main.wf.md";
  return { kind: "Flow", workIdInJob, file: name, taskId: name, params: {}, modelId: "m", chart };
}

/** `undefined` starts the workflow again. */
function failures(
  expect: string,
  path: readonly (string | undefined)[],
  report?: string,
  tree: PlannedTree = { kind: "Seq", works: [ref(0, "look"), flow(1)] },
): readonly string[] {
  const told = new Told(["look", "main.wf.md"], planned(tree)).of(1);
  if (path.length > 0) told.begin(1);
  for (const [index, name] of path.entries()) {
    if (name === undefined) {
      told.begin(1);
      continue;
    }
    const [activity = "", of = "main.wf.md"] = name.split("@");
    const step = { work: told.work, step: index + 1, file: `flows/${of}`, activity };
    told.say({ type: "step.started", ...step, hit: 1, depth: 0 });
  }
  const outcome = { kind: "succeeded" } as const;
  told.say({ type: "work.ended", work: told.work, outcome, ...(report && { report }) });
  return told.over().failures(expect);
}

test("the path of a workflow", () => {
  const of = (...path: readonly string[]): readonly string[] =>
    failures("{ path: [START, PROMPT_A, SUCCESS] }", path);
  assert.deepEqual(of("START", "PROMPT_A", "SUCCESS"), []);
  assert.deepEqual(of("START", "PROMPT_B", "FAILED"), [
    `expect.path[1] ${at("4:25")}: activity 2 should have been PROMPT_A, but it was PROMPT_B.`,
  ]);
  assert.deepEqual(of("START", "PROMPT_A"), [
    `expect.path[2] ${at("4:35")}: activity 3 should have been SUCCESS, but the workflow ended.`,
  ]);
  assert.deepEqual(of("START", "PROMPT_A", "SUCCESS", "PROMPT_B", "PROMPT_C"), [
    `expect.path ${at("4:17")}: the workflow should have ended, but PROMPT_B followed.`,
  ]);
  assert.deepEqual(of("PROMPT_A"), [
    `expect.path[0] ${at("4:18")}: activity 1 should have been START, but it was PROMPT_A.`,
  ]);
});

test("the path leads through called files", () => {
  const path = ["START", "CALL_A", "START@sub/a.wf.md", "X@sub/b.wf.md", "SUCCESS"];
  assert.deepEqual(
    failures("{ path: [START, CALL_A, a.wf.md#START, sub/b.wf.md#X, SUCCESS] }", path),
    [],
  );
  // An id alone is that of any file.
  assert.deepEqual(failures("{ path: [START, CALL_A, START, X, SUCCESS] }", path), []);
  assert.deepEqual(failures("{ path: [START, CALL_A, b.wf.md#START] }", path), [
    `expect.path[2] ${at("4:33")}: activity 3 should have been b.wf.md#START, but it was a.wf.md#START.`,
  ]);
  // Where the name of a file is not enough, its path is shown.
  assert.deepEqual(failures("{ path: [START, CALL_A, START, Y] }", path), [
    `expect.path[3] ${at("4:40")}: activity 4 should have been Y, but it was flows/sub/b.wf.md#X.`,
  ]);
});

test("of several iterations, the last counts", () => {
  const path = ["START", "FAILED", undefined, "START", "SUCCESS"];
  assert.deepEqual(failures("{ path: [START, SUCCESS] }", path), []);
  assert.equal(failures("{ path: [START, FAILED] }", path).length, 1);
});

test("the report of a workflow", () => {
  assert.deepEqual(
    failures('{ report: "done in ${workingDirectory}" }', ["START"], "done in /repo"),
    [],
  );
  assert.deepEqual(failures("{ report: done }", ["START"], "All is lost."), [
    `expect.report ${at("4:19")}: RESULT does not contain "done"; it is "All is lost.".`,
  ]);
  assert.equal(failures("{ report: done }", ["START"]).length, 1);
});

test("path and report need a job with one workflow, which ran", () => {
  const tree = (...works: readonly PlannedTree[]): PlannedTree => ({ kind: "Seq", works });
  assert.deepEqual(failures("{ path: [START] }", [], undefined, tree(ref(0, "look"))), [
    `expect.path ${at("4:17")}: the job has no workflow.`,
  ]);
  assert.deepEqual(failures("{ report: x }", [], undefined, tree(flow(0), flow(1))), [
    `expect.report ${at("4:19")}: the job has 2 workflows, but this needs a job with one.`,
  ]);
  assert.deepEqual(failures("{ path: [START] }", []), [
    `expect.path ${at("4:17")}: the workflow "main.wf.md" did not run.`,
  ]);
});
