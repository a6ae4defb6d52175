/** The other side: the least that does the same work on the SDK alone. */
import { CopilotClient, RuntimeConnection } from "@github/copilot-sdk";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { modelId, printOwnCpu, prompt, workload } from "./workload.ts";

const { tasks, order, baseUrl, folder } = workload();

async function runTask(client: CopilotClient): Promise<void> {
  const session = await client.createSession({
    model: modelId,
    streaming: true,
    provider: { type: "openai", baseUrl, apiKey: "bench" },
    workingDirectory: folder,
    availableTools: ["builtin:view", "builtin:grep", "builtin:rg", "builtin:glob", "custom:*"],
    onPermissionRequest: () => ({ kind: "approve-once" }),
    infiniteSessions: { enabled: false },
    skipCustomInstructions: true,
    enableSessionStore: false,
    enableSkills: false,
  });
  const done = new Promise((resolve) => session.on("session.idle", resolve));
  await session.send({ prompt });
  await done;
  await session.disconnect();
  await client.deleteSession(session.sessionId);
}

printOwnCpu();
const baseDirectory = mkdtempSync(join(tmpdir(), "agent-jobs-bench-bare-"));
const { COPILOT_CLI_PATH: path } = process.env;
const client = new CopilotClient({
  mode: "empty",
  useLoggedInUser: false,
  baseDirectory,
  logLevel: "error",
  ...(path === undefined ? {} : { connection: RuntimeConnection.forStdio({ path }) }),
});
await client.start();
if (order === "Par") await Promise.all(Array.from({ length: tasks }, () => runTask(client)));
else for (let done = 0; done < tasks; done += 1) await runTask(client);
await client.stop();
rmSync(baseDirectory, { recursive: true, force: true });
