/** The policy in time that grows no faster than what a model sends it. Other rooms have suites like this of their own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { linearInCalls, linearInTime } from "../rig/growth.ts";

test("a quadratic cost is found by its time and by its calls, a linear one passes", () => {
  const turns = (n: number): number => {
    let sum = 0;
    for (let index = 0; index < n; index += 1) sum = (sum + index) % 7;
    return sum;
  };
  const make = (size: number): number => size;
  linearInTime({ name: "linear", make, run: (size) => turns(size * 200) });
  assert.throws(
    () => linearInTime({ name: "quadratic", make, run: (size) => turns(size * size) }),
    /quadratic: (?:more than linear|\d+ ms for size)/,
  );
  linearInCalls({ name: "linear", make, count: (size) => size * 3 });
  assert.throws(() => linearInCalls({ name: "quadratic", make, count: (size) => size ** 2 }));
});
