import assert from "node:assert/strict";
import { test } from "node:test";
import { flowPlaces, partOf, targetOf } from "../../web/model/places.ts";
import { rowsOf } from "../../web/model/rows.ts";
import { lanesOf } from "../../web/model/timeline.ts";
import { search } from "../../web/model/search.ts";
import { hrefOf, parseRoute } from "../../web/routes.ts";
import { buildStory, chart, FlowTelling, work } from "../rig/flow-events.ts";
import { fold } from "./fold.ts";

function folded(told: FlowTelling) {
  const model = fold(told.events);
  assert.equal(model.unusable, 0);
  const iteration = model.works.get(0)?.iterations.get(1);
  assert.ok(iteration !== undefined);
  return { model, iteration };
}

test("the steps of a workflow are rows with their status, and bars of its lane", () => {
  const { model, iteration } = folded(buildStory().finish());
  const rows = rowsOf(iteration);
  assert.deepEqual(
    rows.flatMap((row) =>
      row.kind === "place" && row.place.kind === "step"
        ? [`${row.place.step} ${row.place.activity} ${row.place.status}`]
        : [],
    ),
    [
      "1 START succeeded",
      "2 PROMPT_PLAN succeeded",
      "3 EXECUTE_BUILD failed",
      "4 PROMPT_PLAN succeeded",
      "5 EXECUTE_BUILD succeeded",
      "6 CHECK_OK succeeded",
      "7 CALL_PUBLISH succeeded",
      "8 START succeeded",
      "9 ASK_SURE succeeded",
      "10 SUCCESS succeeded",
      "11 SUCCESS succeeded",
    ],
  );
  const bars = lanesOf(model, true).flatMap(({ bars }) => bars());
  const steps = bars.filter(({ kind }) => kind === "step");
  assert.equal(steps.length, 11);
  assert.equal((steps[6]?.end ?? 0) - (steps[6]?.start ?? 0), 60_000);
  assert.equal(model.steps.length, 11);
});

test("an activity has an address, which lists its steps and what happened in them", () => {
  const told = new FlowTelling()
    .step({ activity: "START" })
    .begin({ activity: "PROMPT_PLAN" })
    .say({
      type: "turn.started",
      work,
      sessionId: "s",
      turnId: "t",
      modelId: "m",
      purpose: "prompt",
      retry: 0,
      attempt: 1,
      prompt: "plan",
    })
    .end()
    .step({ activity: "EXECUTE_BUILD" });
  const { model, iteration } = folded(told);
  const node = flowPlaces(chart).findIndex(({ activity }) => activity === "PROMPT_PLAN");
  const part = { kind: "activity", workId: 0, node } as const;
  const address = hrefOf({ page: "run", runId: "r", part });
  assert.deepEqual(parseRoute(address), { page: "run", runId: "r", part });
  const target = targetOf(model, part);
  assert.deepEqual(target.activity, { file: "flow.wf.md", activity: "PROMPT_PLAN" });
  const rows = rowsOf(iteration, target);
  assert.deepEqual(
    rows.map((row) => (row.kind === "place" ? row.place.kind : row.kind)),
    ["step", "session", "turn"],
  );
  assert.equal(targetOf(model, { ...part, node: 999 }).missing, true);
});

test("a step has an address, and is found by what went in and came out", () => {
  const { model } = folded(buildStory());
  const { places } = search(model, "no such script");
  assert.deepEqual(
    places.map((place) => (place.kind === "step" ? place.step : place.kind)),
    [3],
  );
  const [place] = places;
  assert.ok(place !== undefined);
  const part = partOf(place);
  assert.deepEqual(parseRoute(hrefOf({ page: "run", runId: "r", part })), {
    page: "run",
    runId: "r",
    part,
  });
  assert.equal(targetOf(model, part).place, place);
});

test("the output of a running script is kept in bounds, and steps end with their work", () => {
  const told = new FlowTelling().begin({ activity: "EXECUTE_BUILD" });
  for (let piece = 0; piece < 100; piece += 1)
    told.say({ type: "step.output", work, step: 1, script: 0, text: "x".repeat(10_000) });
  const { model } = folded(told);
  const [step] = model.steps;
  assert.ok(step !== undefined && step.output.length <= 400_000);
  const { model: ended } = folded(told.finish({ kind: "canceled", reason: "stopped" }));
  assert.equal(ended.steps[0]?.status, "canceled");
});
