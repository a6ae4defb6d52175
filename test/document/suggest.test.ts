import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { editDistance, suggest } from "../../src/document/diagnostic.ts";

describe("editDistance", () => {
  it("counts insertions, deletions, replacements and swaps of neighbors", () => {
    const distances = [
      ["", "abc"],
      ["abc", "abc"],
      ["abc", "abd"],
      ["abc", "acb"],
      ["kitten", "sitting"],
    ].map(([a = "", b = ""]) => editDistance(a, b));
    assert.deepEqual(distances, [3, 0, 1, 1, 3]);
  });

  it("is the same in both directions, and zero only for equal words", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }), (a, b) => {
        assert.equal(editDistance(a, b), editDistance(b, a));
        assert.equal(editDistance(a, b) === 0, a === b);
      }),
    );
  });
});

describe("suggest", () => {
  it("finds the nearest name, whatever its case", () => {
    assert.equal(suggest("promt", ["model", "prompt", "prompts"]), "prompt");
    assert.equal(suggest("SEQ", ["Ref", "Seq"]), "Seq");
    assert.equal(suggest("id", ["di"]), "di");
  });

  it("stays silent where nothing is near", () => {
    assert.equal(suggest("xyz", ["prompt", "model"]), undefined);
    assert.equal(suggest("a", ["b"]), undefined);
    assert.equal(suggest("", ["b"]), undefined);
    assert.equal(suggest("x".repeat(64), ["x".repeat(65)]), undefined);
    assert.equal(suggest("x".repeat(65), ["x".repeat(64)]), undefined);
  });
});
