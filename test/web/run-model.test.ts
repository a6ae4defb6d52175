import assert from "node:assert/strict";
import { test } from "node:test";
import { serialize } from "node:v8";
import * as fc from "fast-check";
import { createRunView } from "../../src/events/view.ts";
import type { RunEvent, RunEventBody, WorkRef } from "../../src/events/event.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { applyToModel, type RunModel } from "../../web/model/run-model.ts";
import { barState, isMark, lanesOf, MAX_LANES, SESSION_LANES } from "../../web/model/timeline.ts";
import { events, story } from "../events/samples.ts";
import { everyEvent } from "../events/every-event.ts";
import { modelUsed } from "../rig/fake-sessions.ts";
import { holds } from "../rig/fuzz.ts";
import { largeRun } from "./large-run.ts";
import { fold } from "./fold.ts";

const isDelta = (event: RunEvent): boolean =>
  event.type === "activity" && event.activity.kind.endsWith(".delta");

/** How many events were applied differs if some of them are deltas; nothing else may. */
function withoutCount(model: RunModel): object {
  return { ...model, view: Object.assign(createRunView(), model.view, { events: 0 }) };
}

/** Bytes are compared at once; for parts that refer to each other, `deepStrictEqual` takes seconds. */
function expectSame(actual: object, expected: object): void {
  if (!serialize(actual).equals(serialize(expected))) assert.deepStrictEqual(actual, expected);
}

const work: WorkRef = { workId: 3, taskId: "check", iteration: 1 };
const session = { work, sessionId: "s1" };
const stamped = (bodies: readonly RunEventBody[]): RunEvent[] =>
  bodies.map((body, index) => ({ at: 1000 + index * 10, runId: "r", ...body }));
const act = (activity: SessionActivity, turnId = "t1"): RunEventBody => ({
  type: "activity",
  ...session,
  turnId,
  activity,
});
const attempted = { modelId: "m", retry: 0, attempt: 1 } as const;
const turnStarted = (turnId: string): RunEventBody => {
  const of = { ...session, turnId, ...attempted, prompt: "Do it." };
  return { type: "turn.started", ...of, purpose: "prompt" };
};

test("events in any order, truncated anywhere, are all applied", async (t) => {
  await holds(
    t,
    fc.property(events, fc.nat({ max: 60 }), (all, from) => {
      const model = fold(all.slice(from));
      assert.equal(model.unusable, 0);
      assert.equal(model.view.events, all.slice(from).length);
    }),
    200,
  );
});

test("an event of another version does not throw and is counted", () => {
  const odd = ["null", "7", `{"at":1,"type":"decision","work":null,"decision":{"kind":"new"}}`];
  const model = fold(story());
  const before = model.decisions.length;
  for (const event of odd) applyToModel(model, JSON.parse(event));
  assert.equal(model.unusable, odd.length);
  assert.equal(model.decisions.length, before);
  assert.equal(fold(stamped(everyEvent)).unusable, 0);
});

test("a model that goes on from a part of the run ends like one of the whole run", async (t) => {
  await holds(
    t,
    fc.property(events, fc.nat({ max: 60 }), (all, cut) => {
      const parts = fold(all.slice(cut), fold(all.slice(0, cut)));
      assert.deepStrictEqual(parts, fold(all));
    }),
    60,
  );
});

test("a live run with deltas ends like its journal without them", () => {
  const live = largeRun({ events: 900, deltas: true });
  assert.ok(live.some(isDelta));
  const journal = live.filter((event) => !isDelta(event));
  expectSame(withoutCount(fold(live)), withoutCount(fold(journal)));
});

test("a text grows with its deltas, and its end replaces it", () => {
  const model = fold(
    stamped([
      turnStarted("t1"),
      act({ kind: "message.started", messageId: "m" }),
      act({ kind: "message.delta", messageId: "m", text: "Hel" }),
      act({ kind: "message.delta", messageId: "m", text: "lo" }),
    ]),
  );
  const blocks = model.turns[0]?.blocks ?? [];
  const shown = (): unknown[] =>
    blocks.map((block) => block.kind === "message" && [block.text, block.complete]);
  assert.deepEqual(shown(), [["Hello", false]]);
  const ended = { kind: "message.ended", messageId: "m", text: "Hello there" } as const;
  const late = { kind: "message.delta", messageId: "m", text: "!" } as const;
  fold(stamped([act(ended), act(late)]), model);
  assert.deepEqual(shown(), [["Hello there", true]]);
});

test("an end without a start creates what ended", () => {
  const model = fold(
    stamped([
      act({ kind: "tool.ended", toolCallId: "c", succeeded: true, result: { content: "42" } }),
      { type: "turn.ended", ...session, turnId: "t1", purpose: "prompt", outcome: "completed" },
      { type: "session.ended", ...session, role: "task", succeeded: true },
      { type: "work.ended", work, outcome: { kind: "succeeded" } },
    ]),
  );
  const [turn] = model.turns;
  assert.equal(turn?.start, undefined);
  assert.equal(turn?.outcome, "completed");
  const [call] = turn?.blocks ?? [];
  assert.equal(call?.kind, "call");
  assert.equal(call.toolName, "unknown");
  assert.equal(call.end?.result?.content, "42");
  assert.deepEqual(model.works.get(3)?.iterations.get(1)?.outcome, { kind: "succeeded" });
});

test("a late event of an earlier turn is added to that turn", () => {
  const model = fold(
    stamped([
      turnStarted("t1"),
      turnStarted("t2"),
      act({ kind: "message.ended", messageId: "m", text: "late" }, "t1"),
    ]),
  );
  assert.deepEqual(
    model.turns.map(({ turnId, blocks }) => [turnId, blocks.length]),
    [
      ["t1", 1],
      ["t2", 0],
    ],
  );
});

test("the end of the run ends everything that is open", () => {
  const model = fold(
    stamped([
      { type: "work.started", work, modelId: "m" },
      turnStarted("t1"),
      act({ kind: "tool.started", toolCallId: "c", toolName: "bash", arguments: {} }),
      { type: "run.ended", outcome: { kind: "canceled", reason: "stopped" } },
    ]),
  );
  const [turn] = model.turns;
  const iteration = model.works.get(3)?.iterations.get(1);
  assert.ok(turn !== undefined && iteration !== undefined);
  assert.equal(turn.session.endedAt, 1030);
  assert.deepEqual(
    lanesOf(model, true).flatMap(({ bars }) =>
      bars().map((bar) => [bar.kind, bar.end, barState(bar, true)]),
    ),
    [
      ["iteration", 1030, "canceled"],
      ["queue", 1010, "canceled"],
      ["turn", 1030, "canceled"],
      ["tool", 1030, "canceled"],
    ],
  );
});

const used = act({ ...modelUsed(1), durationMs: 4 });
const tool = act({ kind: "tool.started", toolCallId: "c", toolName: "bash", arguments: {} });
const toolEnd = act({ kind: "tool.ended", toolCallId: "c", succeeded: true });
const failed = act({ kind: "model.failed", statusCode: 503, subAgent: false });
const turnEnded = (outcome: "completed" | "crashed" | "canceled"): RunEventBody => {
  const of = { ...session, turnId: "t1", purpose: "prompt" } as const;
  return { type: "turn.ended", ...of, outcome };
};
const reported = [1006, 1010, "succeeded"];

for (const [what, bodies, calls] of [
  ["is there while the model works", [], [[1000, undefined, "running"]]],
  ["is as long as reported once it is", [used], [reported]],
  ["follows a tool call", [used, tool, toolEnd], [reported, [1030, undefined, "running"]]],
  ["is not between two tool calls", [used, tool, toolEnd, tool], [reported]],
  ["ends with its turn, if that was canceled", [turnEnded("canceled")], [[1000, 1010, "canceled"]]],
  ["ends with its turn, if that crashed", [turnEnded("crashed")], [[1000, 1010, "crashed"]]],
  [
    "that failed is followed by the next one",
    [failed],
    [
      [1000, 1010, "failed"],
      [1010, undefined, "running"],
    ],
  ],
  [
    "that was never reported is as long as its turn",
    [turnEnded("completed")],
    [[1000, 1010, "succeeded"]],
  ],
] as const)
  test(`a model call on the timeline ${what}`, () => {
    const bars = lanesOf(fold(stamped([turnStarted("t1"), ...bodies])), true).flatMap((lane) =>
      lane.bars(),
    );
    assert.deepEqual(
      bars
        .filter(({ kind }) => kind === "model")
        .map((bar) => [bar.start, bar.end, barState(bar, false)]),
      calls,
    );
  });

test("of two ends of a work the first one counts", () => {
  const end = { type: "work.ended", work, outcome: { kind: "succeeded" } } as const;
  const model = fold(stamped([{ type: "work.started", work, modelId: "m" }, end, end]));
  const iteration = model.works.get(3)?.iterations.get(1);
  assert.equal(iteration?.endedAt, 1010);
  assert.equal(iteration?.status, "succeeded");
});

test("a tool call whose id was used before does not take its link", () => {
  const call = { kind: "tool.started", toolCallId: "c", toolName: "bash", arguments: {} } as const;
  const end = { kind: "tool.ended", toolCallId: "c", succeeded: true } as const;
  const model = fold(
    stamped([turnStarted("t1"), act(call), act(end), turnStarted("t2"), act(call, "t2")]),
  );
  assert.equal(model.callsById.get("c")?.turn.turnId, "t1");
  assert.deepEqual(
    model.turns.flatMap(({ blocks }) =>
      blocks.map((block) => block.kind === "call" && block.first),
    ),
    [true, false],
  );
});

test("every sending of the prompt begins a new part of the iteration", () => {
  const model = fold(story());
  const [iteration] = model.works.get(0)?.iterations.values() ?? [];
  assert.equal(iteration?.sendings, 3);
  const entries = iteration?.entries.map((entry) =>
    entry.kind === "turn"
      ? `${entry.sending} turn`
      : entry.kind === "decision"
        ? `${entry.sending} ${entry.decision.kind}`
        : entry.kind,
  );
  assert.deepEqual(entries, [
    "1 turn",
    "1 session-crashed",
    "1 further-attempt",
    "2 turn",
    "2 criteria-failed",
    "2 criteria-retry",
    "3 turn",
    "3 task-succeeded",
  ]);
});

test("the timeline has turns, model calls, tool calls, waits and marks", () => {
  const model = fold(largeRun({ events: 1500 }));
  const all = lanesOf(model, true).flatMap(({ bars, work: of }) =>
    of === undefined ? [] : bars(),
  );
  const kinds = (marks: boolean): string[] =>
    [...new Set(all.flatMap((bar) => (isMark(bar) === marks ? bar.kind : [])))].sort();
  assert.deepEqual(kinds(false), ["iteration", "model", "queue", "tool", "turn", "wait"]);
  assert.deepEqual(kinds(true), ["attempt", "crash", "denial", "retry"]);
  for (const { start, end = NaN, place } of all) {
    assert.ok(end >= start);
    assert.notEqual(place, undefined);
  }
  const wait = all.find(({ kind }) => kind === "wait");
  assert.equal((wait?.end ?? 0) - (wait?.start ?? 0), 4000);
});

test("a work with many sessions uses its lanes again", () => {
  const role = "task";
  const start = (index: number): RunEventBody => {
    const sessionId = `s${index}`;
    return { type: "session.started", work, sessionId, role, ...attempted };
  };
  const end = (index: number): RunEventBody => {
    const sessionId = `s${index}`;
    return { type: "session.ended", work, sessionId, role, succeeded: true };
  };
  const numbers = Array.from({ length: 300 }, (_, index) => index);
  const ended = fold(stamped(numbers.flatMap((index) => [start(index), end(index)])));
  const sessionLanes = (model: RunModel): number =>
    lanesOf(model, true).filter(({ isInner }) => isInner).length;
  assert.equal(sessionLanes(ended), SESSION_LANES);
  const open = fold(stamped(numbers.map(start)));
  assert.equal(sessionLanes(open), MAX_LANES);
});
