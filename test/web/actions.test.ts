import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { RunEvent } from "../../src/events/event.ts";
import { partOf, stateOf, targetOf, titleOf, turnTitle } from "../../web/model/places.ts";
import { rowsOf } from "../../web/model/rows.ts";
import { applyToModel } from "../../web/model/run-model.ts";
import { search } from "../../web/model/search.ts";
import { barText, focusable, lanesOf } from "../../web/model/timeline.ts";
import { hrefOf, parseRoute } from "../../web/routes.ts";
import {
  actionEvent,
  ActionTelling,
  background,
  documentOf,
  releaseStory,
  work,
} from "../rig/action-events.ts";
import { holds } from "../rig/fuzz.ts";
import { fold } from "./fold.ts";

const told = await (await releaseStory()).finish();
const model = fold(told.events);
assert.equal(model.unusable, 0);
const [iteration = assert.fail()] = model.works.get(0)?.iterations.values() ?? [];
const start = told.events[0]?.at ?? 0;

test("documents and their actions are rows below the turn that wrote them", () => {
  const rows = rowsOf(iteration);
  const texts = rows.flatMap((row) => {
    const place = row.kind === "place" ? row.place : undefined;
    switch (place?.kind) {
      case "turn":
        return [turnTitle(place)];
      case "document":
        return [titleOf(place)];
      case "action":
        return [`${place.id} ${place.end?.status}`];
      default:
        return [];
    }
  });
  assert.deepEqual(texts, [
    "Prompt",
    "Document 1",
    "Warning",
    "look succeeded",
    "build succeeded",
    "lint succeeded",
    "Prompt",
    "Document 2 rejected",
    "Prompt",
    "Document 2",
    "tests failed",
    "unit succeeded",
    "e2e failed",
    "early skipped",
    "slow timed_out",
    "write succeeded",
    // A task that an action ran has its own name.
    "docs: Prompt",
    "Prompt",
    "Document 3",
    "deploy succeeded",
    "Warning",
  ]);
  assert.equal(new Set(rows.map(({ key }) => key)).size, rows.length);
});

test("every action that ran is a bar in a lane of its work, and no two bars of a lane overlap", () => {
  const lanes = lanesOf(model, false).filter(({ isInner }) => isInner);
  assert.equal(lanes[0]?.label, "actions");
  const bars = lanes.flatMap(({ bars }) => focusable(bars()).map((bar) => barText(bar, 0, true)));
  assert.equal(bars.length, 8);
  assert.ok(
    bars.includes(
      "Action build of ship #0, 20 s, npm/build, Building the app, background, succeeded",
    ),
    bars.join("; "),
  );
  for (const lane of lanes)
    for (const [index, bar] of lane.bars().entries())
      assert.ok(bar.start >= (lane.bars()[index - 1]?.end ?? 0));
  const build = model.actions.find(({ id }) => id === "build");
  assert.deepEqual([build?.since, build?.endedAt], [start + 1000, start + 21_000]);
  // The lanes of actions stay if those of sessions are hidden.
  const withSessions = lanesOf(model, true).filter(({ isInner }) => isInner);
  assert.equal(withSessions.length, lanes.length + 2);
  assert.ok(withSessions.some(({ label }) => label === "docs session"));
});

test("the time in which actions ran is no wait for a slot", () => {
  const kinds = lanesOf(model, true).flatMap(({ bars }) => bars().map(({ kind }) => kind));
  assert.ok(!kinds.includes("queue"), kinds.join());
});

test("an action and a document have addresses, and are found by what is in them", () => {
  for (const place of [...model.actions, ...model.documents]) {
    const part = partOf(place);
    const address = hrefOf({ page: "run", runId: "r", part });
    assert.deepEqual(parseRoute(address), { page: "run", runId: "r", part });
    assert.equal(targetOf(model, part).place, place);
  }
  assert.equal(targetOf(model, { kind: "action", number: 99 }).missing, true);
  const found = (query: string): string[] =>
    search(model, query).places.flatMap((place) =>
      place.kind === "action" || place.kind === "document" ? [titleOf(place)] : [],
    );
  assert.deepEqual(found("building the app"), ["Action build"]);
  assert.deepEqual(found("of 40 tests"), ["Action tests", "Action e2e"]);
  assert.deepEqual(found("lint meanwhile"), ["Document 1"]);
  assert.deepEqual(found("biuld"), ["Document 2 rejected"]);
  assert.deepEqual(found("**staging**"), ["Document 3"]);
});

test("an answer in the protocol is known as one, that of another task is not", () => {
  const answers = model.turns.map(({ session, isProtocol }) => `${session.task} ${isProtocol}`);
  assert.deepEqual(answers, [
    "undefined true",
    "undefined true",
    "undefined true",
    "docs false",
    "undefined true",
  ]);
  // One prompt, and three more turns.
  assert.equal(iteration.sendings, 1);
});

test("progress comes as it happens, and stays below its end", async () => {
  const live = new ActionTelling();
  await live.turn(documentOf([background("deploy", "deploy", "Deploying", { seconds: 20 })]));
  await live.clock.runUntil(live.clock.sleep(12_500));
  const running = fold(live.events);
  assert.equal(running.actions[0]?.percent, 60);
  const at = (live.events.at(-1)?.at ?? 0) + 1;
  const action = { id: "deploy", iteration: 1, type: "action.progress", percent: 100 } as const;
  applyToModel(running, { at, runId: "run", type: "action", work, action });
  assert.equal(running.actions[0]?.percent, 95);
  applyToModel(running, { at, runId: "run", type: "run.ended", outcome: { kind: "succeeded" } });
  assert.equal(running.actions[0] && stateOf(running.actions[0], false), "canceled");
  assert.equal(running.works.get(0)?.iterations.get(1)?.openActions.size, 0);
});

test("any events in any order make a page", async (t) => {
  await holds(
    t,
    fc.property(
      fc.array(fc.record({ action: actionEvent, taskId: fc.constantFrom("ship", "docs") }), {
        maxLength: 60,
      }),
      fc.string({ minLength: 1, maxLength: 3 }),
      (events, query) => {
        const shown = fold(
          events.map(({ action, taskId }, at): RunEvent => {
            return { at, runId: "run", type: "action", work: { ...work, taskId }, action };
          }),
        );
        assert.equal(shown.unusable, 0);
        for (const one of shown.works.get(0)?.iterations.values() ?? []) {
          const rows = rowsOf(one);
          assert.equal(rows.length, shown.actions.length + shown.documents.length);
        }
        for (const { bars } of lanesOf(shown, true))
          for (const bar of bars()) assert.notEqual(barText(bar, 100, false), "");
        search(shown, query);
      },
    ),
    200,
  );
});
