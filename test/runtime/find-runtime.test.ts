import assert from "node:assert/strict";
import { chmod, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { runtimeVersion } from "../../src/generated/runtime-hashes.ts";
import { findRuntime, platformName } from "../../src/runtime/find-runtime.ts";
import { makeWorkspace } from "../rig/workspace.ts";

describe("finding the runtime", () => {
  it("takes the option first, then COPILOT_CLI_PATH, then the package of the platform", async (t) => {
    const workspace = await makeWorkspace(t);
    const { path } = workspace;
    for (const name of ["one", "two"])
      await chmod(await workspace.write(name, "#!/bin/sh\n"), 0o755);
    const environment = { COPILOT_CLI_PATH: join(path, "two") };
    assert.equal(findRuntime({ runtimePath: join(path, "one"), environment }), join(path, "one"));
    assert.equal(findRuntime({ environment }), join(path, "two"));
    assert.match(findRuntime({ environment: { COPILOT_CLI_PATH: "" } }), /copilot-runtime/);
    assert.ok(findRuntime({ environment: {} }).includes(`copilot-sdk-${platformName()}`));
  });

  it("says what is wrong with a path, and the ways to fix it", async (t) => {
    const workspace = await makeWorkspace(t);
    const { path } = workspace;
    await workspace.write("plain", "text");
    await workspace.write("empty", "");
    await symlink(join(path, "nowhere"), join(path, "dangling"));
    const cases = [
      ["missing", /file doesn't exist/],
      ["dangling", /file doesn't exist/],
      [".", /not the runtime's executable/],
      ["empty", /not the runtime's executable/],
      ["plain", /not executable/],
    ] as const;
    for (const [name, reason] of cases) {
      const wrong = join(path, name);
      assert.throws(
        () => findRuntime({ runtimePath: wrong, pathOption: "--runtime-path", environment: {} }),
        (error: unknown) => {
          assert.ok(error instanceof Error);
          assert.match(error.message, reason);
          assert.match(error.message, /npm ci.*--runtime-path.*COPILOT_CLI_PATH/);
          assert.ok(error.message.includes(path));
          return true;
        },
      );
    }
    assert.throws(
      () => findRuntime({ environment: { COPILOT_CLI_PATH: "/no/such" } }),
      /^RuntimeNotFoundError: COPILOT_CLI_PATH leads to \/no\/such/,
    );
  });

  it("prefers the package of our own version, and takes another one only where none can be installed", async (t) => {
    const workspace = await makeWorkspace(t);
    const platform = "linux-x64";
    const place = async (folder: string, version: string): Promise<string> => {
      const root = join(folder, "node_modules/@github", `copilot-sdk-${platform}`);
      await workspace.write(join(root, "package.json"), JSON.stringify({ version }));
      const path = join(root, "prebuilds", platform, "copilot-runtime");
      await chmod(await workspace.write(path, "#!/bin/sh\n"), 0o755);
      return join(workspace.path, path);
    };
    const other = await place("a/b", "0.0.1");
    const search = { environment: {}, platform, searchFrom: join(workspace.path, "a/b/dist") };
    assert.equal(findRuntime(search), other);
    assert.throws(
      () => findRuntime({ ...search, exactVersion: true }),
      /is not installed .*or give its path with `runtimePath` or .*COPILOT_CLI_PATH/,
    );
    const ours = await place("a", runtimeVersion);
    assert.equal(findRuntime(search), ours);
    assert.equal(findRuntime({ ...search, exactVersion: true }), ours);
    assert.equal(findRuntime({ ...search, distrusted: join(workspace.path, "a/b") }), ours);
  });
});
