import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createGate } from "../../src/run/gate.ts";

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("createGate", () => {
  it("lets so many turns run at once, the others in the order in which they came", async () => {
    const gate = createGate(2);
    const { signal } = new AbortController();
    const log: string[] = [];
    let running = 0;
    const turn = (name: string) => async (): Promise<string> => {
      running += 1;
      assert.ok(running <= 2);
      log.push(name);
      await pause();
      running -= 1;
      return name;
    };
    const names = ["a", "b", "c", "d", "e"];
    assert.deepEqual(await Promise.all(names.map((name) => gate.run(turn(name), signal))), names);
    assert.deepEqual(log, names);
  });

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

  it("goes on after a turn that throws", async () => {
    const gate = createGate(1);
    const { signal } = new AbortController();
    await assert.rejects(
      gate.run(() => Promise.reject(new Error("boom")), signal),
      /boom/,
    );
    assert.equal(await gate.run(async () => 1, signal), 1);
  });
});
