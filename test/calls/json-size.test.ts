import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { JsonSize, mostValues } from "../../src/calls/json-size.ts";
import { Lines } from "../../src/calls/mcp-lines.ts";
import { holds } from "../rig/fuzz.ts";

function sizeOf(...pieces: readonly Uint8Array[]): JsonSize {
  const size = new JsonSize();
  for (const piece of pieces) size.add(piece);
  return size;
}

function valuesOf(value: unknown): { readonly values: number; readonly empty: number } {
  if (typeof value !== "object" || value === null) return { values: 1, empty: 0 };
  const parts = Object.values(value).map(valuesOf);
  return {
    values: 1 + parts.reduce((sum, part) => sum + part.values, 0),
    empty: (parts.length === 0 ? 1 : 0) + parts.reduce((sum, part) => sum + part.empty, 0),
  };
}

test("the values of a JSON text are counted before it is parsed, however it is cut", async (t) => {
  const property = fc.property(fc.json(), fc.nat(), (text, at) => {
    const bytes = Buffer.from(text);
    const { values, empty } = valuesOf(JSON.parse(text));
    const cut = at % (bytes.length + 1);
    const counted = sizeOf(bytes.subarray(0, cut), bytes.subarray(cut)).values;
    assert.ok(counted >= values && counted <= values + empty, `${counted} of ${values}: ${text}`);
  });
  await holds(t, property, 500);
});

test("a hundred levels are not too deep, and brackets in strings are no levels", () => {
  const nested = (levels: number): Buffer =>
    Buffer.from(`${"[".repeat(levels)}${"]".repeat(levels)}`);
  assert.equal(sizeOf(nested(100)).isTooDeep, false);
  assert.equal(sizeOf(nested(101)).isTooDeep, true);
  assert.equal(sizeOf(Buffer.from(JSON.stringify(`\\"${"[".repeat(200)}`))).isTooDeep, false);
});

test("a line with too many values is refused before it ends", () => {
  const lines = new Lines(32 * 1024 * 1024);
  assert.equal(lines.push(Buffer.from("[[],[")).kind, "lines");
  const read = lines.push(Buffer.from("[],".repeat(mostValues)));
  assert.deepEqual(read, { kind: "too-large", more: `${mostValues} values` });
});

test("each line is counted by itself", () => {
  const lines = new Lines(1_000_000);
  const line = `[${"0,".repeat(mostValues - 10)}0]`;
  assert.equal(lines.push(Buffer.from(`${line}\n${line}\n`)).kind, "lines");
});
