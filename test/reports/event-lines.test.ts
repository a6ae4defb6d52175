/** The lines of a log for the steps of workflows and the actions of tasks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunEvent } from "../../src/events/event.ts";
import { applyEvent, createRunView } from "../../src/events/view.ts";
import { doing } from "../../src/reports/doing.ts";
import { eventLines, startText, type EventLine } from "../../src/reports/event-lines.ts";
import type { Verbosity } from "../../src/reports/paint.ts";
import { act, ActionTelling, documentOf, releaseStory } from "../rig/action-events.ts";
import { buildStory, FlowTelling, work } from "../rig/flow-events.ts";

const story = await (await releaseStory()).finish();

function linesOf(events: readonly RunEvent[], verbosity: Verbosity): EventLine[] {
  const view = createRunView();
  return events.flatMap((event) => {
    applyEvent(view, event);
    return eventLines(event, view, verbosity);
  });
}

const stepLines = ({ events }: FlowTelling, verbosity: Verbosity): readonly string[] =>
  linesOf(events, verbosity).map(({ text }) => text);
const actionLines = (events: readonly RunEvent[], verbosity: Verbosity): readonly string[] =>
  linesOf(events, verbosity).map((line) => `${line.work?.taskId}: ${line.text}`);

test("normal output has a line for each step that does something", () => {
  const told = buildStory().step({ activity: "CHECK_OK", succeeded: false, to: "PROMPT_PLAN" });
  assert.deepEqual(stepLines(told, "normal").slice(2), [
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
  assert.deepEqual(stepLines(buildStory(), "quiet"), []);
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
  assert.deepEqual(stepLines(told, "verbose").slice(2), [
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
  const printed = stepLines(told, "verbose").filter((line) => line.startsWith("|"));
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
  assert.equal(stepLines(told, "normal").length, 2);
  assert.equal(stepLines(told, "verbose").at(-1), "1 CALL_PUBLISH: from the earlier run");
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

test("the log has documents with their response, what goes on in the background, and every end with its reason", () => {
  assert.deepEqual(actionLines(story.events, "normal").slice(2, -2), [
    "ship: document 1: 3 actions",
    'ship: warning: security_level "admin" is ignored: rights come from the permissions of the task.',
    "ship: look (search) succeeded after 1.0 s",
    "ship: build (npm/build) started in the background",
    "ship: lint succeeded after 2.0 s",
    'ship: document 2 rejected: /actions/0/action: Unknown tool "npm/tset" (did you mean "npm/test"?); /actions/0/depends_on: There is no action "biuld"',
    "ship: document 2: 6 actions",
    "docs: [TASK SUCCEEDED] Task succeeded",
    "ship: write (delegate) succeeded",
    "ship: build (npm/build) succeeded after 20.0 s",
    "ship: unit (npm/test) succeeded after 4.0 s",
    "ship: e2e (npm/test) failed after 6.0 s: 2 of 40 tests failed ⏎ the end of stderr",
    'ship: tests (group all tests) failed after 6.0 s: 1 of 2 actions did not succeed: "e2e" failed: 2 of 40 tests failed ⏎ the end of stderr',
    'ship: early (deploy) skipped: It needs "tests", which failed.',
    "ship: slow (deploy) timed out after 01:00",
    "ship: document 3: 1 action, stop",
    "ship: said: Deployed to **staging**. Two end-to-end tests fail.",
    "ship: deploy started in the background",
    "ship: warning: The document claims the status SUCCESS, but it is TASK_STARTED.",
    "ship: deploy succeeded after 8.0 s",
  ]);
});

test("quiet output has none of them, and verbose output also thoughts, params, results and turns of other tasks", () => {
  assert.deepEqual(actionLines(story.events, "quiet"), []);
  const lines = actionLines(story.events, "verbose");
  for (const line of [
    "ship: thought PLAN: Build in the background, and lint meanwhile.",
    "ship: build (npm/build) accepted",
    "ship: unit (npm/test) accepted",
    'ship: | params: {"seconds":2,"returns":{"problems":0}}',
    'ship: | {"problems":0}',
    "docs: prompt turn: Update the changelog.",
    "docs: message: The docs are up to date.",
  ])
    assert.ok(lines.includes(line), line);
  assert.equal(lines.filter((line) => line.includes("%")).length, 0);
});

test("a canceled action says why, and a repeated one that nothing was run", async () => {
  const again = new ActionTelling();
  const stop = new AbortController();
  const answer = documentOf([act("lint", "slow", { seconds: 30 })]);
  const running = again.executor.execute(answer, { signal: stop.signal });
  void again.clock.sleep(5000).then(() => stop.abort());
  await again.clock.runUntil(running);
  await again.turn(documentOf([act("lint", "lint")]));
  await again.turn(documentOf([act("lint", "lint")]));
  const ends = actionLines(again.events, "normal").filter((line) =>
    / canceled| succeeded/.test(line),
  );
  assert.deepEqual(ends, [
    "ship: slow (lint) canceled after 5.0 s: The turn was canceled.",
    "ship: lint succeeded",
    "ship: lint succeeded: the result of the same action before",
  ]);
});

test("control characters and line ends of a model don't reach the log", async () => {
  const hostile = new ActionTelling();
  const evil = "a\u001B[2J\u0007\n::error::b";
  await hostile.turn(
    documentOf([act("lint", "lint", { fails: evil })], {
      response: evil,
      thoughts: [{ type: "PLAN", content: evil }],
    }),
  );
  await hostile.turn(documentOf([act(evil, "x")]));
  for (const line of actionLines(hostile.events, "verbose")) {
    assert.doesNotMatch(line, /\p{Cc}/u);
  }
});
