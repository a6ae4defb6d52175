import assert from "node:assert/strict";
import { test } from "node:test";
import type { Decision } from "../../src/events/decision.ts";
import type { RunEvent } from "../../src/events/event.ts";
import { createDebugReporter } from "../../src/reporters/debug.ts";
import * as samples from "../events/samples.ts";

function told(events: readonly RunEvent[]): string[] {
  const lines: string[] = [];
  const reporter = createDebugReporter((line) => lines.push(line));
  for (const event of events) reporter.report(event);
  return lines;
}

test("each event is one terse line, with sessions and tool calls numbered", () => {
  assert.deepEqual(told(samples.story()), [
    "run nightly started: #0 review m1, #1 publish m2",
    "#0 review started m1",
    "#0 review s1 started both m1",
    '#0 review s1 turn prompt retry 0 attempt 1: "Review it."',
    "#0 review s1 turn prompt crashed",
    "#0 review [SESSION CRASHED] task prompt, try 1 of 5: Bad gateway",
    "#0 review s1 ended both bad",
    "#0 review [DECISION] task prompt in a new session after a crash, retry 1 of 4, model m1",
    "#0 review s2 started both m1",
    '#0 review s2 turn prompt retry 0 attempt 2: "Review it."',
    '#0 review s2 message.delta "I "',
    '#0 review s2 tool.started t1 job_prepare_document {"argument":"  docs/report.md \\nsecond line"}',
    "#0 review s2 tool.ended t1 ok",
    "#0 review s2 model.used m1",
    '#0 review s2 message.ended "I am\\ndone."',
    "#0 review s2 turn prompt completed",
    "#0 review [CRITERIA] criteria.toolExecuted does not hold: grep was not executed (toolExecuted = grep)",
    "#0 review [DECISION] retry 1 of 2: grep was not executed",
    '#0 review s2 turn prompt retry 1 attempt 1: "Review it."',
    "#0 review s2 model.used m1",
    "#0 review s2 turn prompt completed",
    "#0 review s2 ended both ok",
    "#0 review [TASK SUCCEEDED] Task succeeded",
    "#0 review ended: succeeded",
    'run ended: failed: "publish is missing"',
  ]);
});

test("the same run at another time with other ids gives the same lines", () => {
  const later: RunEvent[] = JSON.parse(
    JSON.stringify(samples.story()).replaceAll("uuid-", "other-").replaceAll("call-", "toolu-"),
  );
  assert.deepEqual(
    told(later.map((event) => ({ ...event, at: event.at * 3 }))),
    told(samples.story()),
  );
});

function decide(decision: Decision): RunEvent {
  return { at: 1, runId: "run", type: "decision", work: { ...samples.review, run: 2 }, decision };
}

test("what changes from run to run is left out of decisions, and lines stay lines", () => {
  assert.deepEqual(
    told([
      decide({ kind: "session-started", sessionId: "9c1f", modelId: "m", role: "task" }),
      decide({ kind: "waiting", milliseconds: 1234, reason: "busy" }),
      decide({ kind: "note", text: "a\r\nb" }),
    ]),
    [
      "#0 review run 2 [OPERATION] Task session started: s1, model m",
      "#0 review run 2 [OPERATION] Waiting: busy",
      "#0 review run 2 [MISC] a\\nb",
    ],
  );
});
