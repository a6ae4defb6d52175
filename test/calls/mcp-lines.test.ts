import assert from "node:assert/strict";
import { test } from "node:test";
import { Lines, type LinesRead } from "../../src/calls/mcp-lines.ts";

const longest = 1024 * 1024;
const long = "x".repeat(longest);
const after = '{"jsonrpc":"2.0","method":"after"}';

/** All that is read of a text that comes in pieces of `size` bytes. */
function read(text: string, size: number): LinesRead {
  const lines = new Lines(longest);
  const bytes = Buffer.from(text);
  const all: string[] = [];
  for (let from = 0; from < bytes.length; from += size) {
    const found = lines.push(bytes.subarray(from, from + size));
    if (found.kind === "too-large") return found;
    all.push(...found.lines);
  }
  return { kind: "lines", lines: all };
}

const sizes = [1_000, 16 * 1024, 8 * longest];

test("in place of a response that is too long there is an error for the same request", () => {
  for (const response of [
    `{"jsonrpc":"2.0","id":7,"result":{"text":"${long}","id":8}}`,
    `{"id":7,"jsonrpc":"2.0","result":{"text":"${long}"}}`,
    `{"result":{"id":8,"text":"${long}"},"jsonrpc":"2.0","id":7}`,
    `{"jsonrpc": "2.0", "result": {"text": "${long}"}, "id": 7}\r`,
    `{"error":{"code":1,"message":"${long}"},"id":7,"jsonrpc":"2.0"}`,
  ]) {
    for (const size of sizes) {
      const found = read(`${after}\n${response}\n${after}\n`, size);
      assert.ok(found.kind === "lines" && found.lines.length === 3);
      assert.deepEqual([found.lines[0], found.lines[2]], [after, after]);
      const { error, ...rest } = JSON.parse(found.lines[1] ?? "");
      assert.deepEqual(rest, { jsonrpc: "2.0", id: 7 });
      assert.equal(error.message, "The answer of the server has more than 1 MB.");
    }
  }
});

test("what is too long and no response ends the reading", () => {
  for (const message of [
    `{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":"${long}"}`,
    `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${long}","id":7}}`,
    `{"result":{"text":"${long}","id":7},"jsonrpc":"2.0"}`,
    long + long,
  ]) {
    for (const size of sizes) {
      assert.deepEqual(read(`${message}\n`, size), { kind: "too-large", more: "1 MB" });
    }
  }
});

test("a line without an end ends the reading, too", () => {
  const begun = `{"jsonrpc":"2.0","id":7,"result":"${long.repeat(4)}`;
  assert.deepEqual(read(begun, longest), { kind: "lines", lines: [] });
  assert.deepEqual(read(begun + long, longest), { kind: "too-large", more: "5 MB" });
});

test("a line of the longest size is read, in whatever pieces it comes", () => {
  const line = JSON.stringify({ id: 7, result: "" });
  const full = line.replace('""', `"${"ü".repeat((longest - line.length) / 2)}"`);
  for (const size of sizes) {
    const found = read(`${full}\n`, size);
    assert.ok(found.kind === "lines" && found.lines.length === 1 && found.lines[0] === full);
  }
});
