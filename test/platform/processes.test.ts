import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import type { TestContext } from "node:test";
import {
  cpuTicks,
  endMarkedProcesses,
  isRunning,
  processesMarked,
  sendSignal,
  waitUntilGone,
} from "../../src/platform/processes.ts";
import { until } from "../sessions/rig.ts";

function start(t: TestContext, script: string, env: Record<string, string>): number {
  const child = spawn("sh", ["-c", script], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: "ignore",
  });
  t.after(() => child.kill("SIGKILL"));
  assert.ok(child.pid !== undefined);
  return child.pid;
}

const name = "AGENT_JOBS_TEST_MARK";

test("a process is found by the exact mark in its environment", async (t) => {
  const mark = `one-${process.pid}`;
  const pid = start(t, "sleep 50; :", { [name]: mark });
  start(t, "sleep 50; :", { [name]: `${mark}0` });
  start(t, "sleep 50; :", { [`${name}_2`]: mark });
  const found = await processesMarked(name, mark);
  assert.ok(found.includes(pid));
  assert.ok(found.length <= 2, "the shell and its sleep");
  assert.deepEqual(await processesMarked(name, "nobody"), []);
});

test("all that carry the mark are ended, also what ignores a polite request, and nothing else", async (t) => {
  const mark = `two-${process.pid}`;
  const stubborn = start(t, "trap '' TERM; while :; do sleep 1; done", { [name]: mark });
  const breeding = start(t, "(sleep 51 &); (sleep 52 &); sleep 53; :", { [name]: mark });
  const other = start(t, "sleep 54; :", { [name]: `${mark}-other` });
  await until(async () => (await processesMarked(name, mark)).length >= 5, "all of them");
  await endMarkedProcesses(name, mark);
  assert.deepEqual(await processesMarked(name, mark), []);
  assert.ok(await waitUntilGone([stubborn, breeding], 30_000));
  assert.equal(isRunning(other), true);
});

test("nobody is there: no error", async () => {
  await endMarkedProcesses(name, "nobody at all");
  assert.equal(isRunning(2 ** 30), false);
  sendSignal(2 ** 30, "SIGKILL");
  assert.equal(isRunning(process.pid), true);
  assert.equal(await waitUntilGone([process.pid], 30), false);
});

test(
  "the CPU time of a process holds that of its descendants, also of what its threads have started",
  { skip: process.platform !== "linux" },
  async (t) => {
    const shell = start(t, "sh -c 'while :; do :; done'; true", { [name]: "cpu" });
    const begun = cpuTicks(shell) ?? 0;
    await until(() => (cpuTicks(shell) ?? 0) > begun + 5, "the child's CPU time");
    await endMarkedProcesses(name, "cpu");
    const busy = `require("node:child_process").spawn("sh", ["-c", "while :; do :; done"])`;
    const pid = start(t, 'exec "$NODE" -e "$PROGRAM"', {
      [name]: "thread",
      NODE: process.execPath,
      PROGRAM: `new (require("node:worker_threads").Worker)(${JSON.stringify(busy)}, { eval: true })`,
    });
    t.after(() => endMarkedProcesses(name, "thread"));
    await until(async () => (await processesMarked(name, "thread")).length === 2, "both");
    const before = cpuTicks(pid) ?? 0;
    // More than Node's own start can take.
    await until(() => (cpuTicks(pid) ?? 0) > before + 50, "the child's CPU time");
  },
);
