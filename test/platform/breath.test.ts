import assert from "node:assert/strict";
import { once } from "node:events";
import { Readable } from "node:stream";
import { test } from "node:test";
import { Breath, readCalmly } from "../../src/platform/breath.ts";

test("of a stream that always has more, one piece is read in each round of the event loop", async () => {
  let made = 0;
  const stream = new Readable({
    read() {
      made += 1;
      this.push(made > 200 ? null : Buffer.alloc(1024, made));
    },
  });
  let waiting = 0;
  const read: number[] = [];
  readCalmly(stream, (piece) => {
    assert.equal(waiting, 0);
    waiting += 1;
    setImmediate(() => (waiting -= 1));
    read.push(piece[0] ?? 0);
  });
  await once(stream, "end");
  assert.deepEqual(
    read,
    Array.from({ length: 200 }, (_, index) => (index + 1) % 256),
  );
});

test("long work is asked to pause, and the event loop runs then", async () => {
  const breath = new Breath();
  let others = 0;
  setImmediate(() => (others += 1));
  for (let parts = 0; !breath.isDue; parts += 1) assert.ok(parts < 1e9);
  assert.equal(others, 0);
  await breath.take();
  assert.equal(others, 1);
  // On a busy machine, the next pause may be due at once.
  for (let pauses = 0; breath.isDue; pauses += 1) {
    assert.ok(pauses < 1000);
    await breath.take();
  }
});
