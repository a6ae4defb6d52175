import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { generateChartNodes } from "../../src/entry/chart.ts";
import type { Work } from "../../src/entry/model.ts";
import { assignWorkId } from "../../src/entry/work.ts";
import { task } from "./rig.ts";

/** `label -outcome> label`, an arrow a line. */
function arrows(work: Work): string[] {
  const { nodes } = generateChartNodes(assignWorkId(work));
  return nodes.flatMap(({ label, arrows }) =>
    arrows.map((arrow) => `${label} -${arrow.label ?? ""}> ${nodes[arrow.to]?.label ?? "nowhere"}`),
  );
}

const [a, b, c, d] = ["a", "b", "c", "d"].map(task);
assert.ok(a && b && c && d);

describe("generateChartNodes", () => {
  it("draws a task between start and end, with its work id", () => {
    assert.deepEqual(generateChartNodes(assignWorkId(a)), {
      nodes: [
        { id: 0, hint: "start", label: "start", arrows: [{ to: 1 }] },
        { id: 1, hint: "task", label: "a", arrows: [{ to: 2 }], workIdInJob: 0 },
        { id: 2, hint: "end", label: "end", arrows: [] },
      ],
    });
  });

  it("names the model that a work overrides", () => {
    const labels = [{ category: "fast" }, { id: "gpt" }].map((modelOverride) => {
      const work = assignWorkId({ kind: "Ref", taskId: "a", modelOverride });
      return generateChartNodes(work).nodes[1]?.label;
    });
    assert.deepEqual(labels, ["a (fast)", "a (gpt)"]);
  });

  it("draws Seq as a chain", () => {
    assert.deepEqual(arrows({ kind: "Seq", works: [a, b] }), ["start -> a", "a -> b", "b -> end"]);
  });

  it("draws Par as a fork and a join", () => {
    assert.deepEqual(arrows({ kind: "Par", works: [a, { kind: "Seq", works: [b, c] }] }), [
      "start -> in parallel",
      "in parallel -> a",
      "in parallel -> b",
      "a -> all done",
      "b -> c",
      "c -> all done",
      "all done -> end",
    ]);
  });

  it("draws Alt as a decision, a missing branch as an arrow to what follows", () => {
    assert.deepEqual(arrows({ kind: "Alt", condition: a, trueWork: b, falseWork: c }), [
      "start -> a",
      "a -> which?",
      "which? -succeeded> b",
      "which? -failed> c",
      "b -> end",
      "c -> end",
    ]);
    assert.deepEqual(
      arrows({ kind: "Seq", works: [{ kind: "Alt", condition: a, falseWork: b }, c] }),
      [
        "start -> a",
        "a -> which?",
        "which? -failed> b",
        "which? -succeeded> c",
        "b -> c",
        "c -> end",
      ],
    );
  });

  it("draws Loop with its conditions, and the arrow back to where it begins", () => {
    const loop: Work = {
      kind: "Loop",
      preCondition: [true, a],
      body: b,
      postCondition: [false, c],
    };
    assert.deepEqual(arrows({ kind: "Seq", works: [loop, d] }), [
      "start -> a",
      "a -> continue?",
      "continue? -succeeded> b",
      "continue? -failed> d",
      "b -> c",
      "c -> again?",
      "again? -failed> a",
      "again? -succeeded> d",
      "d -> end",
    ]);
    assert.deepEqual(arrows({ kind: "Loop", preCondition: [false, a], body: b }), [
      "start -> a",
      "a -> continue?",
      "continue? -failed> b",
      "continue? -succeeded> end",
      "b -> end",
    ]);
    assert.deepEqual(
      arrows({ kind: "Loop", body: { kind: "Par", works: [a] }, postCondition: [true, b] }),
      [
        "start -> in parallel",
        "in parallel -> a",
        "a -> all done",
        "all done -> b",
        "b -> again?",
        "again? -succeeded> in parallel",
        "again? -failed> end",
      ],
    );
  });

  it("draws how often a Loop runs its body at most", () => {
    assert.deepEqual(arrows({ kind: "Loop", body: a, atMost: 3 }), [
      "start -> a",
      "a -> 3 times",
      "3 times -not yet> a",
      "3 times -done> end",
    ]);
    assert.deepEqual(arrows({ kind: "Loop", preCondition: [true, a], body: b, atMost: 3 }), [
      "start -> a",
      "a -> continue? (at most 3)",
      "continue? (at most 3) -succeeded> b",
      "continue? (at most 3) -failed> end",
      "b -> a",
    ]);
    assert.deepEqual(arrows({ kind: "Loop", body: b, postCondition: [false, a], atMost: 3 }), [
      "start -> b",
      "b -> a",
      "a -> again? (at most 3)",
      "again? (at most 3) -failed> b",
      "again? (at most 3) -succeeded> end",
    ]);
    assert.deepEqual(arrows({ kind: "Loop", body: a }), ["start -> a", "a -> end"]);
  });

  it("numbers nodes by their place in the list", () => {
    const work: Work = {
      kind: "Alt",
      condition: { kind: "Par", works: [a, b] },
      trueWork: { kind: "Loop", body: c },
    };
    const { nodes } = generateChartNodes(assignWorkId(work));
    assert.deepEqual(
      nodes.map(({ id }) => id),
      [...nodes.keys()],
    );
  });
});
