import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DENIALS_IN_A_ROW } from "../../src/engine/limits.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { play } from "../rig/engine.ts";

const denied: SessionActivity = {
  kind: "permission.denied",
  operation: "shell",
  target: "rm -rf /",
  reason: "the permissions are read-only",
};
const done: SessionActivity = { kind: "tool.ended", toolCallId: "1", succeeded: true };
const times = (count: number): SessionActivity[] => Array.from({ length: count }, () => denied);

describe("denials in a row", () => {
  it("end the turn, and the task with advice, without another try", async () => {
    const { outcome, decisions, sessions } = await play({
      tasks: { t: { prompt: "do it" } },
      play: () => ({ acts: times(DENIALS_IN_A_ROW), takes: 60_000 }),
    });
    assert.equal(outcome.kind, "failed");
    assert.equal(sessions.turns.length, 1);
    assert.ok(
      decisions.some((text) => /^\[SESSION CRASHED\].*denied 10 times in a row/.test(text)),
    );
    assert.ok(decisions.some((text) => /Allow in "permissions" what the task needs/.test(text)));
  });

  it("are forgotten after a tool call that succeeded", async () => {
    const few = times(DENIALS_IN_A_ROW - 1);
    const { outcome } = await play({
      tasks: { t: { prompt: "do it" } },
      play: () => ({ acts: [...few, done, ...few] }),
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
  });
});
