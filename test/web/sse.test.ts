/** Server-sent events in pieces of text. */
import assert from "node:assert/strict";
import { it } from "node:test";
import * as fc from "fast-check";
import { EventParser, type ServerEvent } from "../../web/data/sse.ts";
import { holds } from "../rig/fuzz.ts";

const events = (...pieces: readonly string[]): readonly ServerEvent[] => {
  const parser = new EventParser();
  return pieces.flatMap((piece) => parser.push(piece));
};

it("an event has its data and its id, and comments are none", () => {
  assert.deepEqual(events(': hello\n\nid: 1\ndata: {"a":1}\n\n:\n\ndata: {"b":2}\n\n'), [
    { id: "1", data: '{"a":1}' },
    { id: "1", data: '{"b":2}' },
  ]);
});

it("several lines of data are joined, and an event that has not ended is none", () => {
  assert.deepEqual(events("data: a\ndata:b\ndata\n\nid: 2\ndata: never"), [
    { id: "", data: "a\nb\n" },
  ]);
});

it("events are the same, wherever the text is split, with every kind of line break", async (t) => {
  const text = fc.string({ unit: fc.constantFrom("a", ":", " ", "é", '"') });
  await holds(
    t,
    fc.property(
      fc.array(text, { maxLength: 5 }),
      fc.constantFrom("\n", "\r\n", "\r"),
      fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 10 }),
      (texts, lineBreak, sizes) => {
        const lines = texts.flatMap((data, index) => [
          `id: ${index}`,
          `data: ${data}`,
          "data: x",
          "",
          ": x",
        ]);
        const all = [...lines, "", ""].join(lineBreak);
        const pieces: string[] = [];
        for (let at = 0, turn = 0; at < all.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 0;
          pieces.push(all.slice(at, at + size + 1));
          at += size + 1;
        }
        assert.deepEqual(
          events(...pieces),
          texts.map((data, index) => ({ id: String(index), data: `${data}\nx` })),
        );
      },
    ),
    300,
  );
});
