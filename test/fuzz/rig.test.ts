import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { holds } from "../rig/fuzz.ts";

test("a property that does not hold fails with its smallest counter-example", async (t) => {
  const small = fc.property(fc.nat(), (n) => n < 10);
  await assert.rejects(holds(t, small, 1000), /Counterexample: \[10\]/);
});
