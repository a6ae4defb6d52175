import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { adoptSession, type ICopilotSession } from "../../src/sessions/callbacks.ts";
import { callbackLog, denials, makeRig, turn } from "./rig.ts";

const adopt = (session: ICopilotSession) =>
  adoptSession(session, { modelId: "claude-test", clock: systemClock });

const positions = (activities: readonly SessionActivity[], ...kinds: readonly string[]) =>
  activities.map(({ kind }) => kind).filter((kind) => kinds.includes(kind));

describe("denials in the stream of a turn", () => {
  it("come between the call and its end, in a session that was lent too", async (t) => {
    const rig = await makeRig(t, (request) =>
      request.prompt === "Write" && request.toolResults.length === 0
        ? { toolCalls: [{ name: "web_fetch", arguments: { url: "http://127.0.0.1:9/" } }] }
        : { text: "Done." },
    );
    const permissions = { preset: "read-only", url: ["http://other.test/*"] } as const;
    const lent = await rig.sessions.startSession({
      modelId: "claude-test",
      workingDirectory: rig.workspace.path,
      permissions,
      callback: callbackLog([]),
    });
    t.after(() => lent.stop());
    const own = await rig.open({ permissions });
    for (const session of [own, adopt(lent)]) {
      const run = await turn(session, "Write");
      const [denial, ...more] = denials(run);
      assert.deepEqual(more, []);
      assert.equal(denial?.operation, "url");
      assert.equal(denial.target, "http://127.0.0.1:9/");
      assert.deepEqual(
        positions(run.activities, "tool.started", "permission.denied", "tool.ended"),
        ["tool.started", "permission.denied", "tool.ended"],
      );
    }
    // A turn that is over hears nothing of the next one.
    const before = await turn(adopt(lent), "Nothing");
    await lent.sendRequest("Write");
    assert.deepEqual(denials(before), []);
  });
});
