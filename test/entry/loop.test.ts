import assert from "node:assert/strict";
import { test } from "node:test";
import { entryWithWork, prepared, problemsOf, task } from "./rig.ts";

const loop = (more: object) => ({ kind: "Loop", body: task("a"), ...more });

test("a loop is bounded by a whole number of passes, and what reaching it means is said only then", () => {
  const works = [
    loop({ atMost: 0 }),
    loop({ atMost: 1.5, atMostReached: "fail" }),
    loop({ atMost: "5" }),
    loop({ atMost: 2, atMostReached: "stop" }),
    loop({ atMostReached: "succeed" }),
    loop({ atmost: 2 }),
  ];
  const at = (index: number): string => `entry.jobs["j"].work.works[${index}]`;
  assert.deepEqual(problemsOf(entryWithWork({ kind: "Seq", works })), [
    `${at(0)}.atMost: Must be at least 1, not 0.`,
    `${at(1)}.atMost: Must be a whole number, not 1.5.`,
    `${at(2)}.atMost: Must be a whole number, not the text "5".`,
    `${at(3)}.atMostReached: Must be "fail" or "succeed", not the text "stop".`,
    `${at(4)}.atMostReached: Requires atMost.`,
    `${at(5)}.atmost: Unknown field "atmost".`,
  ]);
});

test("a bounded loop is prepared as it was written", () => {
  for (const atMostReached of ["fail", "succeed", undefined] as const) {
    const bound = { atMost: 2, ...(atMostReached === undefined ? {} : { atMostReached }) };
    const { work } = prepared(entryWithWork(loop(bound))).jobs["j"] ?? assert.fail();
    assert.deepEqual(work, loop({ ...bound, body: { ...task("a"), workIdInJob: 0 } }));
  }
});
