import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunEvent } from "../../src/events/event.ts";
import { applyEvent, createRunView } from "../../src/events/view.ts";
import { eventLines } from "../../src/reports/event-lines.ts";
import type { Verbosity } from "../../src/reports/paint.ts";
import { act, ActionTelling, documentOf, releaseStory } from "../rig/action-events.ts";

const told = await (await releaseStory()).finish();

/** `task text` of every line. */
function linesOf(events: readonly RunEvent[], verbosity: Verbosity): string[] {
  const view = createRunView();
  return events.flatMap((event) => {
    applyEvent(view, event);
    return eventLines(event, view, verbosity).map(({ work, text }) => `${work?.taskId}: ${text}`);
  });
}

test("the log has documents with their response, what goes on in the background, and every end with its reason", () => {
  assert.deepEqual(linesOf(told.events, "normal").slice(2, -2), [
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
  assert.deepEqual(linesOf(told.events, "quiet"), []);
  const lines = linesOf(told.events, "verbose");
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
  const ends = linesOf(again.events, "normal").filter((line) => / canceled| succeeded/.test(line));
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
  for (const line of linesOf(hostile.events, "verbose")) {
    assert.doesNotMatch(line, /\p{Cc}/u);
  }
});
