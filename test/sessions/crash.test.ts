import assert from "node:assert/strict";
import { chmod } from "node:fs/promises";
import { test } from "node:test";
import { crashRemedy, crashStatus } from "../../src/events/crash.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { completed, crashOf, makeRig, sharedRig, skippingClock, turn, until } from "./rig.ts";
import type { Rig } from "./rig.ts";
import type { Reply } from "../rig/model-server.ts";

test("after an error the session is quiet: the next turn sees only its own answer", async (t) => {
  const rig = await sharedRig(t, ({ prompt }) =>
    prompt.startsWith("fail") ? { status: 400 } : { text: `answer to ${prompt}` },
  );
  const session = await rig.open();
  for (let i = 0; i < 3; i += 1) {
    assert.equal(crashStatus(crashOf(await turn(session, `fail ${i}`))), 400);
    assert.equal(completed(await turn(session, `ok ${i}`)).text, `answer to ok ${i}`);
  }
});

/** Waits with a clock that goes faster, so that only what the runtime itself does takes its time. */
async function hurried<T>(clock: ReturnType<typeof skippingClock>, result: Promise<T>): Promise<T> {
  const over = new AbortController();
  const ended = result.finally(() => over.abort());
  while (!over.signal.aborted) {
    clock.skip(500);
    await systemClock.sleep(50);
  }
  return ended;
}

async function killed(rig: Rig): Promise<void> {
  const pids = rig.sessions.runtimePids;
  assert.equal(pids.length, 1);
  for (const pid of pids) process.kill(pid, "SIGKILL");
}

test("a killed runtime crashes every running turn at once, and is replaced once for all", async (t) => {
  const rig = await makeRig(t, ({ prompt }) =>
    prompt === "hang" ? { hang: "mid", text: "a b c d e f g h" } : { text: "ok" },
  );
  const sessions = await Promise.all([rig.open(), rig.open(), rig.open()]);
  const idle = sessions[2];
  const running = sessions.slice(0, 2).map((session) => turn(session, "hang"));
  await until(() => rig.server.requests.length === 2, "both requests");
  const [first] = rig.sessions.runtimePids;
  await killed(rig);
  for (const run of await Promise.all(running)) {
    assert.equal(crashOf(run).cause, "runtime-died");
    assert.match(crashOf(run).message, /SIGKILL/);
    assert.equal(crashRemedy(crashOf(run)).kind, "retry");
  }
  assert.ok(idle !== undefined);
  assert.equal(crashOf(await turn(idle, "hang")).cause, "runtime-died");
  await Promise.all(sessions.map((session) => session.close()));
  const again = await Promise.all([rig.open(), rig.open(), rig.open()]);
  for (const run of await Promise.all(again.map((session) => turn(session, "hello")))) {
    assert.equal(completed(run).text, "ok");
  }
  assert.equal(rig.restarts.length, 1, rig.restarts.join("\n"));
  assert.match(rig.restarts[0] ?? "", /SIGKILL/);
  assert.equal(rig.sessions.runtimePids.length, 1);
  assert.notEqual(rig.sessions.runtimePids[0], first);
  // Sessions that open in the very moment of the death get the new runtime.
  await killed(rig);
  const opened = await Promise.all(
    Array.from({ length: 6 }, async () => {
      for (let tries = 1; ; tries += 1) {
        const result = await rig.attempt();
        if (result.kind === "opened") return result.session;
        assert.equal(result.crash.cause, "runtime-died", result.crash.message);
        assert.ok(tries < 3);
      }
    }),
  );
  for (const session of opened) assert.equal(completed(await turn(session, "hello")).text, "ok");
  assert.equal(rig.restarts.length, 2);
});

test("a hanging model is a crash after the idle limit, also in mid-stream and with keep-alives", async (t) => {
  const rig = await sharedRig(t, ({ prompt }) =>
    prompt === "before"
      ? { hang: "before" }
      : prompt === "mid"
        ? { hang: "mid", text: "a b c d e f" }
        : { hang: "keep-alive" },
  );
  await Promise.all(
    ["before", "mid", "keep-alive"].map(async (prompt) => {
      const session = await rig.open();
      const run = await turn(session, prompt, { idleMs: 700 });
      assert.equal(crashOf(run).cause, "deadline", prompt);
      assert.match(crashOf(run).message, /limits\.idleMinutes/);
      await session.close();
    }),
  );
});

test("a runtime that is stopped in its tracks can't hold a turn, a close or a stop", async (t) => {
  const rig = await makeRig(t, () => ({ hang: "before" }));
  const session = await rig.open();
  const running = turn(session, "Go", { turnMs: 8_000 });
  await until(() => rig.server.requests.length > 0, "the request");
  const pids = [...rig.sessions.runtimePids];
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  const run = await running;
  assert.equal(crashOf(run).cause, "deadline");
  await session.close();
  await rig.sessions.stop();
});

test("a runtime that no longer responds is replaced when a session is closed, once for all", async (t) => {
  const clock = skippingClock();
  const rig = await makeRig(
    t,
    ({ prompt }) => (prompt === "hang" ? { hang: "before" } : { text: "ok" }),
    { clock },
  );
  const [session, other] = await Promise.all([rig.open(), rig.open()]);
  const turnMs = 3_600_000;
  const turns = [
    turn(session, "hang", { turnMs, idleMs: 60_000 }),
    turn(other, "hang", { turnMs, idleMs: turnMs }),
  ];
  await until(() => rig.server.requests.length === 2, "both requests");
  for (const pid of rig.sessions.runtimePids) process.kill(pid, "SIGSTOP");
  clock.skip(60_000);
  const [first, second] = await Promise.all([
    turns[0]?.then(async (run) => {
      await session.close();
      // At once, while the runtime is still being asked whether it lives.
      assert.equal(completed(await turn(await rig.open(), "hello")).text, "ok");
      return run;
    }),
    turns[1] && hurried(clock, turns[1]),
  ]);
  assert.equal(first && crashOf(first).cause, "deadline");
  assert.equal(second && crashOf(second).cause, "runtime-died");
  assert.match(second ? crashOf(second).message : "", /no longer responds/);
  assert.equal(second && crashRemedy(crashOf(second)).kind, "retry-uncounted");
  assert.equal(rig.restarts.length, 1);
});

test("a runtime that is only slow is not ended: its other turns go on", async (t) => {
  const clock = skippingClock();
  let answer: (reply: Reply) => void = () => {};
  const answered = new Promise<Reply>((resolve) => (answer = resolve));
  const rig = await makeRig(t, ({ index }) => (index === 0 ? answered : { text: "ok" }), { clock });
  const [session, other] = await Promise.all([rig.open(), rig.open()]);
  const running = turn(other, "Hello", { turnMs: 3_600_000, idleMs: 3_600_000 });
  await until(() => rig.server.requests.length === 1, "the request");
  const [pid = 0] = rig.sessions.runtimePids;
  process.kill(pid, "SIGSTOP");
  const closing = session.close();
  for (let second = 0; second < 6; second += 1) {
    clock.skip(1_000);
    await systemClock.sleep(50);
  }
  process.kill(pid, "SIGCONT");
  answer({ text: "ok" });
  assert.equal(completed(await running).text, "ok");
  await closing;
  assert.equal(completed(await turn(await rig.open(), "Hello")).text, "ok");
  assert.deepEqual(rig.restarts, []);
  assert.deepEqual(rig.sessions.runtimePids, [pid]);
});

test("a session that can't open says why, and what to do", async (t) => {
  const rig = await makeRig(t, () => ({ text: "" }));
  const gone = await rig.refusal({ workingDirectory: `${rig.workspace.path}/gone` });
  assert.match(gone.message, /working directory .*gone doesn't exist/);
  assert.equal(crashRemedy(gone).kind, "give-up");
  const { PATH, HOME } = process.env;
  const offline = await makeRig(t, () => ({ text: "" }), {
    provider: undefined,
    gitHubToken: "gho_none",
    // Nothing listens there.
    environment: { PATH, HOME, HTTPS_PROXY: "http://127.0.0.1:1" },
  });
  const unreachable = await offline.refusal();
  assert.equal(unreachable.cause, "unreachable");
  assert.equal(crashRemedy(unreachable).kind, "retry");
  assert.match(unreachable.message, /network fetch failed.*the Copilot service/);
  assert.match(crashRemedy(unreachable).advice ?? "", /network, DNS and proxy/);
});

test("a runtime that can't be started is a failed start within the deadline, and is gone then", async (t) => {
  const { workspace } = await makeRig(t, () => ({ text: "" }));
  for (const [body, cause, message] of [
    [undefined, "not-installed", /npm ci.*`runtimePath`/],
    ["#!/bin/sh\necho the reason >&2\nexit 3\n", "start-failed", /exit code 3|the reason/],
    ["no program at all\n", "start-failed", /ENOEXEC|not found|exited|ended/i],
    ["#!/bin/sh\nexec sleep 60\n", "start-failed", /did not start in time/],
  ] as const) {
    const runtimePath = `${workspace.path}/runtime`;
    if (body !== undefined) await chmod(await workspace.write("runtime", body), 0o755);
    // Its time runs a hundred times as fast: that of the deadline is the injected one.
    const hurry = body?.includes("sleep") === true ? 100 : 1;
    const clock = {
      now: () => systemClock.now(),
      sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / hurry, signal),
    };
    const rig = await makeRig(t, () => ({ text: "" }), { runtimePath, clock });
    const crash = await rig.refusal({ permissions: "all" });
    assert.equal(crash.cause, cause, body);
    assert.match(crash.message, message);
    assert.deepEqual(rig.sessions.runtimePids, []);
  }
});

test("a silence after a refusal is blamed on the refusal: the next attempt waits", async (t) => {
  const clock = skippingClock();
  const rig = await makeRig(t, () => ({ status: 429, headers: { "retry-after": "60" } }), {
    clock,
  });
  const running = turn(await rig.open(), "Hello", { turnMs: 600_000, idleMs: 30_000 });
  await until(() => rig.server.requests.length > 0, "the request");
  const run = await hurried(clock, running);
  const crash = crashOf(run);
  assert.equal(crash.cause, "deadline");
  assert.equal(crashStatus(crash), 429);
  assert.equal(crashRemedy(crash).kind, "retry-later");
  assert.ok(run.activities.some((one) => one.kind === "model.failed" && one.statusCode === 429));
});
