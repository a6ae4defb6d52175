import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Deadlines, Scope, type StopReason } from "../../src/engine/scope.ts";
import { FakeClock } from "../rig/fake-clock.ts";

const reason: StopReason = { kind: "canceled", reason: "late" };

/** A scope that writes down when it was stopped. */
function watched(clock: FakeClock, stops: number[]): Scope {
  const scope = Scope.root(undefined);
  scope.onStop(() => stops.push(clock.now()));
  return scope;
}

describe("deadlines", () => {
  it("stop each scope after its own time, with one timer for all", async () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock, 100, reason);
    const stops: number[] = [];
    const steps = async (): Promise<void> => {
      deadlines.add(watched(clock, stops));
      await clock.sleep(30);
      deadlines.add(watched(clock, stops));
      const inTime = watched(clock, stops);
      deadlines.add(inTime);
      await clock.sleep(30);
      deadlines.delete(inTime);
      deadlines.add(watched(clock, stops));
      assert.equal(clock.waiting, 1);
      await clock.sleep(200);
      assert.equal(clock.waiting, 0);
      // After a time with none of them it begins again.
      deadlines.add(watched(clock, stops));
      await clock.sleep(200);
    };
    await clock.runUntil(steps());
    assert.deepEqual(stops, [100, 130, 160, 360]);
  });

  it("leave no timer when they are disposed of, and need none for a time without an end", async () => {
    const clock = new FakeClock();
    const stops: number[] = [];
    const endless = new Deadlines(clock, Infinity, reason);
    endless.add(watched(clock, stops));
    assert.equal(clock.waiting, 0);
    const deadlines = new Deadlines(clock, 100, reason);
    deadlines.add(watched(clock, stops));
    deadlines.dispose();
    assert.equal(clock.waiting, 0);
    await clock.runUntil(clock.sleep(1_000));
    assert.deepEqual(stops, []);
  });
});

it("a signal that is asked for late has aborted, if its scope has stopped", () => {
  const scope = Scope.root(undefined);
  const child = scope.child();
  scope.stop(reason);
  assert.ok(child.signal.aborted && scope.signal.aborted);
  assert.ok(scope.child().signal.aborted);
});
