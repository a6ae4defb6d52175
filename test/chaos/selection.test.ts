import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allCases, selectedCases, shortcomings } from "./selection.ts";

describe("the selection of failures", () => {
  it("holds each failure, and each moment with four failures and within a Par", () => {
    assert.deepEqual(shortcomings(selectedCases()), []);
    assert.deepEqual(shortcomings(allCases()), []);
  });
});
