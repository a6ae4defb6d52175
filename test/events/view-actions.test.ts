import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { ActionEnded, ActionEvent, ActionWaiting } from "../../src/events/action.ts";
import type { RunEvent } from "../../src/events/event.ts";
import {
  applyEvent,
  createRunView,
  KEPT_ACTIONS,
  runningActions,
  wasRetried,
} from "../../src/events/view.ts";
import { MAX_OPEN_ACTIONS } from "../../src/events/view-actions.ts";
import {
  actionEvent,
  ActionTelling,
  background,
  documentOf,
  releaseStory,
  work,
} from "../rig/action-events.ts";
import { holds } from "../rig/fuzz.ts";
import { viewOf } from "../rig/tell.ts";

const told = await releaseStory();

function acted(action: ActionEvent, at = 0, taskId = "ship"): RunEvent {
  return { at, runId: "run", type: "action", work: { ...work, taskId }, action };
}

function waiting(id: string, iteration = 1): ActionWaiting {
  return { type: "action.waiting", id, iteration, action: "t", kind: "tool", execution: "ASYNC" };
}

function ended(id: string, iteration = 1): ActionEnded {
  return { type: "action.ended", id, iteration, status: "succeeded", milliseconds: 5 };
}

test("documents and actions are folded into what came of them", () => {
  const { actions } = told;
  assert.equal(actions.accepted, 3);
  assert.equal(actions.rejected, 1);
  assert.deepEqual(
    actions.rejections[0]?.problems.map(({ code }) => code),
    ["unknown_tool", "unknown_dependency"],
  );
  assert.equal(actions.warnings, 2);
  assert.equal(actions.actionCount, 10);
  assert.deepEqual(actions.counts, {
    waiting: 0,
    running: 1,
    succeeded: 5,
    failed: 2,
    timed_out: 1,
    cancelled: 0,
    skipped: 1,
  });
  const early = actions.ended.find(({ id }) => id === "early");
  assert.equal(early?.status, "skipped");
  assert.equal(early.startedAt, undefined);
  const unit = actions.ended.find(({ id }) => id === "unit");
  assert.equal(unit?.group, "tests");
  assert.equal(unit.endedAt - (unit.startedAt ?? 0), 4000);
  assert.deepEqual(
    [...actions.open.values()].map(({ id }) => id),
    ["deploy"],
  );
});

test("what is under way has its label, its progress, its message, and the time of its start", async () => {
  const running = new ActionTelling();
  await running.turn(
    documentOf([background("npm/build", "build", "Building", { seconds: 20, says: "compiling" })]),
  );
  await running.clock.runUntil(running.clock.sleep(9000));
  const [build, ...others] = runningActions(running.actions);
  assert.deepEqual(others, []);
  assert.equal(build?.label, "Building");
  assert.equal(build.percent, 50);
  assert.equal(build.message, "compiling");
  assert.equal(build.startedAt, running.events[0]?.at);
});

test("the response is what the task says and reports; its documents and its delegates' answers are not", () => {
  const view = told.view;
  const ship = view.works.get(0);
  assert.equal(ship?.lastMessage, "Deployed to **staging**. Two end-to-end tests fail.");
  assert.equal(ship.report, ship.lastMessage);
  assert.equal(view.lastSpeaker, 0);
});

test("a task that was run on behalf of an action changes neither the name nor the end of the work", () => {
  const view = createRunView();
  const docs = { ...work, taskId: "docs" };
  const body = { at: 1, runId: "run" };
  for (const event of told.events) applyEvent(view, event);
  applyEvent(view, { ...body, type: "work.started", work: docs, modelId: "other" });
  applyEvent(view, {
    ...body,
    type: "decision",
    work: docs,
    decision: { kind: "task-failed", reason: "r" },
  });
  const outcome = { kind: "failed", reason: "r" } as const;
  applyEvent(view, { ...body, type: "work.ended", work: docs, outcome });
  const ship = view.works.get(0);
  assert.equal(ship?.taskId, "ship");
  assert.equal(ship.modelId, "gpt-5.4-mini");
  assert.equal(ship.status, "running");
  assert.equal(ship.runs, 1);
  // The turn of `docs` is not one of its own.
  assert.equal(ship.attempts, 1);
  const last = ship.decisions.at(-1);
  assert.equal(last?.delegate, "docs");
  assert.match(last.text, /^docs: /);
});

test("its turns are no attempts; a criteria retry and a turn after a crash are", async () => {
  const done = await (await releaseStory()).finish();
  const { view } = done;
  const ship = view.works.get(0);
  assert.ok(ship !== undefined);
  assert.equal(ship.attempts, 1);
  assert.equal(wasRetried(ship), false);
  const sent = (retry: number, attempt: number): number => {
    const turn = { work, sessionId: "s1", turnId: "t", modelId: "m", prompt: "p" };
    const stamp = { at: 1, runId: "run", type: "turn.started", purpose: "prompt" } as const;
    applyEvent(view, { ...stamp, ...turn, retry, attempt });
    return ship.attempts;
  };
  assert.deepEqual(
    [sent(0, 1), sent(0, 2), sent(0, 1), sent(0, 2), sent(0, 2), sent(1, 1), sent(1, 1)],
    [1, 2, 2, 3, 3, 4, 4],
  );
  assert.equal(wasRetried(ship), true);
});

test("an action of a delegate with the same id is another action", () => {
  const view = viewOf(told.events.slice(0, 2));
  applyEvent(view, acted(waiting("build")));
  applyEvent(view, acted(waiting("build"), 0, "docs"));
  applyEvent(view, acted(ended("build"), 1, "docs"));
  const actions = view.works.get(0)?.actions;
  assert.ok(actions !== undefined);
  assert.deepEqual(
    [...actions.open.values()].map(({ task }) => task),
    [undefined],
  );
  assert.deepEqual(
    actions.ended.map(({ task }) => task),
    ["docs"],
  );
});

test("a further document with the id of an action that still runs leaves that one alone", () => {
  const view = createRunView();
  for (const action of [waiting("a", 1), waiting("a", 2), ended("a", 2)]) {
    applyEvent(view, acted(action));
  }
  const actions = view.works.get(0)?.actions;
  assert.deepEqual(
    [...(actions?.open.values() ?? [])].map(({ iteration }) => iteration),
    [1],
  );
});

test("nothing runs after the end of the work, and another iteration begins without actions", () => {
  const view = createRunView();
  const iteration = { at: 5, runId: "run", work } as const;
  applyEvent(view, { ...iteration, type: "work.started", modelId: "m" });
  applyEvent(view, acted(waiting("a")));
  applyEvent(view, { ...iteration, type: "work.ended", outcome: { kind: "succeeded" } });
  const ship = view.works.get(0);
  assert.equal(ship?.actions?.open.size, 0);
  assert.equal(ship?.actions?.ended[0]?.status, "cancelled");
  applyEvent(view, { ...iteration, type: "work.started", modelId: "m" });
  assert.equal(ship?.actions?.actionCount, 0);
});

test("10,000 actions leave a view of bounded size, and counts of all of them", () => {
  const view = createRunView();
  const long = "x".repeat(10_000);
  for (let n = 1; n <= 10_000; n += 1) {
    const id = `a${n}`;
    applyEvent(
      view,
      acted({
        type: "actions.accepted",
        iteration: n,
        claimedStatus: "EXECUTING",
        thoughts: [],
        variables: { set: [], deleted: [] },
        actions: 1,
        stop: false,
      }),
    );
    applyEvent(view, acted({ type: "actions.warning", iteration: n, text: long }));
    applyEvent(view, acted({ ...waiting(id, n), action: long }));
    // Every second one never ends: a torn journal.
    if (n % 2 === 0) applyEvent(view, acted({ ...ended(id, n), status: "failed", reason: long }));
  }
  const actions = view.works.get(0)?.actions;
  assert.ok(actions !== undefined);
  assert.equal(actions.counts.failed, 5_000);
  assert.equal(actions.counts.waiting, actions.open.size);
  assert.ok(actions.open.size <= MAX_OPEN_ACTIONS);
  assert.equal(actions.actionCount, 10_000);
  assert.equal(actions.ended.length, KEPT_ACTIONS);
  const size = JSON.stringify([actions, [...actions.open.values()]]).length;
  assert.ok(size < 4_000_000, `${size} characters`);
});

test("any events in any order are folded, and the counts add up", async (t) => {
  await holds(
    t,
    fc.property(
      fc.array(fc.record({ action: actionEvent, taskId: fc.constantFrom("ship", "docs") }), {
        maxLength: 60,
      }),
      (events) => {
        const view = createRunView();
        events.forEach(({ action, taskId }, at) => applyEvent(view, acted(action, at, taskId)));
        const actions = view.works.get(0)?.actions;
        if (actions === undefined) return;
        const { waiting: waits, running, ...others } = actions.counts;
        assert.equal(waits + running, actions.open.size);
        const ends = Object.values(others).reduce((sum, one) => sum + one, 0);
        assert.equal(ends + actions.open.size, actions.actionCount);
        assert.equal(ends, events.filter(({ action }) => action.type === "action.ended").length);
        for (const { percent = 0 } of actions.open.values()) assert.ok(percent <= 95);
      },
    ),
    300,
  );
});
