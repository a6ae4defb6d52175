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
  const others = await Promise.all([rig.open(), rig.open(), rig.open()]);
  assert.equal(rig.sessions.runtimePids.length, 3, "those that open at once are dealt out");
  for (const session of [first, second, ...others]) completed(await turn(session, "Hello"));
  await first.close();
  assert.ok(isRunning(old), "it still serves the second session");
  await second.close();
  await until(() => rig.sessions.runtimePids.length === 2, "the old runtime's end");
  assert.ok(!isRunning(old));
  completed(await turn(others[0] ?? first, "Hello again"));
  assert.deepEqual(rig.restarts, [], "nothing has died");
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
