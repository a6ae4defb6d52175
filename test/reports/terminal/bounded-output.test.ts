import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { BoundedOutput } from "../../../src/cli/process.ts";

/** A stream of Node whose reader takes a chunk when it is told to. */
class Pipe extends Writable {
  readonly taken: string[] = [];
  #take: (() => void) | undefined;
  #open = false;

  constructor() {
    super({ decodeStrings: false });
  }

  override _write(chunk: string, _encoding: string, done: () => void): void {
    this.taken.push(chunk);
    if (this.#open) done();
    else this.#take = done;
  }

  read(): void {
    const take = this.#take;
    this.#take = undefined;
    take?.();
  }

  open(): void {
    this.#open = true;
    this.read();
  }
}

const clock = { sleep: () => setImmediate() };
const line = `${"x".repeat(99)}\n`;

describe("an output whose reader stalls", () => {
  it("keeps at most its bound, and says where lines are missing", async () => {
    const pipe = new Pipe();
    const output = new BoundedOutput(pipe, 10_000);
    for (let index = 0; index < 100_000; index += 1) output.write(`${index} ${line}`);
    pipe.open();
    const lost = await output.end(1_000, clock);
    assert.match(lost ?? "", /the middle was omitted/);
    const text = pipe.taken.join("");
    assert.ok(text.length < 12_000, `${text.length}`);
    assert.match(text, /^0 x+\n… some lines are missing, because the reader was too slow\n\d/);
    assert.ok(text.endsWith(`99999 ${line}`));
    assert.equal(text.split("missing").length, 2);
  });

  it("loses nothing and keeps the order when the reader is merely slow", async () => {
    const pipe = new Pipe();
    const output = new BoundedOutput(pipe, 1e6);
    const written = Array.from({ length: 5_000 }, (_, index) => `${index} ${line}`);
    for (const [index, text] of written.entries()) {
      output.write(text);
      if (index % 100 === 0) pipe.read();
      // The stream itself holds what it was given last, no more.
      assert.ok(pipe.writableLength <= 140_000);
    }
    const ended = output.end(1_000, {
      async sleep() {
        await setImmediate();
        pipe.read();
      },
    });
    assert.equal(await ended, undefined);
    assert.equal(pipe.taken.join(""), written.join(""));
  });

  it("is waited for as long as it goes on, and no longer than the patience when it doesn't", async () => {
    for (const reads of [4, 0]) {
      const pipe = new Pipe();
      const output = new BoundedOutput(pipe, 1e6);
      for (let index = 0; index < 1_500; index += 1) output.write(line);
      let slept = 0;
      let left = reads;
      const lost = await output.end(1_000, {
        async sleep(milliseconds) {
          slept += milliseconds;
          // Each time within the patience, all together beyond it.
          if (slept % 900 === 0 && left-- > 0) pipe.read();
          await setImmediate();
        },
      });
      assert.equal(lost, reads === 4 ? undefined : "the reader read nothing for 1 s");
      assert.ok(reads === 4 ? slept > 2_000 : slept === 1_000, `${slept}`);
    }
  });

  it("gets a long text in parts, so that its progress is noticed", async () => {
    const pipe = new Pipe();
    const output = new BoundedOutput(pipe, 4e6);
    const long = line.repeat(10_000);
    for (const text of [line, long, line]) output.write(text);
    let slept = 0;
    const ended = output.end(1_000, {
      async sleep(milliseconds) {
        slept += milliseconds;
        if (slept % 900 === 0) pipe.read();
        await setImmediate();
      },
    });
    assert.equal(await ended, undefined);
    assert.ok(pipe.taken.every((chunk) => chunk.endsWith("\n") && chunk.length < 140_000));
    assert.equal(pipe.taken.join(""), `${line}${long}${line}`);
  });

  it("is not waited for when it has gone", async () => {
    const pipe = new Pipe();
    pipe.on("error", () => {});
    const output = new BoundedOutput(pipe, 1e6);
    output.write(line);
    output.write(line);
    pipe.destroy();
    output.write(line);
    assert.equal(await output.end(1_000, { sleep: () => assert.fail("it slept") }), undefined);
  });
});
