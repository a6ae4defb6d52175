import assert from "node:assert/strict";
import { test } from "node:test";
import { startCall } from "../../src/tools/call.ts";
import { progressOf } from "../../src/tools/tool-output.ts";
import type { CallContext, ToolOutcome, ToolProgress } from "../../src/tools/tool.ts";
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
