/** The bundle as a user gets it: `dist/action` alone, in an empty folder far from any `node_modules`. */
import assert from "node:assert/strict";
import { cp, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { runtimeHashes } from "../../src/generated/runtime-hashes.ts";
import { platformName } from "../../src/runtime/find-runtime.ts";
import { useActionBundle } from "../rig/dist.ts";
import { startGithubServer } from "../rig/github-server.ts";
import { runPost, runBundledStep } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { files, inputs } from "./rig.ts";

const MAX_BYTES = 4 * 1024 * 1024;

describe("the bundle of the action", { timeout: 300_000 }, () => {
  const bundle = useActionBundle();

  it("is smaller than 4 MB, and loads its HTTP client only to ask GitHub something", async (t) => {
    const { path } = await makeWorkspace(t, files);
    const copy = join(path, "dist", "action");
    await cp(join(bundle.folder, "dist"), join(path, "dist"), { recursive: true });
    const names = await readdir(copy, { recursive: true });
    for (const name of ["index.js", "run.js", "rehearse.js", "post.js", "licenses.txt"])
      assert.ok(names.includes(name), name);
    let size = 0;
    const clients: string[] = [];
    for (const name of names) {
      const file = join(copy, name);
      if ((await stat(file)).isDirectory()) continue;
      const text = await readFile(file);
      size += text.length;
      if (!name.endsWith(".js") || !text.includes("undici")) continue;
      clients.push(name);
      await rm(file);
    }
    assert.ok(size > 500_000 && size < MAX_BYTES, `${size} bytes`);
    assert.ok(clients.length > 0 && clients.length < names.length - 5, clients.join());
    const main = join(copy, "rehearse.js");
    const result = await runBundledStep(t, { workspace: path, inputs, main });
    assert.equal(result.outputs["result"], "success", result.raw);
  });

  it(
    "installs the runtime into an empty tool cache, runs a job with it, asks GitHub, and cleans up after it",
    { skip: platformName() in runtimeHashes ? false : "no hash is committed for this platform" },
    async (t) => {
      const workspace = await makeWorkspace(t, files);
      const api = await startGithubServer(t, { permissions: { maintainer: "write" } });
      const result = await runBundledStep(t, {
        workspace: workspace.path,
        event: "issue-comment-maintainer",
        apiUrl: api.url,
        env: {
          RUNNER_TOOL_CACHE: join(bundle.folder, "tools"),
          COPILOT_CLI_PATH: "",
          // A cache of npm's own, so that the package really comes over the network.
          npm_config_cache: join(bundle.folder, "npm"),
        },
        inputs: { ...inputs, "github-token": "ghs_0123456789abcdef" },
        main: join(bundle.dist, "rehearse.js"),
      });
      assert.equal(result.code, 0, result.raw);
      assert.match(result.log, /Installed in [\d.]+ s; npm has verified the SHA-512/);
      assert.equal(result.outputs["result"], "success");
      assert.equal(result.outputs["reported-document"], "docs/greeting.md");
      assert.match(result.summary, /```mermaid/);
      assert.ok(result.commands.some(({ name }) => name === "notice"));
      assert.deepEqual(api.requests, [], "a rehearsal asks GitHub nothing");
      const asked = await runBundledStep(t, {
        workspace: workspace.path,
        event: "issue-comment-stranger",
        apiUrl: api.url,
        inputs: { entry: "entries/hello.yml", "github-token": "ghs_0123456789abcdef" },
        main: join(bundle.dist, "run.js"),
      });
      assert.match(asked.raw, /stranger, who has no write access/);
      assert.ok(api.requests.length > 0);
      const main = join(bundle.dist, "post.js");
      const post = await runPost(workspace.path, result.state, main);
      assert.equal(post.code, 0, post.raw);
      assert.match(post.log, /The run left no processes\./);
    },
  );
});
