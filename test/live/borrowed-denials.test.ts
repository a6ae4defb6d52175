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

/** A model that tries it so many times. */
const stubborn =
  (times: number) =>
  ({ toolResults }: { readonly toolResults: readonly string[] }) =>
    toolResults.length >= times
      ? { text: "I give up." }
      : { toolCalls: [{ name: "view", arguments: { path: `/etc/secret-${toolResults.length}` } }] };

for (const [times, outcome] of [
  [1, "taskSucceeded"],
  [3 * DENIALS_IN_A_ROW, "taskFailed"],
] as const) {
  test(`${times} denials in a borrowed session are events and decisions, and the task has ${outcome}`, async (t) => {
    const { host, folder, events } = await makeHost(t, entry, stubborn(times));
    const [session] = await host.helperSessionStart("lent", folder);
    t.after(() => session.stop());
    const { log, callback, ended } = taskLog();
    const crashes: unknown[] = [];
    await host.startTask("write", "", session, true, callback, undefined, folder, (crash) =>
      crashes.push(crash),
    );
    await ended;
    assert.equal(log.at(-1), outcome);
    const count = Math.min(times, DENIALS_IN_A_ROW);
    const activities = events.flatMap((event) =>
      event.type === "activity" && event.activity.kind === "permission.denied"
        ? [`${event.activity.operation} ${event.activity.target}`]
        : [],
    );
    const expected = Array.from({ length: count }, (_, n) => `read /etc/secret-${n}`);
    assert.deepEqual(activities, expected);
    const decisions = log.filter((line) => line.startsWith("[OPERATION] Denied read"));
    assert.equal(decisions.length, count);
    assert.equal(crashes.length, outcome === "taskFailed" ? 1 : 0);
    if (outcome === "taskFailed") {
      assert.ok(log.some((line) => /^\[SESSION CRASHED\].*denied 10 times in a row/.test(line)));
    }
  });
}
