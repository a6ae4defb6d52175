/** Sessions whose sandbox can't be engaged: nothing is started, or the turn ends with the reason. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, chown, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Permissions } from "../../src/entry/model.ts";
import { Confinement } from "../../src/sessions/confinement.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { bash } from "../rig/model-server.ts";
import { crashOf, makeRig, turn } from "./rig.ts";

type Test = Parameters<typeof makeRig>[0];

const skip = { skip: withoutSandbox };
const environment = process.env;
const permissions = { shell: true, write: ["out/**"] } as const;

/** A session whose `bwrap` is the script, in the working directory. The model asks for the commands, one by one. */
async function openWith(
  t: Test,
  script: string,
  commands: readonly string[],
  before: (command: number, path: string) => Promise<void> = async () => {},
) {
  const workspace = await makeWorkspace(t, { "out/.keep": "" });
  const { path } = workspace;
  const bubblewrap = join(path, "bwrap");
  await writeFile(bubblewrap, `#!/bin/sh\n${script}\nexec /usr/bin/bwrap "$@"\n`);
  await chmod(bubblewrap, 0o755);
  const confinement = new Confinement({ environment, scripted: false, bubblewrap });
  const rig = await makeRig(
    t,
    async ({ toolResults }) => {
      const command = commands[toolResults.length];
      await before(toolResults.length, path);
      return command === undefined ? { text: "The end." } : { toolCalls: [bash(command)] };
    },
    { workspace, confinement },
  );
  const opened = (given: Permissions) =>
    rig.attempt({ permissions: given, signal: AbortSignal.timeout(30_000) });
  return { rig, path, opened };
}

test("without a sandbox, only file tools start, unless one is required", async (t) => {
  const { rig, opened } = await openWith(
    t,
    'echo "bwrap: No permissions to create new namespace" >&2; exit 1',
    [],
  );
  const refused = async (given: Permissions): Promise<string> => {
    const result = await opened(given);
    if (result.kind === "crashed") return result.crash.message;
    await result.session.close();
    return "";
  };
  const what = `This machine has no sandbox (bubblewrap doesn't work: bwrap: No permissions to create new namespace). Allow it to make user namespaces (on Ubuntu with \`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\`)`;
  const accept = ", or accept that commands can do whatever this user can: `sandbox: off`";
  assert.equal(await refused({ shell: ["git diff *"] }), `${what}${accept}.`);
  assert.equal(await refused({ sandbox: "required" }), `${what}.`);
  assert.equal(await refused("read-only"), "", "file tools alone don't need one");
  assert.equal(rig.server.requests.length, 0);
});

test(
  "a sandbox that fails in the middle ends the turn, and nothing is executed",
  skip,
  async (t) => {
    const fails = '[ ! -e "$(dirname "$0")/broken" ] || { echo "bwrap: broken" >&2; exit 1; }';
    for (const [what, damage] of [
      ["fails", (path: string) => writeFile(join(path, "broken"), "")],
      ["is gone", (path: string) => rm(join(path, "bwrap"))],
    ] as const) {
      const commands = ["echo 1 > out/first", "echo 2 > out/second", "echo 3 > out/third"];
      const { rig, path } = await openWith(t, fails, commands, async (command) => {
        if (command === 1) await damage(path);
      });
      const session = await rig.open({ permissions });
      const crash = crashOf(await turn(session, "Go"));
      await session.close();
      assert.equal(crash.cause, "configuration", what);
      assert.match(
        crash.message,
        /^The sandbox of a command was not engaged: .* The session was ended\.$/,
      );
      const made = ["first", "second", "third"].map((name) => existsSync(join(path, "out", name)));
      assert.deepEqual(made, [true, false, false], what);
    }
  },
);

test("a command that the runtime starts without its sandbox ends the turn", skip, async (t) => {
  const { rig, path } = await openWith(t, "", ["echo 1 > out/first", "echo 2 > out/second"]);
  const session = await rig.open({ permissions });
  const raw = rig.sessions.find(session.id)?.rawSection;
  await raw?.rpc.options.update({ sandboxConfig: { enabled: false } });
  const crash = crashOf(await turn(session, "Go"));
  await session.close();
  assert.match(crash.message, /engaged: the runtime reports it as inactive\./);
  assert.equal(existsSync(join(path, "out/second")), false);
});

test("a report that comes after the last answer ends the turn red", skip, async (t) => {
  const { rig } = await openWith(t, "", []);
  const session = await rig.open({ permissions });
  const raw: object | undefined = rig.sessions.find(session.id)?.rawSection;
  assert.ok(raw !== undefined && "_dispatchEvent" in raw);
  const { _dispatchEvent: dispatch } = raw;
  assert.ok(typeof dispatch === "function");
  const data = { kind: "enforcement_state", outcome: "inactive", toolCallId: "c" };
  const run = await turn(session, "Go", {
    onActivity: ({ kind }) => {
      if (kind !== "idle") return;
      // By then, the turn has been judged.
      let judged = Promise.resolve();
      for (let steps = 0; steps < 3; steps += 1) judged = judged.then(() => {});
      void judged.then(() => {
        dispatch.call(raw, { type: "sandbox.decision", data });
      });
    },
  });
  await session.close();
  assert.match(crashOf(run).message, /^The sandbox of a command was not engaged: .* inactive\./);
});

const asRoot = { skip: withoutSandbox || (process.getuid?.() !== 0 && "Only root can enter it.") };

test("a folder that only its owner may read is refused at once, by its mode", asRoot, async (t) => {
  const workspace = await makeWorkspace(t, { "out/.keep": "" });
  const { path } = workspace;
  const confinement = new Confinement({ environment, scripted: false });
  const rig = await makeRig(t, () => ({ text: "hi" }), { workspace, confinement });
  const opened = () => rig.attempt({ permissions, signal: AbortSignal.timeout(30_000) });
  await chown(path, 1234, 1234);
  await chmod(path, 0o700);
  const result = await opened();
  assert.ok(result.kind === "crashed");
  assert.equal(result.crash.cause, "configuration");
  assert.match(
    result.crash.message,
    /can't read \S+, which belongs to the user 1234 and has the mode 700\./,
  );
  await chmod(path, 0o755);
  const open = await opened();
  assert.ok(open.kind === "opened");
  await open.session.close();
});
