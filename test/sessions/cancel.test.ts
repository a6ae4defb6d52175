import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/platform/system-clock.ts";
import { processesMarked } from "../../src/platform/processes.ts";
import { adoptSession } from "../../src/sessions/callbacks.ts";
import { callbackLog, completed, crashOf, label, makeRig, turn, until } from "./rig.ts";

test("a cancel during a hang ends the turn as canceled, well within five seconds", async (t) => {
  const rig = await makeRig(t, ({ prompt }) =>
    prompt === "hang" ? { hang: "mid", text: "a b c d e f" } : { text: "ok" },
  );
  const session = await rig.open();
  const cancel = new AbortController();
  const running = turn(session, "hang", { signal: cancel.signal });
  await until(() => rig.server.requests.length > 0, "the request");
  const start = performance.now();
  cancel.abort();
  const run = await running;
  assert.equal(run.outcome.kind, "canceled");
  assert.ok(performance.now() - start < 20_000);
  t.diagnostic(`canceled after ${Math.round(performance.now() - start)} ms`);
  // The session is still good for another turn.
  assert.equal(completed(await turn(session, "hello")).text, "ok");
});

test("a cancel during a tool ends the turn as canceled, and close() ends the tool", async (t) => {
  const rig = await makeRig(t, () => ({
    toolCalls: [
      { name: "bash", arguments: { command: "sleep 61", description: "d" } },
      { name: "bash", arguments: { command: "sleep 62", description: "d", mode: "async" } },
    ],
  }));
  const session = await rig.open({ permissions: "workspace" });
  const cancel = new AbortController();
  const mark = "COPILOT_AGENT_SESSION_ID";
  const running = turn(session, "Go", { signal: cancel.signal });
  await until(async () => (await processesMarked(mark, session.id)).length > 0, "the tool");
  const start = performance.now();
  cancel.abort();
  const run = await running;
  assert.equal(run.outcome.kind, "canceled");
  assert.ok(performance.now() - start < 20_000);
  const started = run.activities.filter(({ kind }) => kind === "tool.started").length;
  const ended = run.activities.filter(({ kind }) => kind === "tool.ended").length;
  assert.equal(started, ended, "every tool that starts also ends");
  assert.equal(run.outcome.toolCalls[0]?.succeeded, false);
  await session.close();
  assert.deepEqual(await processesMarked(mark, session.id), []);
});

test("a session whose signal is aborted is not opened", async (t) => {
  const rig = await makeRig(t, () => ({ text: "ok" }));
  const cancel = new AbortController();
  const request = {
    label: label("m"),
    modelId: "claude-test",
    workingDirectory: rig.workspace.path,
    permissions: "read-only" as const,
  };
  const opening = rig.sessions.factory.open(request, cancel.signal);
  cancel.abort();
  const opened = await opening;
  assert.equal(opened.kind === "crashed" && opened.crash.cause, "aborted");
  const late = await rig.sessions.factory.open(request, cancel.signal);
  assert.equal(late.kind === "crashed" && late.crash.cause, "aborted");
});

for (const signal of ["SIGINT", "SIGKILL"] as const) {
  test(`a runtime that dies just before our own cancel is a cancel, as with Ctrl-C (${signal})`, async (t) => {
    // Every wait takes ten times as long, so that none goes unnoticed.
    const clock = {
      now: () => systemClock.now(),
      sleep: (ms: number, ended?: AbortSignal) => systemClock.sleep(ms * 10, ended),
    };
    const rig = await makeRig(t, () => ({ hang: "before" }), { clock });
    const session = await rig.open();
    const cancel = new AbortController();
    const running = turn(session, "hang", { signal: cancel.signal });
    await until(() => rig.server.requests.length > 0, "the request");
    const start = performance.now();
    for (const pid of rig.sessions.runtimePids) process.kill(pid, signal);
    setTimeout(() => cancel.abort(), 100);
    const run = await running;
    assert.equal(run.outcome.kind, "canceled");
    assert.ok(performance.now() - start < 10_000, "nobody waits for a dead runtime");
    await session.close();
  });
}

test("close() during a turn cancels it", async (t) => {
  const rig = await makeRig(t, () => ({ hang: "before" }));
  const session = await rig.open();
  const running = turn(session, "hang");
  await until(() => rig.server.requests.length > 0, "the request");
  const start = performance.now();
  await session.close();
  assert.equal((await running).outcome.kind, "canceled");
  assert.ok(performance.now() - start < 20_000);
});

test("an abort by somebody else is a crash", async (t) => {
  const rig = await makeRig(t, () => ({ hang: "before" }));
  const callbacks = await rig.sessions.startSession({
    modelId: "claude-test",
    workingDirectory: rig.workspace.path,
    permissions: "read-only",
    callback: callbackLog([]),
  });
  const adopted = adoptSession(callbacks, { modelId: "claude-test", clock: systemClock });
  const running = turn(adopted, "hang");
  await until(() => rig.server.requests.length > 0, "the request");
  await callbacks.rawSection.abort();
  assert.equal(crashOf(await running).cause, "aborted");
  await callbacks.stop();
});
