import assert from "node:assert/strict";
import { test } from "node:test";
import { Lines } from "../../../src/tools/mcp/server-program.ts";

const longest = 1024 * 1024;
const sizes = [1_000, 16 * 1024, 8 * longest];

/** All lines of a text that comes in pieces of `size` bytes. */
function read(text: string, size: number): readonly string[] | undefined {
  const lines = new Lines(longest);
  const bytes = Buffer.from(text);
  const all: string[] = [];
  for (let from = 0; from < bytes.length; from += size) {
    const found = lines.push(bytes.subarray(from, from + size));
    if (found === undefined) return undefined;
    all.push(...found);
  }
  return all;
}

test("a line of the longest size is read, in whatever pieces it comes", () => {
  const full = "ü".repeat(longest / 2);
  for (const size of sizes) assert.ok(read(`a\r\n${full}\nb\n`, size)?.[1] === full);
});

test("a longer one ends the reading, with or without its end", () => {
  const long = "x".repeat(longest + 1);
  for (const size of sizes) {
    assert.equal(read(`a\n${long}\n`, size), undefined);
    assert.equal(read(`a\n${long}`, size), undefined);
  }
});
