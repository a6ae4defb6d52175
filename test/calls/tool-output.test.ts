import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { BoundedBytes, joinTails, longestResult, ToolLog } from "../../src/calls/tool-output.ts";
import { createRedactor } from "../../src/events/redact.ts";
import { holds } from "../rig/fuzz.ts";
import { StillClock } from "../workflow/scripts-rig.ts";
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
  const log = new ToolLog(redactor.stream, new StillClock(), (line) => lines.push(line));
  for (const piece of bytes) log.push(piece);
  log.end();
  return { lines, tail: log.tail };
}

test("wherever a log is cut, its lines and its end are the same, bounded and without secrets", async (t) => {
  const property = fc.property(printed, cuts, (bytes, at) => {
    const cut = logged(pieces(bytes, at));
    assert.deepEqual(cut, logged([bytes]));
    assert.ok(![...cut.lines, cut.tail].some((text) => text.includes(secret)));
    assert.ok(cut.tail.length <= 4000);
    assert.ok(cut.lines.every((line) => line.length <= 1001));
  });
  await holds(t, property, 200);
});

test("wherever a result is cut, it is the same, and without secrets", async (t) => {
  const property = fc.property(printed, cuts, (bytes, at) => {
    const result = new BoundedBytes();
    for (const piece of pieces(bytes, at)) assert.ok(result.push(piece));
    assert.equal(result.text(redactor.stream()), redactor.text(bytes.toString()));
  });
  await holds(t, property, 200);
});

test("wherever a result is cut, it is refused at the same length", async (t) => {
  const half = Buffer.alloc(longestResult / 2, "x");
  const property = fc.property(fc.integer({ min: -3, max: 3 }), cuts, (more, at) => {
    const bytes = Buffer.alloc(longestResult / 2 + more, "x");
    const result = new BoundedBytes();
    const accepted = [half, ...pieces(bytes, at)].map((piece) => result.push(piece));
    assert.equal(accepted.at(-1), more <= 0);
  });
  await holds(t, property, 10);
});

test("two ends share the room, and what one leaves is the other's", async (t) => {
  const texts = fc.nat(5000).map((length) => "x".repeat(length));
  const property = fc.property(texts, texts, (first, second) => {
    const joined = joinTails(first, second.replaceAll("x", "y"));
    assert.ok(joined.length <= 4000);
    const whole = first.length + second.length + 1 <= 4000;
    assert.equal(joined.replaceAll("\n", "").length >= 3999 || whole, true);
    assert.ok((joined.match(/y/g)?.length ?? 0) >= Math.min(second.length, 2000));
  });
  await holds(t, property, 100);
});
