import assert from "node:assert/strict";
import { test } from "node:test";
import type { Block, Place } from "../../web/model/model.ts";
import { iterationOfPlace, partOf, targetOf, titleOf } from "../../web/model/places.ts";
import { rowOf, rowsOf, type Row } from "../../web/model/rows.ts";
import type { RunModel } from "../../web/model/run-model.ts";
import { parseRoute, runHref } from "../../web/routes.ts";
import { story } from "../events/samples.ts";
import { hostile, largeRun } from "./large-run.ts";
import { fold } from "./fold.ts";

const kindOf = (row: Row): string => (row.kind === "place" ? row.place.kind : row.kind);

const blocksOf = (model: RunModel): Block[] => model.turns.flatMap(({ blocks }) => blocks);

test("the link of every turn, block, decision and iteration leads back to it", () => {
  const model = fold(largeRun({ events: 2000 }));
  const iterations = [...model.works.values()].flatMap((work) => [...work.iterations.values()]);
  const places: Place[] = [...model.turns, ...blocksOf(model), ...model.decisions, ...iterations];
  assert.ok(places.length > 1000);
  let others = 0;
  for (const place of places) {
    const route = parseRoute(runHref("large/run", partOf(place)));
    assert.equal(route.page, "run");
    assert.equal(route.runId, "large/run");
    const target = targetOf(model, route.part);
    const wanted = place.kind === "decision" ? (place.block ?? place) : place;
    if (place.kind === "iteration") assert.equal(target.iteration, place);
    // Half a surrogate pair can't be part of an address.
    else if (place.kind === "call" && place.callId === hostile[5]) others += 1;
    else assert.equal(target.place, wanted);
    assert.notEqual(titleOf(place), "");
  }
  assert.ok(others < 10);
});

test("a link to something that the run does not have chooses nothing else instead", () => {
  const model = fold(story());
  for (const [hash, shown] of [
    ["work/99", undefined],
    ["work/0/9", 0],
    ["turn/no", undefined],
    ["turn/turn-1/999", undefined],
    ["call/no", undefined],
    ["decision/999", undefined],
  ] as const) {
    const route = parseRoute(`#/run/r/${hash}`);
    assert.equal(route.page, "run");
    const { missing, work } = targetOf(model, route.part);
    assert.equal(missing, true, hash);
    assert.equal(work?.workId, shown, hash);
  }
});

test("a run opens at the work that failed, or else at the one that runs", () => {
  const model = fold(largeRun({ events: 1500, live: true }));
  assert.equal(targetOf(model, { kind: "overview" }).work?.taskId, "publish");
  const failed = fold([
    ...story().slice(0, -1),
    {
      at: 50_000,
      runId: "run",
      type: "work.ended",
      work: { workId: 1, taskId: "publish", iteration: 1 },
      outcome: { kind: "failed", reason: "no" },
    },
    { at: 50_001, runId: "run", type: "run.ended", outcome: { kind: "failed", reason: "no" } },
  ]);
  assert.equal(targetOf(failed, { kind: "overview" }).work?.taskId, "publish");
});

test("rows are in the order of the run, below the session that they belong to", () => {
  const model = fold(largeRun({ events: 1500 }));
  const iteration = model.works.get(2)?.iterations.get(1);
  assert.ok(iteration !== undefined);
  const rows = rowsOf(iteration);
  const sessions = rows.flatMap((row) =>
    row.kind === "session" ? [[row.session.role, row.first]] : [],
  );
  assert.deepEqual(sessions, [
    ["task", true],
    ["driving", true],
    ["task", false],
  ]);
  assert.equal(new Set(rows.map(({ key }) => key)).size, rows.length);
  for (const block of blocksOf(model)) {
    if (iterationOfPlace(block) !== iteration) continue;
    const isEmpty = (block.kind === "message" || block.kind === "reasoning") && block.text === "";
    assert.equal(rowOf(rows, block) >= 0, !isEmpty);
  }
});

test("a closed session hides its turns, an attempt shows only what belongs to it", () => {
  const model = fold(largeRun({ events: 1500 }));
  const iteration = model.works.get(3)?.iterations.get(1);
  assert.ok(iteration !== undefined);
  const closed = rowsOf(iteration, { isClosed: () => true });
  assert.deepEqual([...new Set(closed.map(kindOf))].sort(), ["decision", "session"]);
  const all = rowsOf(iteration);
  const parts = [1, 2].map((sending) => rowsOf(iteration, { sending }));
  const turns = (rows: typeof all): number => rows.filter((row) => kindOf(row) === "turn").length;
  assert.equal(iteration.sendings, 2);
  assert.deepEqual(parts.map(turns), [1, 2]);
  assert.equal(turns(all), 3);
});
