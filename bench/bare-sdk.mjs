// The peer of bench/first-prompt.ts: the least that sends one prompt through the SDK.
import { CopilotClient } from "@github/copilot-sdk";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const baseDirectory = mkdtempSync(join(tmpdir(), "bare-sdk-"));
const client = new CopilotClient({
  mode: "empty",
  useLoggedInUser: false,
  baseDirectory,
  logLevel: "error",
});
await client.start();
const session = await client.createSession({
  model: "bench",
  streaming: true,
  provider: { type: "openai", baseUrl: process.argv[2], apiKey: "bench" },
  availableTools: ["builtin:view"],
  onPermissionRequest: () => ({ kind: "user-not-available" }),
});
const done = new Promise((resolve) => session.on("session.idle", resolve));
await session.send("Say hello");
await done;
await client.stop();
rmSync(baseDirectory, { recursive: true, force: true });
