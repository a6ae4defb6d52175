import assert from "node:assert/strict";
import { test } from "node:test";
import { isRunning } from "../../src/platform/processes.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { completed, makeRig, turn, until } from "./rig.ts";

test("a runtime that has served its share of sessions makes way for a new one, and ends with its last session", async (t) => {
  const rig = await makeRig(t, () => ({ text: "Yes." }), { sessionsPerRuntime: 2 });
  const first = await rig.open();
  const [old = 0] = rig.sessions.runtimePids;
  const second = await rig.open();
  const third = await rig.open();
  assert.equal(rig.sessions.runtimePids.length, 2);
  for (const session of [first, second, third]) completed(await turn(session, "Hello"));
  await first.close();
  assert.ok(isRunning(old), "it still serves the second session");
  await second.close();
  await until(() => rig.sessions.runtimePids.length === 1, "the old runtime's end");
  assert.ok(!isRunning(old));
  completed(await turn(third, "Hello again"));
  assert.deepEqual(rig.restarts, [], "nothing has died");
});

test("sessions that open at once are dealt out to as many runtimes as they need", async (t) => {
  const rig = await makeRig(t, () => ({ text: "Yes." }), { sessionsPerRuntime: 2 });
  const sessions = await Promise.all(Array.from({ length: 4 }, () => rig.open()));
  assert.equal(rig.sessions.runtimePids.length, 2);
  await Promise.all(sessions.map(async (session) => completed(await turn(session, "Hello"))));
  await Promise.all(sessions.map((session) => session.close()));
  await until(() => rig.sessions.runtimePids.length === 0, "the end of both");
});

test(
  "of the runtimes that no session uses, the two that were used last are kept",
  { skip: withoutSandbox },
  async (t) => {
    const rig = await makeRig(t, () => ({ text: "Yes." }));
    const used: number[] = [];
    for (const folder of ["a", "b", "c"]) {
      const permissions = { shell: true, write: [`${folder}/**`], sandbox: "required" } as const;
      const session = await rig.open({ permissions });
      used.push(rig.sessions.runtimePids.find((pid) => !used.includes(pid)) ?? 0);
      await session.close();
    }
    await until(() => rig.sessions.runtimePids.length === 2, "the end of the first", 10_000);
    assert.deepEqual(new Set(rig.sessions.runtimePids), new Set(used.slice(1)));
    assert.deepEqual(rig.restarts, [], "nothing has died");
  },
);
