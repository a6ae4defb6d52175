import assert from "node:assert/strict";
import { test } from "node:test";
import { startCall } from "../../src/tools/call.ts";
import type { CallContext, ToolOutcome } from "../../src/tools/tool.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { StillClock } from "../workflow/run/scripts-rig.ts";

test("the time limit of a call stands still while it waits for a build", async () => {
  const clock = new FakeClock();
  const done: ToolOutcome = { kind: "succeeded", value: "done" };
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
