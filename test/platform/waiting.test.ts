import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { Readable } from "node:stream";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import {
  bestEffort,
  EventLoopYielder,
  linkSignals,
  onAbort,
  readYielding,
  startTimeLimit,
  startTimer,
  unless,
  unlessAborted,
  withGracePeriod,
  within,
  type Occasion,
} from "../../src/platform/waiting.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { holds } from "../rig/fuzz.ts";

const never = new Promise<never>(() => {});

function listenersOf(signal: AbortSignal): number {
  return getEventListeners(signal, "abort").length;
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** A promise that settles after so long. */
async function later<T>(clock: FakeClock, milliseconds: number, settle: () => T): Promise<T> {
  await clock.sleep(milliseconds);
  return settle();
}

function fail(): never {
  throw new Error("broken");
}

describe("a wait for a promise", () => {
  test("returns the value in a box, even if it is undefined", async () => {
    const clock = new FakeClock();
    const done = Promise.resolve(undefined);
    assert.deepEqual(await within(done, 1000, clock), { value: undefined });
    assert.deepEqual(await unlessAborted(done, new AbortController().signal), { value: undefined });
  });

  test("passes on a rejection in time, and ignores one that comes later", async () => {
    const clock = new FakeClock();
    await assert.rejects(clock.runUntil(within(later(clock, 10, fail), 20, clock)), /broken/);
    assert.equal(await clock.runUntil(within(later(clock, 30, fail), 20, clock)), undefined);
    await clock.runUntil(clock.sleep(100));
  });

  test("is over at once if the signal has aborted before", async () => {
    const clock = new FakeClock();
    const signal = AbortSignal.abort();
    assert.equal(await within(never, 1000, clock, signal), undefined);
    assert.equal(await unlessAborted(never, signal), undefined);
    await settled();
    assert.equal(clock.waiting, 0);
  });

  test("ends at the first of its time, its signal and its promise, and leaves nothing behind", async (t) => {
    const moment = fc.option(fc.nat(5));
    const property = fc.asyncProperty(moment, fc.nat(5), moment, async (value, limit, abort) => {
      const clock = new FakeClock();
      const controller = new AbortController();
      const promise = value === null ? never : later(clock, value * 10, () => "value");
      if (abort !== null) startTimer(clock, abort * 10 + 1, () => controller.abort());
      const box = await clock.runUntil(within(promise, limit * 10 + 2, clock, controller.signal));
      const isInTime = value !== null && value <= limit && (abort === null || value <= abort);
      assert.deepEqual(box, isInTime ? { value: "value" } : undefined);
      assert.equal(listenersOf(controller.signal), 0);
      await settled();
      const open = [value === null ? 0 : value * 10, abort === null ? 0 : abort * 10 + 1];
      assert.equal(clock.waiting, open.filter((due) => due > clock.now()).length);
    });
    await holds(t, property, 100);
  });

  test("is over at the first of several occasions, and lets go of all", async () => {
    const open = new Set<() => void>();
    const occasion: Occasion = (listener) => {
      open.add(listener);
      return () => open.delete(listener);
    };
    const waiting = unless(never, occasion, occasion);
    assert.equal(open.size, 2);
    [...open][1]?.();
    assert.equal(await waiting, undefined);
    assert.equal(open.size, 0);
  });
});

describe("a wait for something that was stopped", () => {
  test("has no limit of time until the stop, and then the grace period", async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const stop: Occasion = (listener) => onAbort(controller.signal, listener);
    const slow = withGracePeriod(
      later(clock, 5000, () => "slow"),
      stop,
      100,
      clock,
    );
    assert.deepEqual(await clock.runUntil(slow), { value: "slow" });
    const stuck = withGracePeriod(never, stop, 100, clock);
    startTimer(clock, 1000, () => controller.abort());
    assert.equal(await clock.runUntil(stuck), undefined);
    assert.equal(clock.now(), 6100);
    assert.equal(clock.waiting, 0);
  });

  test("returns what ends within the grace period, also if the stop came before the wait", async () => {
    const clock = new FakeClock();
    const stop: Occasion = (listener) => onAbort(AbortSignal.abort(), listener);
    const ending = withGracePeriod(
      later(clock, 50, () => "ended"),
      stop,
      100,
      clock,
    );
    assert.deepEqual(await clock.runUntil(ending), { value: "ended" });
    await settled();
    assert.equal(clock.waiting, 0, "the timer of the grace period is gone");
  });
});

test("a step of an ending is done, failed or late, and never rejects", async () => {
  const clock = new FakeClock();
  const effort = (step: () => Promise<unknown>): Promise<string> =>
    clock.runUntil(bestEffort(step, 100, clock));
  assert.equal(await effort(() => Promise.resolve()), "done");
  assert.equal(await effort(() => later(clock, 10, fail)), "failed");
  assert.equal(await effort(fail), "failed");
  assert.equal(await effort(() => never), "late");
});

describe("a listener for an abort", () => {
  test("is called once, at once if the signal has aborted, and not after its release", () => {
    const calls: string[] = [];
    const controller = new AbortController();
    onAbort(controller.signal, () => calls.push("kept"));
    const release = onAbort(controller.signal, () => calls.push("released"));
    release();
    controller.abort();
    onAbort(controller.signal, () => calls.push("late"));
    onAbort(undefined, () => calls.push("never"))();
    assert.deepEqual(calls, ["kept", "late"]);
  });

  test("causes no warning of Node, however many there are", async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on("warning", listen);
    const { signal } = new AbortController();
    for (let count = 0; count < 50; count += 1) onAbort(signal, () => {});
    await settled();
    process.off("warning", listen);
    assert.deepEqual(warnings, []);
  });
});

describe("a linked signal", () => {
  test("aborts with the first of the others, for its reason", () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const linked = linkSignals([first.signal, undefined, second.signal]);
    second.abort("second");
    first.abort("first");
    assert.equal(linked.signal.reason, "second");
    assert.equal(linkSignals([first.signal]).signal.reason, "first");
  });

  test("lets go of the others at its end", () => {
    const outer = new AbortController();
    const linked = linkSignals([outer.signal]);
    assert.equal(listenersOf(outer.signal), 1);
    linked.end();
    assert.equal(listenersOf(outer.signal), 0);
    outer.abort();
    assert.equal(linked.signal.aborted, false);
  });
});

describe("a time limit", () => {
  test("aborts its signal when the time is over", async () => {
    const clock = new FakeClock();
    const limit = startTimeLimit(clock, 100);
    await clock.runUntil(clock.sleep(100));
    assert.deepEqual([limit.signal.aborted, limit.isOver], [true, true]);
  });

  test("aborts its signal with the outer one, for its reason: then it was not the time", async () => {
    const clock = new FakeClock();
    const outer = new AbortController();
    const limit = startTimeLimit(clock, 100, outer.signal);
    outer.abort("canceled");
    await clock.runUntil(clock.sleep(200));
    assert.deepEqual([limit.signal.reason, limit.isOver], ["canceled", false]);
  });

  test("leaves no timer and no listener at its end", async () => {
    const clock = new FakeClock();
    const outer = new AbortController();
    const limit = startTimeLimit(clock, 100, outer.signal);
    limit.end();
    await settled();
    assert.deepEqual([clock.waiting, listenersOf(outer.signal)], [0, 0]);
    assert.deepEqual([limit.signal.aborted, limit.isOver], [false, false]);
  });
});

describe("the event loop", () => {
  test("runs between the pieces of a stream that always has more", async () => {
    let made = 0;
    const stream = new Readable({
      read() {
        made += 1;
        this.push(made > 200 ? null : Buffer.alloc(1024, made));
      },
    });
    let waiting = 0;
    const read: number[] = [];
    readYielding(stream, (piece) => {
      assert.equal(waiting, 0);
      waiting += 1;
      setImmediate(() => (waiting -= 1));
      read.push(piece[0] ?? 0);
    });
    await once(stream, "end");
    const all = Array.from({ length: 200 }, (_, index) => (index + 1) % 256);
    assert.deepEqual(read, all);
  });

  test("runs within long work", async () => {
    const yielder = new EventLoopYielder();
    const others: number[] = [];
    setImmediate(() => others.push(1));
    for (let parts = 0; others.length === 0; parts += 1) {
      assert.ok(parts < 1e9);
      await yielder.yieldIfDue();
    }
  });
});
