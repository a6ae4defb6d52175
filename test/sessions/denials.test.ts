import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { CopilotClient, RuntimeConnection } from "@github/copilot-sdk";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { findRuntime } from "../../src/runtime/find-runtime.ts";
import { adoptSession, type ICopilotSession } from "../../src/sessions/callbacks.ts";
import { startModelServer } from "../rig/model-server.ts";
import { callbackLog, completed, denials, makeRig, turn } from "./rig.ts";

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

  it("are seen in a session of somebody else's client, who decides by themselves", async (t) => {
    const baseDirectory = await mkdtemp(join(tmpdir(), "agent-jobs-test-"));
    const path = join(baseDirectory, "a.txt");
    const server = await startModelServer(({ toolResults }) =>
      toolResults.length === 0
        ? { toolCalls: [{ name: "create", arguments: { path, file_text: "a" } }] }
        : { text: "Done." },
    );
    const client = new CopilotClient({
      mode: "empty",
      connection: RuntimeConnection.forStdio({ path: findRuntime({ environment: process.env }) }),
      baseDirectory,
      useLoggedInUser: false,
      env: { PATH: process.env["PATH"] },
      logLevel: "error",
    });
    t.after(async () => {
      await client.stop();
      await server.close();
      await rm(baseDirectory, { recursive: true, force: true });
    });
    await client.start();
    const rawSection = await client.createSession({
      model: "claude-test",
      provider: { type: "openai", baseUrl: server.baseUrl, apiKey: "k" },
      availableTools: ["builtin:create"],
      onPermissionRequest: () => ({ kind: "reject", feedback: "Not on my machine." }),
    });
    const session = { rawSection, sendRequest: async () => {}, stop: async () => {} };
    const run = await turn(adopt(session), "Write");
    assert.equal(completed(run).text, "Done.");
    assert.deepEqual(denials(run), [
      {
        kind: "permission.denied",
        operation: "write",
        target: path,
        reason: "Not on my machine.",
      },
    ]);
  });
});
