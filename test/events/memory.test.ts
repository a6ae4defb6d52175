import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { memoryDiff, noteEntry, remember } from "../../src/events/memory.ts";

const note = fc
  .string({ minLength: 1, maxLength: 40, unit: "grapheme" })
  .filter((one) => one.trim() !== "");
const notes = fc.array(fc.oneof(note, fc.constantFrom("a", "a\n- b", "- x\n\n- y")), {
  maxLength: 12,
});
const heads = fc.constantFrom("", "# Notes\n\n", "Some text\nwithout a list\n");

describe("the memory of a job", () => {
  it("stays within its size, keeps its heading and the newest notes, and has each note once", () => {
    fc.assert(
      fc.property(
        heads,
        notes,
        notes,
        fc.integer({ min: 400, max: 1_000 }),
        (head, old, fresh, max) => {
          const before = remember(head, old, max);
          const after = remember(before, fresh, max);
          assert.ok(Buffer.byteLength(after) <= max);
          assert.ok(after.startsWith(head));
          assert.equal(
            remember(after, fresh.slice(-1), max),
            after,
            "the same note is not added again",
          );
          const newest = fresh.at(-1);
          if (newest !== undefined) assert.ok(after.includes(noteEntry(newest)));
          const expected = [...new Set([...old, ...fresh].map(noteEntry))];
          assert.ok((head + expected.join("")).endsWith(after.slice(head.length)), after);
        },
      ),
    );
  });

  it("is kept in a file that a person has written, and read as it is", () => {
    assert.equal(
      remember("- one\n  more\n- two", ["three\nlines"], 100),
      "- one\n  more\n- two\n- three\n  lines\n",
    );
    assert.equal(remember("- one\n- two\n- three\n", ["four"], 21), "- two\n- three\n- four\n");
  });

  it("shows what a run changes as a diff", () => {
    const found = { file: "m.md", max: 21, text: "- one\n- two\n- three\n", isKept: true };
    assert.deepEqual(memoryDiff(found, ["four", "two"]), ["- - one", "+ - four"]);
    assert.deepEqual(memoryDiff(found, []), []);
  });
});
