import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { RunEvent } from "../../src/events/event.ts";
import {
  applyEvent,
  createRunView,
  elapsedMs,
  KEPT_DECISIONS,
  KEPT_DENIALS,
  type Counter,
  type RunView,
} from "../../src/events/view.ts";
import * as samples from "./samples.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { truncateUnredacted } from "../../src/text/truncate.ts";
import { rounds } from "../rig/nightly.ts";
import { viewOf } from "../rig/tell.ts";

function fold(events: readonly RunEvent[]): RunView {
  return viewOf(events);
}

const stamp = { at: 1, runId: "run", work: samples.review } as const;
const inTurn = { ...stamp, sessionId: "s", turnId: "turn-1" } as const;
const act = (activity: SessionActivity): RunEvent => ({ ...inTurn, type: "activity", activity });

function at(at: number, run: number, type: "work.started" | "work.ended"): RunEvent {
  const work = { ...samples.review, run };
  return type === "work.started"
    ? { at, runId: "run", type, work, modelId: "m" }
    : { at, runId: "run", type, work, outcome: { kind: "succeeded" } };
}

const counters: readonly Counter[] = [
  "runs",
  "attempts",
  "retries",
  "crashes",
  "denials",
  "modelCalls",
  "inputTokens",
  "outputTokens",
  "cacheReadTokens",
  "reasoningTokens",
  "cost",
];

test("a run is folded into what came of it", () => {
  const view = fold(samples.story());
  assert.equal(view.jobName, "nightly");
  assert.equal(view.status, "failed");
  assert.equal(view.reason, "publish is missing");
  assert.equal(view.startedAt, 10_000);
  assert.equal(view.endedAt, 34_000);
  assert.equal(view.reportedDocument, "docs/report.md");
  const work = view.works.get(0);
  assert.ok(work !== undefined);
  assert.deepEqual(Object.fromEntries(counters.map((counter) => [counter, work[counter]])), {
    runs: 1,
    attempts: 3,
    retries: 1,
    crashes: 1,
    denials: 0,
    modelCalls: 2,
    inputTokens: 2000,
    outputTokens: 40,
    cacheReadTokens: 600,
    reasoningTokens: 8,
    cost: 1,
  });
  assert.equal(work.status, "succeeded");
  assert.equal(work.lastMessage, "I am\ndone.");
  assert.equal(elapsedMs(work, 99_000), 22_000);
  assert.deepEqual(
    work.decisions.map(({ category }) => category),
    [
      "OPERATION",
      "SESSION CRASHED",
      "OPERATION",
      "DECISION",
      "OPERATION",
      "CRITERIA",
      "DECISION",
      "OPERATION",
      "TASK SUCCEEDED",
    ],
  );
  assert.equal(work.sessions.size, 0);
});

test("a work that never ran is skipped at the end, one that still ran is canceled", () => {
  const events = samples.story();
  const view = fold(events);
  assert.equal(view.works.get(1)?.status, "skipped");
  const cut = fold([
    ...events.slice(0, 4),
    {
      at: 50_000,
      runId: "run",
      type: "run.ended",
      outcome: { kind: "canceled", reason: "SIGINT" },
    },
  ]);
  assert.equal(cut.works.get(0)?.status, "canceled");
  assert.equal(cut.status, "canceled");
  assert.equal(cut.reason, "SIGINT");
});

test("while it runs, the view tells what runs and for how long", () => {
  const view = fold(samples.story().slice(0, 12));
  const work = view.works.get(0);
  const session = work?.sessions.get("uuid-2");
  assert.ok(work !== undefined && session !== undefined);
  assert.equal(work.status, "running");
  assert.equal(elapsedMs(work, 20_000), 9000);
  assert.equal(session.purpose, "prompt");
  assert.deepEqual(
    [...session.tools.values()],
    [{ name: "job_prepare_document", startedAt: 21_000 }],
  );
});

test("sessions and tools that were never reported as ended do not stay open", () => {
  const upToTool = samples.story().slice(0, 12);
  const open = (...events: readonly RunEvent[]): number =>
    [
      ...(fold([...upToTool, ...events])
        .works.get(0)
        ?.sessions.values() ?? []),
    ].reduce((sum, session) => sum + 1 + session.tools.size, 0);
  assert.equal(open(), 2);
  const turn = { ...inTurn, sessionId: "uuid-2", purpose: "prompt" } as const;
  assert.equal(open({ ...turn, type: "turn.ended", outcome: "crashed" }), 1);
  const again = { modelId: "m", retry: 1, attempt: 1, prompt: "" };
  assert.equal(open({ ...turn, ...again, type: "turn.started" }), 1);
  assert.equal(open({ ...stamp, type: "work.ended", outcome: { kind: "succeeded" } }), 0);
});

test("a run of a work that was never reported as ended is counted up to the next", () => {
  const view = fold([at(0, 1, "work.started"), at(10, 2, "work.started"), at(15, 2, "work.ended")]);
  assert.equal(view.works.get(0)?.finishedMs, 15);
});

test("what is said in a check is not what the agent said to its task", () => {
  const asked = { modelId: "m", purpose: "criteria", retry: 0, attempt: 1, prompt: "?" } as const;
  const view = fold([
    ...samples.story().slice(0, 16),
    { ...inTurn, ...asked, type: "turn.started" },
    act({ kind: "message.ended", messageId: "m", text: "Yes." }),
  ]);
  assert.equal(view.works.get(0)?.lastMessage, "I am\ndone.");
  assert.equal(view.lastSpeaker, 0);
});

test("an event that amounts to a decision is one, once", () => {
  const session = { ...inTurn, role: "both", modelId: "m", retry: 0, attempt: 1 } as const;
  const failed = { kind: "tool.ended", toolCallId: "c", succeeded: false } as const;
  const view = fold([
    { ...session, type: "session.started" },
    act({ kind: "permission.denied", operation: "shell", target: "rm", reason: "no" }),
    act({ kind: "model.failed", statusCode: 502, message: "Bad gateway", subAgent: false }),
    act({ ...failed, toolName: "bash", error: { message: "word ".repeat(99) } }),
    act(failed),
    act({ ...failed, error: { message: "Denied: rm", code: "denied" } }),
    act({ ...failed, stopped: true }),
    act({ kind: "tool.ended", toolCallId: "c", succeeded: true }),
    { ...session, type: "session.ended", succeeded: true },
  ]);
  assert.deepEqual(
    view.works.get(0)?.decisions.map(({ category, text }) => `[${category}] ${text}`),
    [
      "[OPERATION] Session started: s, model m",
      "[OPERATION] Denied shell rm: no",
      "[OPERATION] A model call failed (502): Bad gateway",
      `[OPERATION] Tool call bash failed: ${truncateUnredacted("word ".repeat(99), 300)}`,
      "[OPERATION] Tool call unknown failed: no reason given",
      "[OPERATION] Session ended: s",
    ],
  );
  assert.equal(view.totals.denials, 1);
});

test("the same denial is kept once with its count, and of many different ones the first", () => {
  const denied = (target: string): RunEvent =>
    act({ kind: "permission.denied", operation: "shell", target, reason: "x".repeat(9000) });
  const others = Array.from({ length: 500 }, (_, index) => denied(`command ${index}`));
  const view = fold([denied("rm"), denied("rm"), ...others, denied("rm")]);
  assert.equal(view.denials.length, KEPT_DENIALS);
  assert.deepEqual([view.denials[0]?.target, view.denials[0]?.count], ["rm", 3]);
  assert.ok((view.denials[0]?.reason.length ?? 0) < 600);
  assert.equal(view.totals.denials, 503);
});

test("decisions are told without a stack", () => {
  const crash = { cause: "internal", message: "Oh.", detail: '{"stack":"at x"}' } as const;
  const crashed = { kind: "session-crashed", purpose: "prompt", attempt: 1, attempts: 5 } as const;
  const view = fold([{ ...stamp, type: "decision", decision: { ...crashed, crash } }]);
  assert.equal(view.works.get(0)?.decisions[0]?.text, "Prompt, attempt 1 of 5: Oh.");
});

test("the time of a work is that of all its runs", () => {
  const view = fold([
    at(0, 1, "work.started"),
    at(10, 1, "work.ended"),
    at(50, 2, "work.started"),
    at(57, 2, "work.ended"),
    at(100, 3, "work.started"),
  ]);
  const work = view.works.get(0);
  assert.ok(work !== undefined);
  assert.equal(work.runs, 3);
  assert.equal(elapsedMs(work, 103), 20);
});

test("the totals are the sums of the works, whatever the events and their order", () => {
  fc.assert(
    fc.property(samples.events, (events) => {
      const view = fold(events);
      for (const counter of counters) {
        const sum = [...view.works.values()].reduce((total, work) => total + work[counter], 0);
        assert.equal(view.totals[counter], sum, counter);
      }
      for (const work of view.works.values()) {
        assert.ok(work.finishedMs >= 0);
        assert.ok(work.status !== "running" || work.startedAt !== undefined);
      }
    }),
    rounds(500),
  );
});

test("a loop of hundreds of runs leaves no more behind than a short one", () => {
  const view = createRunView();
  const loop = (runs: number): void => {
    for (let run = 1; run <= runs; run += 1) {
      const work = { ...samples.review, run };
      for (const event of samples.story().slice(1, -1)) {
        if (!("work" in event) || event.type === "run.started") continue;
        if (event.type !== "session.ended") applyEvent(view, { ...event, work });
      }
    }
  };
  loop(100);
  const size = (): number =>
    JSON.stringify(view, (_key, value: unknown) => (value instanceof Map ? [...value] : value))
      .length;
  const before = size();
  loop(500);
  assert.ok(size() < before + 200, `${before} → ${size()}`);
  const work = view.works.get(0);
  assert.equal(work?.decisions.length, KEPT_DECISIONS);
  assert.equal(work.droppedDecisions + KEPT_DECISIONS, 600 * 7);
});
