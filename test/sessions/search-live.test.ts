/** Searches on the real runtime. test/canary/read-only.test.ts tries all forms of them. */
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Permissions } from "../../src/entry/model.ts";
import type { Script, ScriptedCall } from "../rig/model-server.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { completed, makeRig, turn } from "./rig.ts";

const settings = "SECRET=KEY-of-settings\n";

const call = (fields: object = {}): ScriptedCall => ({
  name: "grep",
  arguments: { pattern: "KEY", output_mode: "content", ...fields },
});
const callOnce =
  (...toolCalls: readonly ScriptedCall[]): Script =>
  ({ toolResults }) =>
    toolResults.length === 0 ? { toolCalls } : { text: "The end." };

test("a file of credentials that appears during a session is in none of its searches", async (t) => {
  const workspace = await makeWorkspace(t, { "a.ts": "KEY\n" });
  const { path } = workspace;
  const rig = await makeRig(
    t,
    ({ toolResults }) => {
      if (toolResults.length === 2) return { text: "The end." };
      if (toolResults.length === 1) {
        mkdirSync(join(path, "late"));
        for (const name of [".env", ".NPMRC", "late/.env.local"])
          writeFileSync(join(path, name), settings);
      }
      return { toolCalls: [call()] };
    },
    { workspace },
  );
  const session = await rig.open();
  completed(await turn(session, "search"));
  const { toolResults = [] } = rig.server.requests.at(-1) ?? {};
  assert.deepEqual(toolResults, ["./a.ts:KEY", "./a.ts:KEY"]);
});

test(
  "sessions of one run that may read different files search differently",
  { skip: withoutSandbox },
  async (t) => {
    const workspace = await makeWorkspace(t, { ".env": settings, "a.ts": "KEY\n" });
    const rig = await makeRig(t, callOnce(call()), { workspace });
    const seen = async (permissions: Permissions): Promise<string | undefined> => {
      const session = await rig.open({ permissions });
      completed(await turn(session, "search"));
      await session.close();
      return rig.server.requests.at(-1)?.toolResults[0]?.split("\n").sort().join(" ");
    };
    const everything = `./.env:${settings.trim()} ./a.ts:KEY`;
    assert.equal(await seen("read-only"), "./a.ts:KEY");
    assert.equal(await seen("all"), everything);
    assert.equal(await seen("workspace"), "./a.ts:KEY");
    assert.equal(rig.sessions.runtimePids.length, 3);
    assert.deepEqual(rig.restarts, []);
  },
);

test("searches show no file of credentials that a pattern names, with and without a program `true`", async (t) => {
  const workspace = await makeWorkspace(t, { ".env": settings, "a.ts": "KEY\n" });
  // In a sandbox, the runtime starts searches by a shell.
  const { path: programs } = await makeWorkspace(t);
  symlinkSync("/bin/sh", join(programs, "sh"));
  for (const environment of [process.env, { ...process.env, PATH: programs }]) {
    const script = callOnce(call(), call({ glob: "**/*" }));
    const rig = await makeRig(t, script, { workspace, environment });
    completed(await turn(await rig.open({ permissions: { read: [".env"] } }), "search"));
    const said = rig.server.requests.at(-1)?.toolResults.join("\n") ?? "";
    assert.match(said, /a\.ts:KEY/);
    assert.doesNotMatch(said, /SECRET/);
  }
});
