/** A GitHub account with models of its own, for the real runtime. */
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { findRuntime } from "../../src/runtime/find-runtime.ts";
import { listen } from "./listen.ts";
import { makeWorkspace } from "./workspace.ts";

/** The runtime, with our server for GitHub. `multipliers`: of each model. */
export async function makeAccount(
  t: TestContext,
  multipliers: Readonly<Record<string, number>>,
): Promise<string> {
  const models = Object.entries(multipliers).map(([id, multiplier]) => ({
    id,
    name: id.toUpperCase(),
    model_picker_enabled: true,
    capabilities: { type: "chat", family: id, limits: {}, supports: {} },
    policy: { state: "enabled" },
    billing: { is_premium: multiplier > 0, multiplier },
  }));
  const answers: Readonly<Record<string, unknown>> = {
    "/models": { data: models },
    "/copilot_internal/user": { login: "octo", copilot_plan: "individual", chat_enabled: true },
  };
  const server = createServer(({ url: path = "" }, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answers[path] ?? {}));
  });
  const url = await listen(t, server);
  const { path } = await makeWorkspace(t);
  const runtimePath = join(path, "copilot-runtime");
  const variables = `COPILOT_API_URL=${url} COPILOT_DEBUG_GITHUB_API_URL=${url}`;
  const start = `exec ${findRuntime({ environment: {} })} "$@"`;
  await writeFile(runtimePath, `#!/bin/sh\n${variables} ${start}\n`, { mode: 0o755 });
  return runtimePath;
}
