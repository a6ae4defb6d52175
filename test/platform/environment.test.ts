/** What the processes that we start see of the environment. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { childEnvironment } from "../../src/platform/environment.ts";

test("a process that we start sees no token, and nothing that makes programs run others", () => {
  const names = [
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "COPILOT_GITHUB_TOKEN",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "NPM_TOKEN",
    "NODE_OPTIONS",
    "LD_PRELOAD",
    "BASH_ENV",
    "ENV",
    "GIT_SSH_COMMAND",
    "GIT_CONFIG_COUNT",
    "PYTHONSTARTUP",
    "HTTPS_PROXY_PASSWORD",
    "MY_PATH",
    "constructor",
  ];
  const given = { ...Object.fromEntries(names.map((name) => [name, "x"])), LANG: "C", LC_ALL: "C" };
  assert.deepEqual(childEnvironment(given), { LANG: "C", LC_ALL: "C" });
});

test("the address of a proxy is passed on without the name and the password in it", () => {
  for (const [given, seen] of [
    ["http://me:secret@proxy:3128", "http://proxy:3128"],
    ["me:p@ss@proxy:3128/", "proxy:3128/"],
    ["http://proxy:3128/a@b", "http://proxy:3128/a@b"],
  ] as const) {
    for (const name of ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
      assert.deepEqual(childEnvironment({ [name]: given }), { [name]: seen });
  }
  assert.deepEqual(childEnvironment({ NO_PROXY: "a@b" }), { NO_PROXY: "a@b" });
});
