import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import {
  type CallBounds,
  type CallEnd,
  type RunningCall,
  startCall,
} from "../../src/tools/call.ts";
import { progressOf } from "../../src/tools/tool-output.ts";
import type { CallContext, ToolOutcome, ToolProgress } from "../../src/tools/tool.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { StillClock } from "../workflow/run/scripts-rig.ts";

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

test("the time limit of a call stands still while it waits for a build", async () => {
  const clock = new FakeClock();
  const work = async ({ signal, pauseTimeLimit }: CallContext): Promise<ToolOutcome> => {
    await clock.sleep(4000, signal);
    const resume = pauseTimeLimit?.();
    await clock.sleep(100_000, signal);
    resume?.();
    resume?.();
    await clock.sleep(5000, signal);
    return done;
  };
  const bounds = { clock, graceSeconds: 1 };
  assert.deepEqual(await clock.runUntil(startCall(work, { ...bounds, seconds: 10 }).ended), done);
  const late = startCall(work, { ...bounds, seconds: 8 });
  assert.deepEqual(await clock.runUntil(late.ended), { kind: "timed_out" });
});

test("a call can be canceled while its time limit stands still", async () => {
  const clock = new StillClock();
  const call = startCall(
    async ({ signal, pauseTimeLimit }) => {
      pauseTimeLimit?.();
      await clock.sleep(100_000, signal);
      return { kind: "failed", reason: "aborted" };
    },
    { clock, seconds: 10, graceSeconds: 1 },
  );
  call.cancel("enough");
  assert.deepEqual(await call.ended, { kind: "cancelled", reason: "enough" });
});

test("a percentage at the beginning or the end of a line is separated from its message", () => {
  const lines: [string, ToolProgress][] = [
    ["10% compiling", { percent: 10, message: "compiling" }],
    ["[ 50%] linking", { percent: 50, message: "linking" }],
    ["12.5 %: reading", { percent: 12.5, message: "reading" }],
    ["reading - 30%", { percent: 30, message: "reading" }],
    ["3 of 10 files (30%)", { percent: 30, message: "3 of 10 files" }],
    ["40%", { percent: 40 }],
    ["250% of the usual", { message: "250% of the usual" }],
    ["50%off", { message: "50%off" }],
    ["in the 50% of cases", { message: "in the 50% of cases" }],
  ];
  for (const [line, progress] of lines) assert.deepEqual(progressOf(line), progress, line);
});

function thrower(error: unknown): () => never {
  return () => {
    throw error;
  };
}
