/** A GitHub account with models of its own, for the real runtime. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { findRuntime } from "../../src/runtime/find-runtime.ts";
import { modelServer, type ModelServer, type Script } from "./model-server.ts";
import { makeWorkspace } from "./workspace.ts";

export interface Account {
  /** The runtime, which takes `server` for GitHub and for Copilot. */
  readonly runtimePath: string;
  readonly server: ModelServer;
}

/** `prices`: of each model, in credits for a million tokens in and out. */
export async function makeAccount(
  t: TestContext,
  prices: Readonly<Record<string, readonly [input: number, output: number]>>,
  script: Script = () => ({ text: "Hello!" }),
): Promise<Account> {
  const models = Object.entries(prices).map(([id, [input, output]]) => ({
    id,
    name: id.toUpperCase(),
    model_picker_enabled: true,
    capabilities: {
      type: "chat",
      family: id,
      limits: { max_prompt_tokens: 90_000, max_context_window_tokens: 100_000 },
      supports: { streaming: true, tool_calls: true },
    },
    policy: { state: "enabled" },
    supported_endpoints: ["/chat/completions"],
    billing: {
      multiplier: 1,
      token_prices: {
        batch_size: 1_000_000,
        input_price: input,
        cache_price: Math.round(input / 10),
        output_price: output,
      },
    },
  }));
  const user = { login: "octo", copilot_plan: "individual", chat_enabled: true };
  const server = await modelServer(
    t,
    (request) => (request.path.endsWith("/chat/completions") ? script(request) : { status: 404 }),
    { models, others: { "/copilot_internal/user": () => user } },
  );
  const url = new URL(server.baseUrl).origin;
  const { path } = await makeWorkspace(t);
  const runtimePath = join(path, "copilot-runtime");
  const variables = `COPILOT_API_URL=${url} COPILOT_DEBUG_GITHUB_API_URL=${url}`;
  const start = `exec ${findRuntime({ environment: {} })} "$@"`;
  await writeFile(runtimePath, `#!/bin/sh\n${variables} ${start}\n`, { mode: 0o755 });
  return { runtimePath, server };
}
