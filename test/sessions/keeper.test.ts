/** A runtime whose files were damaged is installed again before any session is opened on it; the runtime is the real one. */
import assert from "node:assert/strict";
import { chmod, mkdir, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { findRuntime } from "../../src/runtime/find-runtime.ts";
import type { RuntimeKeeper } from "../../src/sessions/sessions.ts";
import { isRunning } from "../../src/platform/processes.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { completed, makeRig, turn } from "./rig.ts";

interface Kept extends RuntimeKeeper {
  readonly path: string;
  readonly examined: string[];
  readonly reinstalled: string[];
}

/** A path that leads to the real runtime once it was installed again. */
async function keep(t: TestContext, installed: string | undefined, damage?: string): Promise<Kept> {
  const folder = await makeWorkspace(t);
  const path = join(folder.path, "runtime");
  if (installed === undefined) await symlink(findRuntime({ environment: {} }), path);
  else await chmod(await folder.write("runtime", installed), 0o755);
  const [examined, reinstalled]: [string[], string[]] = [[], []];
  return {
    path,
    examined,
    reinstalled,
    examine(found) {
      examined.push(found);
      return Promise.resolve(damage);
    },
    async reinstall(problem) {
      reinstalled.push(problem);
      await unlink(path);
      await mkdir(join(folder.path, "again"));
      const again = join(folder.path, "again", "runtime");
      await symlink(findRuntime({ environment: {} }), again);
      return again;
    },
  };
}

const answer = () => ({ text: "ok" });

for (const [what, installed, damage, expected] of [
  ["is sound", undefined, undefined, []],
  ["has other files than were noted", undefined, "rg is missing", [/^rg is missing$/]],
  ["does not start", "#!/bin/sh\nexit 3\n", undefined, [/^it does not start \(.+\)$/]],
  ["does neither", "#!/bin/sh\nexit 3\n", "rg is missing", [/^rg is missing$/]],
] as const) {
  test(`a runtime that ${what}`, async (t) => {
    const keeper = await keep(t, installed, damage);
    const rig = await makeRig(t, answer, { runtimePath: keeper.path, runtimeKeeper: keeper });
    // Both at once: who comes second waits for the same runtime.
    const [first, second] = await Promise.all([rig.open(), rig.open()]);
    completed(await turn(first, "One"));
    completed(await turn(second, "Two"));
    assert.deepEqual(keeper.examined, [keeper.path]);
    assert.equal(keeper.reinstalled.length, expected.length);
    for (const [index, pattern] of expected.entries()) {
      assert.match(keeper.reinstalled[index] ?? "", pattern);
    }
    assert.equal(rig.sessions.runtimePids.filter((pid) => isRunning(pid)).length, 1);
    assert.equal(rig.server.requests.length, 2);
  });
}

test("a runtime that can't be installed again ends the session with the reason, and is not tried for ever", async (t) => {
  const keeper = await keep(t, "#!/bin/sh\nexit 3\n", "rg is missing");
  let asked = 0;
  const rig = await makeRig(t, answer, {
    runtimePath: keeper.path,
    runtimeKeeper: {
      examine: () => keeper.examine(keeper.path),
      reinstall() {
        asked += 1;
        return Promise.reject(new Error("The registry is not there."));
      },
    },
  });
  for (const expected of [/The registry is not there/, /./]) {
    await assert.rejects(rig.open(), expected);
  }
  assert.equal(asked, 1);
});
