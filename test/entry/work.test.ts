import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import type { Work } from "../../src/entry/model.ts";
import {
  assignWorkId,
  conditionIds,
  leafWorks,
  simplifyWork,
  taskWorks,
  workParts,
} from "../../src/entry/work.ts";
import { works } from "../rig/random-works.ts";
import { par, seq, task } from "./rig.ts";

/** Every work of the tree, itself included. */
function all(work: Work): Work[] {
  return [work, ...workParts(work).flatMap(all)];
}

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null)
    Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

const onCrash = (work: Work): string => ("onCrash" in work && work.onCrash) || "stop";

describe("simplifyWork", () => {
  it("flattens Seq in Seq and Par in Par over several levels", () => {
    const nested = seq(
      task("a"),
      seq(seq(task("b")), task("c")),
      par(par(par(task("d"))), task("e")),
    );
    assert.deepEqual(
      simplifyWork(nested),
      seq(task("a"), task("b"), task("c"), par(task("d"), task("e"))),
    );
  });

  it("keeps Par in Seq, Seq in Par and a list of one", () => {
    const work = seq(par(seq(task("a"))));
    assert.deepEqual(simplifyWork(work), work);
  });

  it("leaves nothing to flatten, keeps the tasks in their order, and is done in one go", () => {
    fc.assert(
      fc.property(works, (work) => {
        const simple = simplifyWork(frozen(work));
        for (const part of all(simple)) {
          if (part.kind !== "Seq" && part.kind !== "Par") continue;
          // A Par that takes crashes in another way stays.
          const joins = (one: Work): boolean =>
            one.kind === part.kind && (one.kind !== "Par" || onCrash(one) === onCrash(part));
          assert.ok(!part.works.some(joins));
        }
        assert.deepEqual(leafWorks(simple), leafWorks(work));
        assert.deepEqual(simplifyWork(simple), simple);
      }),
    );
  });
});

describe("assignWorkId", () => {
  it("counts from 0 in reading order", () => {
    const work: Work = seq(
      {
        kind: "Loop",
        postCondition: [true, task("c")],
        body: task("b"),
        preCondition: [true, task("a")],
      },
      { kind: "Alt", falseWork: task("f"), trueWork: task("e"), condition: task("d") },
      par(task("g"), task("h")),
    );
    assert.deepEqual(
      taskWorks(assignWorkId(work)).map(({ taskId, workIdInJob }) => `${taskId}${workIdInJob}`),
      ["a0", "b1", "c2", "d3", "e4", "f5", "g6", "h7"],
    );
  });

  it("replaces ids that are there already", () => {
    const work: Work = { kind: "Ref", taskId: "a", workIdInJob: 7 };
    assert.deepEqual(assignWorkId(work), { kind: "Ref", taskId: "a", workIdInJob: 0 });
  });

  it("gives each task its own id and changes nothing else, nor its input", () => {
    fc.assert(
      fc.property(works, (work) => {
        const before = JSON.stringify(work);
        const assigned = assignWorkId(frozen(work));
        const ids = leafWorks(assigned).map(({ workIdInJob }) => workIdInJob);
        assert.deepEqual(ids, [...ids.keys()]);
        assert.equal(JSON.stringify(work), before);
        const withoutIds = JSON.stringify(assigned, (key, value: unknown) =>
          key === "workIdInJob" ? undefined : value,
        );
        assert.deepEqual(JSON.parse(withoutIds), JSON.parse(before));
      }),
    );
  });

  it("does not mind a thousand levels", () => {
    let work: Work = task("a");
    for (let level = 0; level < 1000; level++) work = level % 2 === 0 ? seq(work) : par(work);
    assert.equal(taskWorks(assignWorkId(simplifyWork(work))).length, 1);
  });
});

describe("conditionIds", () => {
  const ids = (work: Work): number[] => [...conditionIds(assignWorkId(work))].sort((a, b) => a - b);

  it("has every task inside of a condition, whatever the condition is made of, and no other", () => {
    const alt = (condition: Work, trueWork: Work): Work => ({ kind: "Alt", condition, trueWork });
    assert.deepEqual(ids(seq(task("a"), par(task("b"), task("c")))), []);
    // 0 and 1 are the condition's; 2 is what it decides about.
    assert.deepEqual(ids(alt(seq(task("a"), task("b")), task("c"))), [0, 1]);
    // A branch inside of a condition is a part of the condition.
    assert.deepEqual(ids(alt(alt(task("a"), task("b")), alt(task("c"), task("d")))), [0, 1, 2]);
    const loop: Work = {
      kind: "Loop",
      preCondition: [true, par(task("a"), task("b"))],
      body: task("c"),
      postCondition: [false, task("d")],
    };
    assert.deepEqual(ids(seq(loop, task("e"))), [0, 1, 3]);
  });
});
