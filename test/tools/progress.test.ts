import assert from "node:assert/strict";
import { test } from "node:test";
import { progressOf, saidOnce } from "../../src/tools/tool-output.ts";
import { startCall } from "../../src/tools/call.ts";
import type { ToolProgress } from "../../src/tools/tool.ts";
import { StillClock } from "../workflow/run/scripts-rig.ts";

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

test("a message repeats the percentage only if it is another one", async () => {
  assert.deepEqual(saidOnce({ percent: 10, message: "10% compiling" }), {
    percent: 10,
    message: "compiling",
  });
  const kept: ToolProgress[] = [
    { percent: 10, message: "20% of a file" },
    { percent: 10, message: "compiling" },
    { message: "10% compiling" },
    { percent: 10 },
  ];
  for (const progress of kept) assert.deepEqual(saidOnce(progress), progress);

  const heard: ToolProgress[] = [];
  const call = startCall(
    async ({ onProgress }) => {
      onProgress({ percent: 50, message: "linking 50 %" });
      return { kind: "succeeded", value: "" };
    },
    {
      clock: new StillClock(),
      seconds: 10,
      graceSeconds: 1,
      onProgress: (progress) => heard.push(progress),
    },
  );
  await call.ended;
  assert.deepEqual(heard, [{ percent: 50, message: "linking" }]);
});
