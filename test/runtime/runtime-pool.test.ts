import assert from "node:assert/strict";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemClock } from "../../src/platform/system-clock.ts";
import { authentication, runtimeEnvironment } from "../../src/runtime/find-runtime.ts";
import { RuntimeProcess } from "../../src/runtime/runtime-process.ts";
import { makeWorkspace } from "../rig/workspace.ts";

describe("the runtime's environment", () => {
  it("is the allow-list, whatever the case, and what we add", () => {
    const source = {
      PATH: "/bin",
      Path: "C:\\bin",
      SystemRoot: "C:\\Windows",
      LC_CTYPE: "C",
      HOME: undefined,
      INPUT_TOKEN: "x",
      PATH_TO_SECRET: "x",
      MY_CI: "x",
      https_proxy: "http://u:p@host:1/",
      HTTP_PROXY: "user:pass@host:1",
      ALL_PROXY: "socks5://user:p@ss:w@host:1",
      NO_PROXY: "a@b.example",
    };
    assert.deepEqual(runtimeEnvironment(source), {
      PATH: "/bin",
      Path: "C:\\bin",
      SystemRoot: "C:\\Windows",
      LC_CTYPE: "C",
      https_proxy: "http://host:1/",
      HTTP_PROXY: "host:1",
      ALL_PROXY: "socks5://host:1",
      NO_PROXY: "a@b.example",
      COPILOT_DISABLE_LOGIN_SHELL_ENV: "1",
    });
  });

  it("carries an installation token, and no other; with a provider none goes anywhere", () => {
    const none = { environment: {}, useLoggedInUser: false };
    const carried = { COPILOT_GITHUB_TOKEN: "ghs_abc.def" };
    for (const [gitHubToken, hasProvider, expected] of [
      ["ghs_abc.def", false, { environment: carried, useLoggedInUser: true }],
      ["github_pat_x", false, { ...none, gitHubToken: "github_pat_x" }],
      ["gho_x", false, { ...none, gitHubToken: "gho_x" }],
      [undefined, false, none],
      ["", false, none],
      ["ghs_abc", true, none],
      ["github_pat_x", true, none],
    ] as const)
      assert.deepEqual(authentication({ gitHubToken, hasProvider }), expected);
  });
});

describe("watching a runtime", () => {
  it("keeps what the runtime writes to its standard error out of ours, and in the message", async (t) => {
    const workspace = await makeWorkspace(t);
    const program = await workspace.write(
      "talkative",
      "#!/bin/sh\necho 'the reason' >&2\nexit 3\n",
    );
    await chmod(program, 0o755);
    const written: string[] = [];
    t.mock.method(process.stderr, "write", (text: unknown) => written.push(String(text)) > 0);
    const runtime = new RuntimeProcess({
      clock: systemClock,
      path: program,
      environment: {},
      authentication: authentication({ hasProvider: true }),
      directory: join(workspace.path, "runtime"),
    });
    await assert.rejects(runtime.start(), /the reason/);
    await systemClock.sleep(50);
    t.mock.restoreAll();
    assert.doesNotMatch(written.join(""), /the reason/);
  });
});
