import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  barAt,
  focusable,
  isMark,
  lanesOf,
  panned,
  ticks,
  wholeRange,
  zoomed,
} from "../../web/model/timeline.ts";
import { events } from "../events/samples.ts";
import { holds } from "../rig/fuzz.ts";
import { largeRun } from "./large-run.ts";
import { fold } from "./fold.ts";

test("a lane for the job, each work and, if wanted, each session", () => {
  const model = fold(largeRun({ events: 1500 }));
  const rows = lanesOf(model, true);
  const works = rows.filter(({ work, isInner }) => work !== undefined && !isInner);
  assert.deepEqual(
    works.map(({ label }) => label),
    [...model.works.values()].map(({ taskId }) => taskId),
  );
  assert.deepEqual(
    [rows[0]?.note, ...works.map(({ note }) => note)],
    ["job", ...[...model.works.keys()].map((workId) => `#${workId}`)],
  );
  assert.ok(rows.some(({ isInner, label }) => isInner && label === "task session, attempt 2"));
  assert.equal(lanesOf(model, false).length, works.length + 1);
});

test("ticks are round, inside of the range, and never too many", async (t) => {
  assert.deepEqual(
    ticks({ from: 0, to: 60_000 }, 0, 6).map(({ text }) => text),
    ["0", "10 s", "20 s", "30 s", "40 s", "50 s", "1 min"],
  );
  assert.deepEqual(
    ticks({ from: 5_000, to: 5_004 }, 5_000, 4).map(({ text }) => text),
    ["0", "1 ms", "2 ms", "3 ms", "4 ms"],
  );
  const time = fc.double({ min: 0, max: 8.64e15, noNaN: true });
  await holds(
    t,
    fc.property(time, time, time, fc.nat({ max: 40 }), (from, length, start, count) => {
      const list = ticks({ from, to: from + length }, start, count);
      assert.ok(list.length <= 200);
      for (const { at } of list) assert.ok(at <= from + length);
    }),
    200,
  );
});

test("zooming and panning stay within the run, and zooming keeps the time under the pointer", async (t) => {
  const whole = { from: 1000, to: 101_000 };
  const close = zoomed(whole, 0.1, 21_000, whole);
  assert.equal(close.to - close.from, 10_000);
  assert.equal((21_000 - close.from) / 10_000, 0.2);
  assert.deepEqual(zoomed(close, 1000, 21_000, whole), whole);
  await holds(
    t,
    fc.property(
      fc.array(
        fc.tuple(fc.boolean(), fc.double({ min: 0.01, max: 100, noNaN: true }), fc.nat(100_000)),
        { maxLength: 30 },
      ),
      (steps) => {
        let range = { ...whole };
        for (const [isZoom, factor, at] of steps) {
          range = isZoom ? zoomed(range, factor, at, whole) : panned(range, at - 50_000, whole);
          assert.ok(range.from >= whole.from - 1e-6 && range.to <= whole.to + 1e-6);
          assert.ok(range.to - range.from >= 4.999);
        }
      },
    ),
    100,
  );
});

test("what is under a point: marks first, then the shortest span of that half of the lane", () => {
  const model = fold(largeRun({ events: 1500 }));
  const now = model.view.lastAt;
  for (const lane of lanesOf(model, true)) {
    const bars = lane.bars();
    for (const mark of bars.filter(isMark)) {
      const found = barAt(bars, mark.start, 1, 0.5, now);
      assert.ok(found !== undefined && isMark(found));
    }
    if (!lane.isInner) continue;
    const tool = bars.find(({ kind, start, end = 0 }) => kind === "tool" && end > start);
    if (tool === undefined) continue;
    const middle = (tool.start + (tool.end ?? 0)) / 2;
    assert.equal(barAt(bars, middle, 0, 0.9, now)?.kind, "tool");
    assert.notEqual(barAt(bars, middle, 0, 0.1, now)?.kind, "tool");
  }
});

test("the timeline of a damaged journal can be drawn and walked through", async (t) => {
  await holds(
    t,
    fc.property(events, (all) => {
      const model = fold(all);
      const { from, to } = wholeRange(model, undefined);
      assert.ok(from < to);
      for (const { bars, work } of lanesOf(model, true)) {
        const items = focusable(bars());
        for (const [index, { start, place }] of items.entries()) {
          assert.ok(start <= (items[index + 1]?.start ?? Infinity));
          if (work !== undefined) assert.notEqual(place, undefined);
        }
      }
    }),
    100,
  );
});
