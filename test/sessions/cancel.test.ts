import assert from "node:assert/strict";
import { test } from "node:test";
import type { MessageOptions } from "@github/copilot-sdk";
import { systemClock } from "../../src/platform/system-clock.ts";
import { adoptSession } from "../../src/sessions/callbacks.ts";
import { completed, crashOf, makeRig, sharedRig, turn, until } from "./rig.ts";

test("a cancel during a hang ends the turn as canceled", async (t) => {
  const rig = await sharedRig(t, ({ prompt }) =>
    prompt === "hang" ? { hang: "mid", text: "a b c d e f" } : { text: "ok" },
  );
  const session = await rig.open();
  const cancel = new AbortController();
  const running = turn(session, "hang", { signal: cancel.signal });
  await until(() => rig.server.requests.length > 0, "the request");
  cancel.abort();
  assert.equal((await running).outcome.kind, "canceled");
  // The session is still good for another turn.
  assert.equal(completed(await turn(session, "hello")).text, "ok");
});

test("a cancel before the runtime says that it took up the prompt aborts it, too", async (t) => {
  const rig = await sharedRig(t, ({ prompt }) =>
    prompt === "hang" ? { hang: "before" } : { text: "ok" },
  );
  const callbacks = await rig.lend();
  const session = callbacks.rawSection;
  const send = session.send.bind(session);
  const cancel = new AbortController();
  Object.assign(session, {
    send: async (message: MessageOptions) => {
      const id = await send(message);
      await until(() => cancel.signal.aborted, "the cancel");
      return id;
    },
  });
  const adopted = adoptSession(callbacks, { modelId: "claude-test", clock: systemClock });
  const running = turn(adopted, "hang", { signal: cancel.signal });
  await until(() => rig.server.requests.length > 0, "the request");
  cancel.abort();
  assert.equal((await running).outcome.kind, "canceled");
  assert.equal(completed(await turn(adopted, "hello", { idleMs: 5_000 })).text, "ok");
  await callbacks.stop();
});

test("a runtime that dies just before our own cancel is a cancel, as with Ctrl-C", async (t) => {
  // No long wait ends by itself: the test would not end if somebody waited for a dead runtime.
  const clock = {
    now: () => systemClock.now(),
    sleep: (ms: number, ended?: AbortSignal) =>
      systemClock.sleep(ms < 1_000 ? ms : 2 ** 31 - 1, ended),
  };
  const rig = await makeRig(t, () => ({ hang: "before" }), { clock });
  const session = await rig.open();
  const cancel = new AbortController();
  const running = turn(session, "hang", { signal: cancel.signal });
  await until(() => rig.server.requests.length > 0, "the request");
  for (const pid of rig.sessions.runtimePids) process.kill(pid, "SIGINT");
  setTimeout(() => cancel.abort(), 100);
  const run = await running;
  assert.equal(run.outcome.kind, "canceled");
  await session.close();
});

test("an abort by somebody else is a crash", async (t) => {
  const rig = await sharedRig(t, () => ({ hang: "before" }));
  const callbacks = await rig.lend();
  const adopted = adoptSession(callbacks, { modelId: "claude-test", clock: systemClock });
  const running = turn(adopted, "hang");
  await until(() => rig.server.requests.length > 0, "the request");
  await callbacks.rawSection.abort();
  assert.equal(crashOf(await running).cause, "aborted");
  await callbacks.stop();
});
