/** Nothing is left: no process with our session's mark, no file. This file's process has a TMPDIR of its own. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Session } from "../../src/engine/ports.ts";
import { isRunning, processesMarked } from "../../src/platform/processes.ts";
import { bash, type Script } from "../rig/model-server.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { completed, crashOf, makeRig, turn, until, type Rig } from "../sessions/rig.ts";

const temporary = realpathSync(mkdtempSync(join(tmpdir(), "test-agent-jobs-")));
process.env["TMPDIR"] = temporary;
after(() => rmSync(temporary, { recursive: true, force: true }));

const options = { skip: withoutSandbox };

/** Lists our temporary directory, except for the workspaces of tests. */
function left(): string[] {
  return readdirSync(temporary).filter((name) => !name.startsWith("test-agent-jobs-"));
}

const background: Script = ({ toolResults }) =>
  toolResults.length > 0
    ? { text: "Started." }
    : {
        toolCalls: [
          bash("sleep 301", { mode: "async" }),
          bash("sleep 302", { mode: "async", detach: true }),
          bash("nohup sleep 303 >/dev/null 2>&1 & echo $!"),
          bash("setsid sh -c 'trap \"\" TERM; sleep 304' >/dev/null 2>&1 & echo $!"),
        ],
      };

/** Processes that a command starts outlive it, and the runtime, too. */
const permissions = { preset: "workspace", sandbox: "off" } as const;

const marked = ({ id }: Session) => processesMarked("COPILOT_AGENT_SESSION_ID", id);

test("close() ends every process that the session left, also after the runtime's death, and no other", async (t) => {
  const rig = await makeRig(t, (request) =>
    request.prompt === "hang" ? { hang: "before" } : background(request),
  );
  const session = await rig.open({ permissions });
  const other = await rig.open({ permissions });
  const options = { idleMs: 8_000 };
  await Promise.all([turn(session, "Go", options), turn(other, "Go", options)]);
  assert.notDeepEqual(await marked(session), []);
  // The tasks that the turn canceled may take a moment to end; these three are none of the runtime's tasks.
  await until(async () => (await marked(other)).length === 3, "the end of the canceled tasks");
  const others = await marked(other);
  await session.close();
  assert.deepEqual(await marked(session), []);
  assert.ok(others.every(isRunning), "close() ended a process of another session");
  const hanging = turn(other, "hang");
  await until(() => rig.server.requests.some(({ prompt }) => prompt === "hang"), "the request");
  signal(rig.sessions.runtimePids, "SIGKILL");
  assert.equal(crashOf(await hanging).cause, "runtime-died");
  await other.close();
  assert.deepEqual(await marked(other), []);
});

test("after close() and stop() no file is left, whatever the session did", async (t) => {
  const rig = await makeRig(t, ({ toolResults }) =>
    toolResults.length > 0
      ? { text: "Done." }
      : {
          toolCalls: [
            // More than the runtime keeps in memory: it goes to a file.
            bash("seq 1 100000"),
            bash("mktemp -d > /dev/null; pwd"),
          ],
        },
  );
  const session = await rig.open({ permissions: "workspace" });
  completed(await turn(session, "Go"));
  assert.equal(left().filter((name) => name.startsWith("agent-jobs-")).length, 1);
  await session.close();
  await rig.sessions.stop();
  assert.deepEqual(left(), []);
});

/** The folders that the running runtime keeps for its sessions. */
function stored(): string[] {
  return left()
    .map((name) => join(temporary, name, "runtime-1", "home", "session-state"))
    .flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []));
}

test("a closed session leaves no file while the runtime goes on", async (t) => {
  const rig = await makeRig(t, () => ({ text: "ok" }));
  const sessions = await Promise.all([rig.open(), rig.open(), rig.open()]);
  for (const session of sessions) completed(await turn(session, "Go"));
  assert.deepEqual(stored().toSorted(), sessions.map(({ id }) => id).toSorted());
  await sessions[0]?.close();
  await sessions[1]?.close();
  assert.deepEqual(stored(), [sessions[2]?.id]);
  await sessions[2]?.close();
  assert.deepEqual(stored(), []);
});

test("a cancel at any moment of opening a session leaves nothing of it", async (t) => {
  const rig = await makeRig(t, () => ({ text: "ok" }));
  await (await rig.open()).close();
  const kinds = await Promise.all(
    Array.from({ length: 24 }, async (_, i) => {
      const cancel = new AbortController();
      setTimeout(() => cancel.abort(), i * 4);
      const opened = await rig.attempt({ signal: cancel.signal });
      if (opened.kind === "opened") await opened.session.close();
      return opened.kind === "opened" ? "opened" : opened.crash.cause;
    }),
  );
  assert.ok(kinds.includes("aborted"));
  for (const kind of kinds) assert.match(kind, /^(?:opened|aborted)$/);
  await until(() => stored().length === 0, `late sessions are ended: ${stored().join()}`);
});

for (const [how, stop] of [
  ["stop()", (rig) => rig.sessions.stop()],
  ["kill()", (rig) => rig.sessions.kill()],
] as const satisfies readonly (readonly [string, (rig: Rig) => unknown])[]) {
  test(`${how} without close() ends what the session started, also what has left its process group`, async (t) => {
    const rig = await makeRig(t, background);
    const session = await rig.open({ permissions });
    await turn(session, "Go", { idleMs: 8_000 });
    assert.notDeepEqual(await marked(session), []);
    await stop(rig);
    await until(async () => (await marked(session)).length === 0, "their end");
    await until(() => left().length === 0, `the end of ${left().join()}`);
  });
}

for (const [how, end] of [
  ["close()", (_, session) => session.close()],
  ["the end of the runtime", ({ sessions: { runtimePids } }) => signal(runtimePids, "SIGKILL")],
] as const satisfies readonly (readonly [string, (rig: Rig, session: Session) => unknown])[]) {
  test(`${how} ends a command in its sandbox, with all that it has started`, options, async (t) => {
    const command =
      "(setsid sh -c 'trap \"\" TERM; sleep 305; :' &); nohup sleep 306 & touch begun; sleep 307";
    const rig = await makeRig(t, () => ({ toolCalls: [bash(command)] }));
    const session = await rig.open({ permissions: { preset: "workspace", sandbox: "required" } });
    const running = turn(session, "Go");
    const begun = join(rig.workspace.path, "begun");
    await until(() => existsSync(begun), "the command");
    const sleeping = async (): Promise<number> =>
      (await marked(session)).filter((pid) => commandOf(pid).startsWith("sleep ")).length;
    await until(async () => (await sleeping()) === 3, "its processes, as the machine sees them");
    await end(rig, session);
    await until(async () => (await sleeping()) === 0, "their end");
    // Otherwise the turn would go on until its time limit: the end of all runtimes is no crash.
    await session.close();
    await running;
  });
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) process.kill(pid, name);
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
  } catch {
    return "";
  }
}
