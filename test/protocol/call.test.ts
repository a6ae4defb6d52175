import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type CallBounds,
  type CallEnd,
  type RunningCall,
  startCall,
} from "../../src/tools/call.ts";
import type { CallContext, ToolOutcome } from "../../src/tools/tool.ts";
import { FakeClock } from "../rig/fake-clock.ts";

const done: ToolOutcome = { kind: "succeeded", value: 1 };

function bounds(clock: FakeClock, more: Partial<CallBounds> = {}): CallBounds {
  return { clock, seconds: 60, graceSeconds: 10, ...more };
}

/** A call as one written without types could be. */
async function endOf(run: (context: CallContext) => unknown): Promise<CallEnd> {
  const clock = new FakeClock();
  const untyped: Function = startCall;
  const call: RunningCall = Reflect.apply(untyped, undefined, [run, bounds(clock)]);
  const end = await clock.runUntil(call.ended);
  assert.equal(clock.waiting, 0, "no timer is left behind");
  return end;
}

describe("a call", () => {
  it("that is canceled in the tick in which it starts is never made", async () => {
    const clock = new FakeClock();
    let calls = 0;
    const run = (): Promise<ToolOutcome> => {
      calls += 1;
      return Promise.resolve(done);
    };
    const call = startCall(run, bounds(clock));
    call.cancel("changed my mind");
    assert.deepEqual(await call.ended, { kind: "cancelled", reason: "changed my mind" });
    const aborted = startCall(run, bounds(clock, { signal: AbortSignal.abort() }));
    assert.equal((await aborted.ended).kind, "cancelled");
    assert.equal(calls, 0);
    assert.equal(clock.waiting, 0);
  });

  it("is over when it is stopped: later progress and a later result don't count", async () => {
    const clock = new FakeClock();
    const progress: unknown[] = [];
    const call = startCall(
      async ({ onProgress }) => {
        onProgress({ percent: 1 });
        await clock.sleep(61_000);
        onProgress({ percent: 99 });
        return done;
      },
      bounds(clock, { onProgress: (news) => progress.push(news) }),
    );
    assert.deepEqual(await clock.runUntil(call.ended), { kind: "timed_out" });
    assert.deepEqual(progress, [{ percent: 1 }]);
  });

  const throwing: readonly (readonly [string, () => unknown, string])[] = [
    ["throws at once", thrower(new Error("boom")), "boom"],
    ["throws an error without a message", thrower(new Error()), "unknown error"],
    ["throws nothing", thrower(undefined), "undefined"],
    ["returns a bare value", () => "done", "The call returned no outcome."],
    ["fails without a reason", () => ({ kind: "failed" }), "The call returned no outcome."],
    [
      "returns what can't be read",
      () => ({
        get kind() {
          throw new Error("no access");
        },
      }),
      "no access",
    ],
  ];
  for (const [name, run, reason] of throwing) {
    it(`that ${name} has failed`, async () => {
      assert.deepEqual(await endOf(run), { kind: "failed", reason });
    });
  }
});

function thrower(error: unknown): () => never {
  return () => {
    throw error;
  };
}
