import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { Deltas } from "../../src/sessions/deltas.ts";
import { FakeClock } from "../rig/fake-clock.ts";

function stage(): {
  clock: FakeClock;
  deltas: Deltas;
  say: (text: string, messageId?: string) => void;
  passed: string[];
  wait: (milliseconds: number) => Promise<void>;
} {
  const clock = new FakeClock();
  const passed: string[] = [];
  const deltas = new Deltas(clock, (activity) => {
    passed.push(`${clock.now()} ${"text" in activity ? activity.text : activity.kind}`);
  });
  return {
    clock,
    deltas,
    passed,
    say: (text, messageId = "m") => deltas.pass(delta(text, messageId)),
    wait: (milliseconds) => clock.runUntil(clock.sleep(milliseconds)),
  };
}

function delta(text: string, messageId: string): SessionActivity {
  return { kind: "message.delta", messageId, text };
}

describe("deltas", () => {
  it("are passed on 50 ms after the last ones, also when nothing follows", async () => {
    const { clock, say, passed, wait } = stage();
    say("a");
    say("b");
    await wait(20);
    say("c");
    assert.deepEqual(passed, ["0 a"]);
    assert.equal(clock.waiting, 1);
    await wait(100);
    assert.deepEqual(passed, ["0 a", "50 bc"]);
    assert.equal(clock.waiting, 0);
    say("d");
    assert.deepEqual(passed.slice(2), ["120 d"]);
  });

  it("come before what follows them, and leave no timer behind", async () => {
    const { clock, deltas, say, passed, wait } = stage();
    say("a");
    say("b");
    say("x", "other");
    assert.deepEqual(passed, ["0 a", "0 b"]);
    deltas.flush();
    assert.deepEqual(passed, ["0 a", "0 b", "0 x"]);
    assert.equal(clock.waiting, 0);
    await wait(200);
    assert.equal(passed.length, 3);
  });

  it("are passed on at once when they are long, however fast they come", () => {
    const { deltas, say, passed } = stage();
    say("a");
    for (let piece = 0; piece < 130; piece += 1) say("x".repeat(1_024));
    assert.deepEqual(
      passed.map((one) => one.length),
      ["0 a".length, ...[1, 2].map(() => "0 ".length + 65_536)],
    );
    deltas.flush();
    assert.equal(passed.at(-1)?.length, "0 ".length + 2 * 1_024);
  });
});
