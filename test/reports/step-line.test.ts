import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEvent, createRunView } from "../../src/events/view.ts";
import { doing } from "../../src/reports/doing.ts";
import { eventLines, startText } from "../../src/reports/event-lines.ts";
import type { Verbosity } from "../../src/reports/paint.ts";
import { buildStory, FlowTelling, work } from "../rig/flow-events.ts";

function lines(told: FlowTelling, verbosity: Verbosity): readonly string[] {
  const view = createRunView();
  return told.events.flatMap((event) => {
    applyEvent(view, event);
    return eventLines(event, view, verbosity).map(({ text }) => text);
  });
}

test("normal output has a line for each step that does something", () => {
  const told = buildStory().step({ activity: "CHECK_OK", succeeded: false, to: "PROMPT_PLAN" });
  assert.deepEqual(lines(told, "normal").slice(2), [
    "2 PROMPT_PLAN: said: npm run biuld",
    "3 EXECUTE_BUILD failed (npm run biuld, exit code 1): EXECUTE_BUILD ended with exit code 1. → PROMPT_PLAN",
    "4 PROMPT_PLAN, run 2: said: npm run build",
    "5 EXECUTE_BUILD, run 2: npm run build, exit code 0",
    "7 CALL_PUBLISH: calls publish.wf.md",
    "9 ASK_SURE: Publish it? Answer: yes",
    "12 CHECK_OK does not hold → PROMPT_PLAN",
  ]);
});

test("quiet output has no line of a step", () => {
  assert.deepEqual(lines(buildStory(), "quiet"), []);
});

test("verbose output has every step, and the output of scripts as it comes", () => {
  const told = new FlowTelling()
    .step({ activity: "START", to: "EXECUTE_BUILD" })
    .begin({
      activity: "EXECUTE_BUILD",
      input: { kind: "execute", scripts: [{ tag: "sh", code: "npm test" }] },
    })
    .say({ type: "step.output", work, step: 2, script: 0, text: "one\n\u001B[2Jtwo" })
    .end({ result: "one\ntwo" });
  assert.deepEqual(lines(told, "verbose").slice(2), [
    "1 START",
    "1 START: done → EXECUTE_BUILD",
    "2 EXECUTE_BUILD: execute npm test",
    "| one",
    "| two",
    "2 EXECUTE_BUILD: npm test",
  ]);
});

test("of progress that overwrites its line, the last state is shown", () => {
  const told = new FlowTelling()
    .begin({ activity: "EXECUTE_BUILD", input: { kind: "execute", scripts: [] } })
    .say({
      type: "step.output",
      work,
      step: 1,
      script: 0,
      text: "10 %\r50 %\r100 %\r\ndone\r\n\nmore\n",
    });
  const printed = lines(told, "verbose").filter((line) => line.startsWith("|"));
  assert.deepEqual(printed, ["| 100 %", "| done", "|", "| more"]);
});

test("a step of an earlier run is only shown in verbose output", () => {
  const told = new FlowTelling().say({
    type: "step.started",
    work,
    step: 1,
    file: "flow.wf.md",
    activity: "CALL_PUBLISH",
    hit: 1,
    depth: 0,
    restored: true,
  });
  assert.equal(lines(told, "normal").length, 2);
  assert.equal(lines(told, "verbose").at(-1), "1 CALL_PUBLISH: from the earlier run");
});

test("the live view and the heartbeat name the current activity", () => {
  const told = new FlowTelling().begin({
    activity: "EXECUTE_BUILD",
    input: { kind: "execute", scripts: [] },
  });
  const shown = told.view.works.get(0);
  assert.ok(shown !== undefined);
  assert.equal(doing(shown, (shown.startedAt ?? 0) + 61_000), "EXECUTE_BUILD 01:01");
  const asked = new FlowTelling().begin({
    activity: "PROMPT_PLAN",
    input: { kind: "prompt", agent: 0, text: "x" },
  });
  const prompting = asked.view.works.get(0);
  assert.ok(prompting !== undefined);
  assert.equal(doing(prompting, 0), "PROMPT_PLAN: starting");
});

test("a workflow that sends no prompts starts without a model", () => {
  const started = { type: "work.started", work } as const;
  assert.equal(startText({ ...started, modelId: "m" }), "started, model m");
  assert.equal(startText({ ...started, modelId: "" }), "started");
});
