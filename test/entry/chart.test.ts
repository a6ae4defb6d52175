import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { generateChartNodes, type ChartGraph, type ChartNode } from "../../src/entry/chart.ts";
import type { Work } from "../../src/entry/model.ts";
import { assignWorkId, conditionIds, leafWorks } from "../../src/entry/work.ts";
import { works } from "../rig/random-works.ts";
import { task } from "./rig.ts";

const graphOf = (work: Work): ChartGraph => generateChartNodes(assignWorkId(work));

const nameOf = (node: ChartNode | undefined): string =>
  node === undefined ? "nowhere" : typeof node.hint === "string" ? node.hint : (node.label ?? "");

/** `node -outcome> node`, an arrow a line; `<` instead of `-` for one that leads back. */
function arrows(work: Work): string[] {
  const { nodes } = graphOf(work);
  return nodes.flatMap((node) =>
    (node.arrows ?? []).map(
      ({ to, label = "", loopBack }) =>
        `${nameOf(node)} ${loopBack ? "<" : "-"}${label}> ${nameOf(nodes[to])}`,
    ),
  );
}

const [a, b, c, d] = ["a", "b", "c", "d"].map(task);
assert.ok(a && b && c && d);

describe("generateChartNodes", () => {
  it("draws a task as one node, with its work id", () => {
    assert.deepEqual(graphOf(a), { nodes: [{ id: 0, hint: ["TaskNode", 0], label: "a" }] });
  });

  it("names the model that a work overrides", () => {
    const labels = [{ category: "fast" }, { id: "gpt" }].map(
      (modelOverride) => graphOf({ kind: "Ref", taskId: "a", modelOverride }).nodes[0]?.label,
    );
    assert.deepEqual(labels, ["a (fast)", "a (gpt)"]);
  });

  it("draws Seq as a chain", () => {
    assert.deepEqual(arrows({ kind: "Seq", works: [a, b] }), ["a -> b"]);
  });

  it("draws a Seq or a Par without works as an empty Par", () => {
    for (const kind of ["Seq", "Par"] as const)
      assert.deepEqual(arrows({ kind: "Seq", works: [a, { kind, works: [] }] }), [
        "a -> ParBegin",
        "ParBegin -> ParEnd",
      ]);
  });

  it("draws Par between its begin and its end", () => {
    assert.deepEqual(arrows({ kind: "Par", works: [a, { kind: "Seq", works: [b, c] }] }), [
      "ParBegin -> a",
      "ParBegin -> b",
      "a -> ParEnd",
      "b -> c",
      "c -> ParEnd",
    ]);
  });

  it("draws Alt as a condition with two ways, of which one may lead to the end at once", () => {
    const whole: Work = { kind: "Alt", condition: a, trueWork: b, falseWork: c };
    assert.deepEqual(arrows(whole), [
      "CondBegin -> a",
      "a -> CondEnd",
      "CondEnd -succeeded> b",
      "CondEnd -failed> c",
      "b -> AltEnd",
      "c -> AltEnd",
    ]);
    assert.deepEqual(graphOf(whole).nodes[1]?.hint, ["CondNode", 0]);
    assert.deepEqual(graphOf(whole).nodes[3]?.hint, ["TaskNode", 1]);
    assert.deepEqual(
      arrows({ kind: "Seq", works: [{ kind: "Alt", condition: a, falseWork: b }, c] }),
      [
        "CondBegin -> a",
        "a -> CondEnd",
        "CondEnd -succeeded> AltEnd",
        "CondEnd -failed> b",
        "b -> AltEnd",
        "AltEnd -> c",
      ],
    );
  });

  it("draws Loop with its conditions, and the arrow back to where it begins", () => {
    assert.deepEqual(
      arrows({ kind: "Loop", preCondition: [true, a], body: b, postCondition: [false, c] }),
      [
        "CondBegin -> a",
        "a -> CondEnd",
        "CondEnd -succeeded> b",
        "CondEnd -failed> LoopEnd",
        "b -> CondBegin",
        "CondBegin -> c",
        "c -> CondEnd",
        "CondEnd <failed> CondBegin",
        "CondEnd -succeeded> LoopEnd",
      ],
    );
    assert.deepEqual(arrows({ kind: "Loop", preCondition: [false, a], body: b }), [
      "CondBegin -> a",
      "a -> CondEnd",
      "CondEnd -failed> b",
      "CondEnd -succeeded> LoopEnd",
      "b -> LoopEnd",
    ]);
    assert.deepEqual(
      arrows({ kind: "Loop", body: { kind: "Par", works: [a] }, postCondition: [true, b] }).slice(
        3,
      ),
      [
        "CondBegin -> b",
        "b -> CondEnd",
        "CondEnd <succeeded> ParBegin",
        "CondEnd -failed> LoopEnd",
      ],
    );
  });

  it("draws how often a Loop runs its body at most", () => {
    assert.deepEqual(arrows({ kind: "Loop", body: a, atMost: 3 }), [
      "a -> CondBegin",
      "CondBegin -> CondEnd",
      "CondEnd <not yet> a",
      "CondEnd -done> LoopEnd",
    ]);
    assert.equal(graphOf({ kind: "Loop", body: a, atMost: 3 }).nodes[2]?.label, "3 times");
    assert.deepEqual(
      arrows({ kind: "Loop", preCondition: [true, a], body: b, atMost: 3 }).slice(2),
      ["CondEnd -succeeded> b", "CondEnd -failed> LoopEnd", "b <> CondBegin"],
    );
    assert.deepEqual(arrows({ kind: "Loop", body: a }), ["a -> LoopEnd"]);
  });

  it("makes every node reachable, with one end, one node per work, and arrows back only in loops", () => {
    fc.assert(
      fc.property(works, (tree) => {
        const work = assignWorkId(tree);
        const { nodes } = generateChartNodes(work);
        assert.deepEqual(
          nodes.map(({ id }) => id),
          [...nodes.keys()],
        );
        const reached = new Set<number>([0]);
        for (const id of reached) for (const { to } of nodes[id]?.arrows ?? []) reached.add(to);
        assert.equal(reached.size, nodes.length);
        assert.equal(nodes.filter(({ arrows: ways }) => ways === undefined).length, 1);
        const conditions = conditionIds(work);
        assert.deepEqual(
          nodes
            .flatMap(({ hint }) => (typeof hint === "string" ? [] : [hint]))
            .toSorted((x, y) => x[1] - y[1]),
          leafWorks<number>(work)
            .map(({ workIdInJob: id }) => [conditions.has(id) ? "CondNode" : "TaskNode", id])
            .toSorted((x, y) => Number(x[1]) - Number(y[1])),
        );
        for (const { id, arrows: ways = [] } of nodes)
          for (const { to, loopBack } of ways) assert.equal(loopBack, to <= id);
        const back = nodes.flatMap(({ arrows: ways = [] }) =>
          ways.filter(({ loopBack }) => loopBack),
        );
        if (!JSON.stringify(work).includes('"Loop"')) assert.deepEqual(back, []);
      }),
    );
  });
});
