import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../src/entry/model.ts";
import { DENIALS_IN_A_ROW } from "../../src/engine/limits.ts";
import { makeHost, taskLog } from "../run/host-rig.ts";

const entry: Entry = {
  models: { driving: "driver" },
  tasks: { write: { model: { category: "driving" }, prompt: ["Write it down."] } },
  jobs: {},
};

test("denials in a borrowed session are events and decisions, and too many in a row fail the task", async (t) => {
  const { host, folder, events } = await makeHost(t, entry, ({ toolResults }) => ({
    toolCalls: [{ name: "view", arguments: { path: `/etc/secret-${toolResults.length}` } }],
  }));
  const [session] = await host.helperSessionStart("lent", folder);
  t.after(() => session.stop());
  const { log, callback, ended } = taskLog();
  const crashes: unknown[] = [];
  await host.startTask("write", "", session, true, callback, undefined, folder, (crash) =>
    crashes.push(crash),
  );
  await ended;
  assert.equal(log.at(-1), "taskFailed");
  const activities = events.flatMap((event) =>
    event.type === "activity" && event.activity.kind === "permission.denied"
      ? [`${event.activity.operation} ${event.activity.target}`]
      : [],
  );
  assert.deepEqual(
    activities,
    Array.from({ length: DENIALS_IN_A_ROW }, (_, n) => `read /etc/secret-${n}`),
  );
  const decisions = log.filter((line) => line.startsWith("[OPERATION] Denied read"));
  assert.equal(decisions.length, DENIALS_IN_A_ROW);
  assert.equal(crashes.length, 1);
  assert.ok(log.some((line) => /^\[SESSION CRASHED\].*denied 10 times in a row/.test(line)));
});
