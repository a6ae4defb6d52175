import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { redactedData, redactedText, resultOf, ToolLog } from "../../src/tools/tool-output.ts";
import { redactedValue, createRedactor } from "../../src/redaction/redactor.ts";
import type { TextStream } from "../../src/redaction/secret-search.ts";
import { holds } from "../rig/fuzz.ts";
import { secret } from "./rig.ts";

const redactor = createRedactor([secret]);

const part = fc.oneof(
  fc.constant(secret),
  fc.constantFrom("\n", "\r\n", "\r", " ", "é€😀", "x".repeat(1500), "40%", secret.slice(0, 8)),
  fc.string({ maxLength: 20 }),
);
const printed = fc.array(part, { maxLength: 40 }).map((parts) => Buffer.from(parts.join("")));
const cuts = fc.array(fc.nat(2000), { maxLength: 30 });

/** Also inside of characters. */
function pieces(bytes: Buffer, at: readonly number[]): Buffer[] {
  const bounds = [0, ...at.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b)];
  return bounds.map((from, index) => bytes.subarray(from, bounds[index + 1] ?? bytes.length));
}

function logged(bytes: readonly Buffer[]): { readonly lines: string[]; readonly tail: string } {
  const lines: string[] = [];
  const log = new ToolLog(redactor.stream, (line) => lines.push(line));
  for (const piece of bytes) log.push(piece);
  log.end();
  return { lines, tail: log.tail };
}

test("wherever a log is cut, its lines and its end are the same, bounded and without secrets", async (t) => {
  const property = fc.property(printed, cuts, (bytes, at) => {
    const cut = logged(pieces(bytes, at));
    assert.deepEqual(cut, logged([bytes]));
    assert.ok(![...cut.lines, cut.tail].some((text) => text.includes(secret)));
    assert.ok(cut.tail.length <= 2000);
    assert.ok(cut.lines.every((line) => line.length <= 1001));
  });
  await holds(t, property, 200);
});

test("a line that may be the beginning of a secret of several lines waits for the rest of it", () => {
  const several = createRedactor(["first line of it\nsecond line"]);
  const key = "-----BEGIN RSA PRIVATE KEY-----";
  for (const [first, rest] of [
    ["first line of it", "second line"],
    [key, `MIIEpAIBAAKCAQEA0123456789\n${key.replace("BEGIN", "END")}`],
  ] as const) {
    const lines: string[] = [];
    const log = new ToolLog(several.stream, (line) => lines.push(line));
    log.push(Buffer.from(`40% of it\nauthorization\n${first}\n`));
    assert.deepEqual(lines, ["40% of it", "authorization"]);
    log.push(Buffer.from(`${rest}\nmore\n`));
    assert.deepEqual(lines, ["40% of it", "authorization", "***", "more"]);
    log.end();
  }
});

test("what is printed is JSON if it parses, else a text without its last line break", async () => {
  const results: readonly (readonly [printed: string, value: unknown])[] = [
    ["two\nlines\n", "two\nlines"],
    ["windows\r\n", "windows"],
    ["two breaks\n\n", "two breaks\n"],
    ["", ""],
    [' {"a": [1]}\n', { a: [1] }],
    ["42\n", 42],
    ["null", null],
    ["007", "007"],
    // A number that JavaScript would change is an id.
    ["12345678901234567890\n", "12345678901234567890"],
    ["12e4567", "12e4567"],
    ['{"a": 1} trailing', '{"a": 1} trailing'],
  ];
  for (const [printed, value] of results)
    assert.deepEqual(await resultOf(printed, redactor.stream), value, printed);
});

test("what was escaped in JSON is masked", async () => {
  const escaped = secret.replaceAll(
    /./g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const text = `{"${escaped}": ["${escaped}"]}`;
  assert.deepEqual(await resultOf(text, redactor.stream), { "***": ["***"] });
});

test("data that is masked in parts is the same as at once", async (t) => {
  const texts = fc.array(part, { maxLength: 4 }).map((parts) => parts.join(""));
  const data = fc.letrec((tie) => ({
    data: fc.oneof(
      { maxDepth: 3 },
      texts,
      fc.integer(),
      fc.constant(null),
      fc.array(tie("data"), { maxLength: 4 }),
      fc.dictionary(texts, tie("data"), { maxKeys: 4 }),
    ),
  })).data;
  const property = fc.asyncProperty(data, async (value) => {
    assert.deepEqual(
      await redactedData(value, redactor.stream),
      redactedValue(value, redactor.text),
    );
  });
  await holds(t, property, 200);
});

test("while a long result is masked, everything else goes on", async () => {
  let waiting = 0;
  // Each part takes so long that others must get their turn before the next one.
  const slow = (): TextStream => {
    const stream = redactor.stream();
    return {
      push(part) {
        assert.equal(waiting, 0);
        waiting += 1;
        setImmediate(() => (waiting -= 1));
        for (const began = performance.now(); performance.now() - began < 10;);
        return stream.push(part);
      },
      end: () => stream.end(),
    };
  };
  const words = "some words ".repeat(20_000);
  assert.equal(await redactedText(`${words}${secret}`, slow), `${words}***`);
});
