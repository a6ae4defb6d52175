/** Needs the registry: the one test that downloads the runtime itself. */
import assert from "node:assert/strict";
import { readlink } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { runtimeHashes } from "../../src/action/runtime-hashes.ts";
import { ensureRuntime } from "../../src/action/runtime.ts";
import { platformName } from "../../src/sessions/runtime.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { completed, makeRig, turn } from "../sessions/rig.ts";

it(
  "installs the runtime from the registry into an empty tool cache, and a session runs on it",
  {
    timeout: 240_000,
    skip: platformName() in runtimeHashes ? false : "no hash is committed for this platform",
  },
  async (t) => {
    const { path } = await makeWorkspace(t);
    const log: string[] = [];
    const runtimePath = await ensureRuntime({
      // A cache of npm's own, so that the package really comes over the network.
      environment: {
        ...process.env,
        COPILOT_CLI_PATH: undefined,
        npm_config_cache: join(path, "npm"),
      },
      toolCacheDirectory: join(path, "tools"),
      temporaryDirectory: join(path, "temporary"),
      searchFrom: path,
      log: (line) => log.push(line),
    });
    assert.ok(runtimePath.startsWith(join(path, "tools")), runtimePath);
    assert.match(log.join("\n"), /Downloaded \d\d\.\d MB in [\d.]+ s; the SHA-512 is as expected/);
    t.diagnostic(log.at(-1) ?? "");

    const rig = await makeRig(t, () => ({ text: "Hello from the model." }), { runtimePath });
    const outcome = completed(await turn(await rig.open(), "Say hello."));
    assert.equal(outcome.text, "Hello from the model.");
    const [pid] = rig.sessions.runtimePids;
    assert.equal(await readlink(`/proc/${pid}/exe`).catch(() => runtimePath), runtimePath);
  },
);
