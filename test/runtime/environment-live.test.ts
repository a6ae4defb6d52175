import assert from "node:assert/strict";
import { test } from "node:test";
import { completed, makeRig, turn } from "../sessions/rig.ts";

const canary = "CANARY-7f3a";

test("the shell of an agent sees the allow-list of our environment and nothing else", async (t) => {
  const planted = [
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "COPILOT_GITHUB_TOKEN",
    "INPUT_GITHUB_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_URL",
    "AWS_SECRET_ACCESS_KEY",
    "AZURE_CLIENT_SECRET",
    "NPM_TOKEN",
    "NODE_AUTH_TOKEN",
    "AGENT_JOBS_PROVIDER_API_KEY",
    "OPENAI_API_KEY",
    "SSH_AUTH_SOCK",
    "NODE_OPTIONS",
    "BASH_ENV",
    "ENV",
    "LD_PRELOAD",
    "GIT_ASKPASS",
    "ANYTHING_ELSE",
  ];
  const environment = {
    ...process.env,
    ...Object.fromEntries(planted.map((name) => [name, canary])),
    HTTPS_PROXY: `http://user:${canary}@proxy.invalid:8080`,
    NO_PROXY: "127.0.0.1,localhost",
    LC_ALL: "C.UTF-8",
    TZ: "Europe/Berlin",
  };
  const rig = await makeRig(
    t,
    ({ toolResults }) =>
      toolResults.length > 0
        ? { text: "ok" }
        : {
            toolCalls: [
              {
                name: "bash",
                arguments: {
                  // The runtime, which is the shell's parent, must not hold it either.
                  command: "env; echo ---; tr '\\0' '\\n' < /proc/$PPID/environ",
                  description: "d",
                },
              },
            ],
          },
    { environment },
  );
  completed(await turn(await rig.open({ permissions: "workspace" }), "Show the environment"));
  const result = rig.server.requests.at(-1)?.toolResults[0] ?? "";
  assert.match(result, /TZ=Europe\/Berlin/);
  assert.match(result, /---\n/);
  assert.match(result, /HTTPS_PROXY=http:\/\/proxy\.invalid:8080/);
  assert.doesNotMatch(result, new RegExp(canary), result);
  assert.doesNotMatch(
    JSON.stringify(rig.server.requests.map(({ body }) => body)),
    new RegExp(canary),
  );
});
