import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createGate } from "../../src/run/gate.ts";

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("createGate", () => {
  it("lets go at once of who waits when its signal aborts, and never runs it", async () => {
    const gate = createGate(1);
    const abort = new AbortController();
    let end = (): void => {};
    const first = gate.run(
      () => new Promise<string>((resolve) => (end = () => resolve("first"))),
      new AbortController().signal,
    );
    const second = gate.run(() => assert.fail("it must not run"), abort.signal);
    abort.abort();
    assert.equal(await second, undefined);
    assert.equal(await gate.run(() => assert.fail("it must not run"), abort.signal), undefined);
    end();
    assert.equal(await first, "first");
    assert.equal(await gate.run(async () => "third", new AbortController().signal), "third");
  });

  it("leaves a turn that has begun to end in its own way", async () => {
    const gate = createGate(1);
    const abort = new AbortController();
    const turn = gate.run(async () => {
      abort.abort();
      await pause();
      return "canceled by itself";
    }, abort.signal);
    assert.equal(await turn, "canceled by itself");
  });
});
