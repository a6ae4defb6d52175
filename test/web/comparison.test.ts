import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { PlannedLimits } from "../../src/events/plan.ts";
import { viewsOf, type RunView } from "../../src/events/view.ts";
import type { RunEvent } from "../../src/events/event.ts";
import {
  differenceOf,
  pairWorks,
  runFigures,
  settingDifferences,
  workFigures,
} from "../../web/report/comparison.ts";
import { events as anyEvents, story } from "../events/samples.ts";
import { fold } from "../journal/rig.ts";
import { planned, ref } from "../rig/plan.ts";
import { holds } from "../rig/fuzz.ts";

function runOf(...tasks: readonly string[]): RunView {
  const works = tasks.map((taskId, workId) => ref(workId, taskId));
  return fold([
    {
      at: 1,
      runId: tasks.join(""),
      type: "run.started",
      jobName: "j",
      workingDirectory: "/w",
      ...planned({ kind: "Seq", works }),
    },
  ]);
}

test("works of the same task belong together, in the order of the first run", () => {
  const pairs = pairWorks([runOf("a", "b", "a", "c"), runOf("x", "a", "c", "a", "a")]);
  assert.deepEqual(
    pairs.map(({ taskId, works }) => [taskId, ...works.map((work) => work?.workId)]),
    [
      ["a", 0, 1],
      ["b", 1, undefined],
      ["a", 2, 3],
      ["c", 3, 2],
      ["x", undefined, 0],
      ["a", undefined, 4],
    ],
  );
});

test("a difference has a sign and a share, and is none where both look the same", () => {
  const figure = (values: readonly [number, number]) => ({
    name: "",
    values,
    format: (value: number) => value.toFixed(1),
  });
  assert.deepEqual(differenceOf(figure([10, 15])), { by: "+5.0", share: "+50 %" });
  assert.deepEqual(differenceOf(figure([10, 5])), { by: "−5.0", share: "−50 %" });
  assert.deepEqual(differenceOf(figure([0, 5])), { by: "+5.0", share: undefined });
  assert.equal(differenceOf(figure([1, 1.01])), undefined);
});

test("equal runs have no difference, and a changed setting is named with both values", () => {
  const [run] = [...viewsOf(story()).values()];
  assert.ok(run !== undefined);
  assert.deepEqual(settingDifferences([run, run]), []);
  assert.ok(runFigures([run, run], [9, 9]).every((figure) => differenceOf(figure) === undefined));
  const changed = story().map((event): RunEvent =>
    event.type === "run.started"
      ? { ...event, userInput: "other", models: { ...event.models, extra: "m" } }
      : event,
  );
  assert.deepEqual(
    settingDifferences([run, fold(changed)]).map(({ name, values }) => [name, values[1]]),
    [
      ["User input", "other"],
      ["Model extra", "m"],
    ],
  );
});

test("a limit that a plan does not name is the default", () => {
  const withLimits = (limits: Partial<PlannedLimits>): RunView =>
    fold(
      story().map((event): RunEvent => {
        if (event.type !== "run.started") return event;
        const { cost: _cost, ...earlier } = event.limits;
        return { ...event, limits: { ...earlier, ...limits } };
      }),
    );
  const earlier = withLimits({});
  const defaults = withLimits({
    cost: { value: null, source: "default" },
    activityHits: { value: 3, source: "default" },
  });
  assert.deepEqual(settingDifferences([earlier, defaults]), []);
  const hits = withLimits({ activityHits: { value: 5, source: "the entry" } });
  assert.deepEqual(settingDifferences([earlier, hits]), [
    { name: "Limit activityHits", values: ["3 (default)", "5 (the entry)"] },
  ]);
});

test("any two runs can be compared", async (t) => {
  await holds(
    t,
    fc.property(anyEvents, anyEvents, (a, b) => {
      const views = [fold(a), fold(b)] as const;
      for (const figure of runFigures(views, [0, 0])) differenceOf(figure);
      settingDifferences(views);
      const works = pairWorks(views);
      for (const pair of works) workFigures(pair.works, [0, 0]).map(differenceOf);
      for (const index of [0, 1] as const)
        assert.deepEqual(
          new Set(works.flatMap(({ works: both }) => both[index]?.workId ?? [])),
          new Set(views[index].works.keys()),
        );
    }),
    200,
  );
});
