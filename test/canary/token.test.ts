/**
 * A GitHub token pays for the models: where it goes. GitHub is a server on loopback, which the real runtime
 * takes for it by a setting that only tests give it: the runtime is started by a script.
 */
import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { findRuntime } from "../../src/runtime/find-runtime.ts";
import { listen } from "../rig/listen.ts";
import { bash, parseRequest, streamedBody, type RecordedRequest } from "../rig/model-server.ts";
import { onlyNightly } from "../rig/nightly.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { installationToken } from "./canaries.ts";
import { runCliWithCanaries, type CanaryRun } from "./rig.ts";

interface Github {
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
}

const model = {
  id: "gpt-5",
  name: "gpt-5",
  object: "model",
  vendor: "test",
  version: "1",
  model_picker_enabled: true,
  preview: false,
  is_chat_default: true,
  capabilities: {
    type: "chat",
    family: "gpt-5",
    object: "model_capabilities",
    tokenizer: "o200k_base",
    limits: {
      max_context_window_tokens: 100_000,
      max_output_tokens: 4_000,
      max_prompt_tokens: 90_000,
    },
    supports: { tool_calls: true, streaming: true },
  },
  supported_endpoints: ["/chat/completions"],
  policy: { state: "enabled" },
};

/** Who the token is of, which models there are, and a model that looks at its surroundings. */
async function startGithub(test: TestContext, command: string): Promise<Github> {
  const requests: RecordedRequest[] = [];
  const server = createServer((incoming, response) => {
    let body = "";
    incoming.on("data", (data: Buffer) => (body += data.toString()));
    incoming.on("end", () => {
      const headers = Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
      );
      const path = incoming.url ?? "";
      const chat = path.endsWith("/chat/completions");
      const request = parseRequest(requests.length, path, headers, chat ? body : "");
      requests.push(request);
      if (chat) {
        response.setHeader("content-type", "text/event-stream");
        response.end(streamedBody("gpt-5", answer(request, command)));
        return;
      }
      const known: Readonly<Record<string, unknown>> = {
        "/models": { data: [model] },
        "/copilot_internal/user": {
          login: "octo",
          copilot_plan: "individual",
          chat_enabled: true,
          endpoints: { api: url },
          quota_snapshots: {},
        },
      };
      response.statusCode = path in known ? 200 : 404;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(known[path] ?? {}));
    });
  });
  const url = await listen(test, server);
  return { url, requests };
}

function answer(request: RecordedRequest, command: string): Parameters<typeof streamedBody>[1] {
  const [found] = request.toolResults;
  if (found === undefined) return { toolCalls: [bash(command)] };
  return request.toolResults.length > 1
    ? { text: found }
    : { toolCalls: [{ name: "job_prepare_document", arguments: { argument: found } }] };
}

const realRuntime = findRuntime({ environment: {} });

/** The runtime as it is, told by its own settings that GitHub is our server. */
async function runtimeFor(test: TestContext, url: string): Promise<string> {
  const { path } = await makeWorkspace(test);
  const script = join(path, "copilot-runtime");
  await writeFile(
    script,
    `#!/bin/sh\nCOPILOT_API_URL=${url} COPILOT_DEBUG_GITHUB_API_URL=${url} exec ${realRuntime} "$@"\n`,
  );
  await chmod(script, 0o755);
  return script;
}

async function runWithToken(
  test: TestContext,
  token: string,
  command: string,
  sandbox: "off" | "required" = "off",
): Promise<{ readonly run: CanaryRun; readonly github: Github; readonly result: string }> {
  const github = await startGithub(test, command);
  const runtime = await runtimeFor(test, github.url);
  const run = await runCliWithCanaries(test, {
    // A sandbox must contain the programs that the script of the runtime starts.
    permissions: {
      preset: "workspace",
      sandbox,
      read: [`${join(dirname(realRuntime), "../..")}/**`],
    },
    env: { COPILOT_GITHUB_TOKEN: token, AGENT_JOBS_PROVIDER_API_KEY: "" },
    access: () => [`--runtime-path=${runtime}`],
    script: () => ({ text: "Nobody should have asked." }),
  });
  assert.equal(run.code, 0, run.stdout + run.stderr);
  assert.equal(run.requests.length, 0);
  const chats = github.requests.filter(({ path }) => path.endsWith("/chat/completions"));
  for (const request of github.requests)
    assert.equal(request.headers["authorization"], `Bearer ${token}`, request.path);
  return { run, github, result: chats.at(-1)?.toolResults[0] ?? "" };
}

/** Nobody may see the token, nor the part of it that the runtime's own filter would leave. */
function assertUnsaid(run: CanaryRun, token: string): void {
  for (const text of [run.stdout, run.stderr, run.journal, run.recording]) {
    for (let at = 0; at + 16 <= token.length; at += 1)
      assert.ok(!text.includes(token.slice(at, at + 16)), text.slice(0, 500));
  }
  assert.deepEqual(run.said, [], "said");
}

describe("the token that pays for the models", { timeout: 300_000 }, () => {
  const look =
    "env; echo ---; tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' ' ' < /proc/$PPID/cmdline";

  it(
    "is not in the shell's environment if it is an installation token, but in the runtime's",
    onlyNightly,
    async (t) => {
      const token = installationToken();
      const { run, result } = await runWithToken(t, token, look);
      const [shell = "", runtime = ""] = result.split("---\n");
      assert.match(shell, /COPILOT_AGENT_SESSION_ID=/);
      assert.doesNotMatch(shell, /COPILOT_GITHUB_TOKEN/);
      // Only a sandbox can guarantee this.
      assert.match(runtime, /COPILOT_GITHUB_TOKEN=/);
      assertUnsaid(run, token);
    },
  );

  it("is nowhere in a sandbox", { skip: withoutSandbox }, async (t) => {
    const token = installationToken();
    const everywhere = "env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'; ls /proc";
    const { run, result } = await runWithToken(t, token, everywhere, "required");
    assert.match(result, /COPILOT_AGENT_SESSION_ID=/);
    assert.doesNotMatch(result, /COPILOT_GITHUB_TOKEN/);
    assert.ok(!result.includes(token));
    assertUnsaid(run, token);
  });

  it(
    "is neither in the shell's environment nor in the runtime's if it is a personal one",
    onlyNightly,
    async (t) => {
      const token = `github_pat_${"11AbCdEfGh0aBcDeFgHiJ_".repeat(4)}`;
      const { run, result } = await runWithToken(t, token, look);
      const [shell = "", runtime = ""] = result.split("---\n");
      assert.match(shell, /COPILOT_AGENT_SESSION_ID=/);
      assert.match(runtime, /AGENT_JOBS_RUN=/);
      assert.doesNotMatch(result, /AUTH_TOKEN|GITHUB_TOKEN|GH_TOKEN/);
      assert.ok(!result.includes(token));
      assertUnsaid(run, token);
    },
  );
});
