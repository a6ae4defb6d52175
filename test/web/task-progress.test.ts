/** A task in a borrowed session, and how calls and numbers are written. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  formatAgo,
  formatCost,
  formatCount,
  formatDuration,
  plural,
} from "../../web/parts/format.ts";
import {
  progress,
  splitDecision,
  startedTask,
  type TaskResponse,
} from "../../web/portal/task-progress.ts";
import { argumentText, parsed, summaryOf } from "../../web/parts/tool-text.ts";

it("a task collects its decisions, its error, and how it ended", () => {
  const responses: readonly TaskResponse[] = [
    { callback: "taskDecision", reason: "Retrying." },
    { taskError: "It crashed." },
    { callback: "taskFailed" },
  ];
  assert.deepEqual(responses.reduce(progress, startedTask), {
    status: "failed",
    decisions: ["Retrying."],
    error: "It crashed.",
  });
  assert.equal(progress(startedTask, { callback: "taskSucceeded" }).status, "succeeded");
});

it("a decision is its kind and its text", () => {
  assert.deepEqual(splitDecision("[SESSION CRASHED] Prompt: it broke"), {
    kind: "Session crashed",
    text: "Prompt: it broke",
  });
  assert.deepEqual(splitDecision("[TASK SUCCEEDED] Task succeeded"), {
    kind: "",
    text: "Task succeeded",
  });
  assert.deepEqual(splitDecision("[x] y"), { kind: "", text: "[x] y" });
});

describe("one line about a tool call", () => {
  const cases: Readonly<Record<string, string>> = {
    '{"description":"List","command":"ls -l"}': "ls -l",
    '{"path":"src/a.ts","content":"…"}': "src/a.ts",
    '{"other":"first text"}': "first text",
    '{"count":3}': '{ "count": 3 }',
    '{"command":"a\\n  b"}': "a b",
    "{}": "",
    "not JSON": "not JSON",
  };
  for (const [text, line] of Object.entries(cases))
    it(`is ${JSON.stringify(line)} for ${text}`, () => assert.equal(summaryOf(parsed(text)), line));

  it("is short", () => assert.equal(summaryOf({ command: "x".repeat(9_000) }).length, 300));
});

it("arguments are indented where they are JSON, and shown as they are where they aren't", () => {
  assert.equal(argumentText(parsed('{"a":1}')), '{\n  "a": 1\n}');
  assert.equal(argumentText(parsed("{a")), "{a");
});

describe("numbers and times", () => {
  const cases: readonly (readonly [string, string])[] = [
    [formatCount(9_999), "9,999"],
    [formatCount(12_345), "12.3k"],
    [formatCount(999_500), "1M"],
    [formatDuration(-5), "0 ms"],
    [formatDuration(999.6), "1.0 s"],
    [formatDuration(59_700), "1 min"],
    [formatDuration(3_840_000), "1 h 4 min"],
    [formatDuration(180_000_000), "2 d 2 h"],
    [formatAgo(1_000), "just now"],
    [formatAgo(7_200_000), "2 h ago"],
    [formatCost(0.333), "0.33"],
    [formatCost(140.2), "140"],
    [plural(1, "task"), "1 task"],
    [plural(0, "task"), "0 tasks"],
  ];
  for (const [made, text] of cases) it(text, () => assert.equal(made, text));
});
