/** The bundle as a user gets it: `dist/action` alone, in an empty folder far from any `node_modules`. */
import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { runtimeHashes } from "../../src/generated/runtime-hashes.ts";
import { platformName } from "../../src/runtime/find-runtime.ts";
import { useActionBundle } from "../rig/bundle.ts";
import { startGithubServer } from "../rig/github-server.ts";
import { runPost, runBundledStep } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { files, inputs } from "./rig.ts";

const MAX_BYTES = 4 * 1024 * 1024;

describe("the bundle of the action", { timeout: 300_000 }, () => {
  const bundle = useActionBundle();

  it("is smaller than 4 MB, and does not load an HTTP client with every start", async () => {
    const names = await readdir(bundle.dist, { recursive: true });
    const sizes = await Promise.all(
      names.map(async (name) => {
        const found = await stat(join(bundle.dist, name));
        return found.isFile() ? found.size : 0;
      }),
    );
    const size = sizes.reduce((sum, one) => sum + one, 0);
    assert.ok(size > 500_000 && size < MAX_BYTES, `${size} bytes`);
    for (const name of ["index.js", "post/index.js", "licenses.txt"]) {
      assert.ok(names.includes(name), name);
    }
    const loaded = names.filter((name) => name.endsWith(".js") && !name.startsWith("github-"));
    assert.ok(loaded.length > 3 && loaded.length < names.length - 3, names.join(", "));
    for (const name of loaded) {
      assert.doesNotMatch(await readFile(join(bundle.dist, name), "utf8"), /undici/, name);
    }
  });

  it(
    "installs the runtime into an empty tool cache, runs a job with it, asks GitHub, and cleans up after it",
    { skip: platformName() in runtimeHashes ? false : "no hash is committed for this platform" },
    async (t) => {
      const workspace = await makeWorkspace(t, files);
      const api = await startGithubServer(t, { permissions: { maintainer: "write" } });
      const result = await runBundledStep(t, {
        workspace: workspace.path,
        event: "pull-request",
        apiUrl: api.url,
        env: {
          RUNNER_TOOL_CACHE: join(bundle.folder, "tools"),
          COPILOT_CLI_PATH: "",
          // A cache of npm's own, so that the package really comes over the network.
          npm_config_cache: join(bundle.folder, "npm"),
        },
        inputs: { ...inputs, "github-token": "ghs_0123456789abcdef" },
        main: join(bundle.dist, "index.js"),
      });
      assert.equal(result.code, 0, result.raw);
      assert.match(result.log, /Installed in [\d.]+ s; npm has verified the SHA-512/);
      assert.equal(result.outputs["result"], "success");
      assert.equal(result.outputs["reported-document"], "docs/greeting.md");
      assert.match(result.summary, /```mermaid/);
      assert.ok(result.commands.some(({ name }) => name === "notice"));
      assert.equal(api.requests.length, 1);
      const main = join(bundle.dist, "post", "index.js");
      const post = await runPost(workspace.path, result.state, main);
      assert.equal(post.code, 0, post.raw);
      assert.match(post.log, /The run left no processes\./);
    },
  );
});
