import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, stat, utimes } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { findNpm } from "../../src/runtime/provide-runtime.ts";
import { runtimeHashes, runtimeVersion } from "../../src/generated/runtime-hashes.ts";
import { waitUntilGone } from "../../src/platform/processes.ts";
import { integrityOf, makeRuntimeRig, platform, type RuntimeRig } from "./install-rig.ts";

const run = promisify(execFile);
const inCache = join("agent-jobs-runtime", runtimeVersion, platform);
const executable = join("prebuilds", platform, "copilot-runtime");

async function program(rig: RuntimeRig, name: string, text = "#!/bin/sh\n"): Promise<string> {
  const path = await rig.workspace.write(name, text);
  await chmod(path, 0o755);
  return path;
}

/** The message of the error that says why there is no runtime. */
async function refusal(ensured: Promise<string>, reason: RegExp): Promise<string> {
  const error: unknown = await ensured.then(assert.fail, (error: unknown) => error);
  assert.ok(error instanceof Error && error.name === "RuntimeNotFoundError", String(error));
  assert.match(error.message, reason);
  return error.message;
}

describe("choosing the runtime of the action", () => {
  it("takes the input, then COPILOT_CLI_PATH, then a package, then the tool cache, and runs no npm", async (t) => {
    const rig = await makeRuntimeRig(t);
    await rig.npm("exit 9");
    const place = (name: string): Promise<string> => program(rig, name);
    const cached = await place(join("tools", inCache, executable));
    const root = `action/node_modules/@github/copilot-sdk-${platform}`;
    const packaged = await place(join(root, executable));
    const named = await place("named");
    const variable = await place("variable");
    const environment = { COPILOT_CLI_PATH: variable };
    await rig.workspace.write(join(root, "package.json"), `{ "version": "${runtimeVersion}" }`);
    assert.equal(await rig.ensure({ runtimePath: named, environment }), named);
    assert.equal(await rig.ensure({ runtimePath: "", environment }), variable);
    assert.equal(await rig.ensure(), packaged);
    await rig.workspace.write(join(root, "package.json"), '{ "version": "1.0.13" }');
    assert.equal(await rig.ensure(), cached, "a package of another version is not ours");
    assert.deepEqual(
      rig.log.map((line) => line.replace(/^.*\(/, "(")),
      [
        "(AGENT_JOBS_RUNTIME_PATH).",
        "(COPILOT_CLI_PATH).",
        "(the package next to the action).",
        `(version ${runtimeVersion} in the tool cache).`,
      ],
    );
  });

  it("takes nothing else for a path that was named and is wrong", async (t) => {
    const rig = await makeRuntimeRig(t);
    const missing = join(rig.workspace.path, "missing");
    await refusal(
      rig.ensure({ runtimePath: missing }),
      /^The variable AGENT_JOBS_RUNTIME_PATH leads to .*missing, but the file doesn't exist\./,
    );
    await refusal(
      rig.ensure({ environment: { COPILOT_CLI_PATH: rig.workspace.path } }),
      /^COPILOT_CLI_PATH leads to .*, but that is not the runtime/,
    );
  });

  it("says which platforms it installs on when there is no hash for this one", async (t) => {
    const rig = await makeRuntimeRig(t);
    await refusal(
      rig.ensure({ platform: "plan9-mips" }),
      /there is no package of it for plan9-mips\. Installed by the action on: linux-x64\..*AGENT_JOBS_RUNTIME_PATH.*COPILOT_CLI_PATH/,
    );
  });

  it("never looks into the current directory, which may be somebody else's checkout", async (t) => {
    const rig = await makeRuntimeRig(t);
    await rig.npm("exit 9");
    const root = `checkout/node_modules/@github/copilot-sdk-${platform}`;
    await program(rig, join(root, executable));
    await rig.workspace.write(join(root, "package.json"), `{ "version": "${runtimeVersion}" }`);
    const before = process.cwd();
    process.chdir(join(rig.workspace.path, "checkout"));
    t.after(() => process.chdir(before));
    const searchFrom = join(before, "..");
    await refusal(rig.ensure({ searchFrom }), /npm ended with exit code 9/);
  });
});

describe("a workspace whose files may be a stranger's", () => {
  it("gives no runtime: not from a tool cache in it, nor from a package next to us", async (t) => {
    const rig = await makeRuntimeRig(t);
    const theirs = (name: string): Promise<string> => program(rig, join("checkout", name));
    const checkout = join(rig.workspace.path, "checkout");
    await theirs(join("tools", inCache, executable));
    const root = `node_modules/@github/copilot-sdk-${platform}`;
    const packaged = await theirs(join(root, executable));
    await theirs(join(root, "../../../dist/index.js"));
    await rig.workspace.write(
      join("checkout", root, "package.json"),
      `{ "version": "${runtimeVersion}" }`,
    );
    const PATH = [join(rig.workspace.path, "bin"), process.env["PATH"]].join(delimiter);
    const environment = { PATH, GITHUB_WORKSPACE: checkout };
    const toolCacheDirectory = join(checkout, "tools");
    const ensured = await rig.ensure({ environment, toolCacheDirectory });
    assert.equal(ensured, join(rig.temporary, inCache, executable));
    const searchFrom = join(checkout, "dist");
    const believed = await rig.ensure({ environment, searchFrom });
    assert.equal(believed, packaged);
    const other = await rig.ensure({ environment, searchFrom, distrusted: checkout });
    assert.ok(!other.startsWith(checkout), other);
    const inside = { toolCacheDirectory, temporaryDirectory: join(checkout, "temporary") };
    await refusal(
      rig.ensure({ environment, ...inside }),
      /There is no folder for the Copilot runtime/,
    );
  });

  it("gives no npm and no node, and what is started sees no token", async (t) => {
    const rig = await makeRuntimeRig(t);
    const checkout = join(rig.workspace.path, "checkout");
    const canary = join(rig.workspace.path, "canary");
    for (const name of ["npm", "node", "sh", "env"]) {
      const script = `#!/bin/bash\necho ${name} >> '${canary}'\nexit 9\n`;
      await program(rig, join("checkout/node_modules/.bin", name), script);
    }
    await rig.npm(`env > '${join(rig.workspace.path, "seen")}'; "$NPM" "$@"; node --version`);
    const before = process.cwd();
    process.chdir(checkout);
    t.after(() => process.chdir(before));
    const theirs = [join(checkout, "node_modules/.bin"), "node_modules/.bin", ""];
    const secrets = ["GITHUB_TOKEN", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "MY_OWN"];
    await rig.ensure({
      environment: {
        PATH: [...theirs, join(rig.workspace.path, "bin"), process.env["PATH"]].join(delimiter),
        GITHUB_WORKSPACE: checkout,
        ...Object.fromEntries(secrets.map((name) => [name, "secret-x"])),
        NODE_OPTIONS: `--require=${canary}`,
      },
    });
    await assert.rejects(stat(canary), { code: "ENOENT" });
    const seen = await readFile(join(rig.workspace.path, "seen"), "utf8");
    assert.match(seen, /^PATH=/m);
    assert.doesNotMatch(seen, /secret-x|NODE_OPTIONS/);
  });
});

describe("installing the runtime", () => {
  it("installs it into the tool cache with its executable bits, and finds it there the next time", async (t) => {
    const rig = await makeRuntimeRig(t);
    // Killed installs have left these.
    const [old, recent] = ["old", "new"].map((name) =>
      join(rig.toolCache, inCache, "..", `.installing-${name}`),
    );
    for (const folder of [old, recent]) await mkdir(folder ?? "", { recursive: true });
    const longAgo = new Date(Date.now() - 2 * 3_600_000);
    await utimes(old ?? "", longAgo, longAgo);
    const path = await rig.ensure();
    assert.equal(path, join(rig.toolCache, inCache, executable));
    const rg = join(rig.toolCache, inCache, "ripgrep", "rg");
    // The umask decides what others may do with it.
    for (const file of [path, rg]) assert.equal((await stat(file)).mode & 0o100, 0o100);
    assert.equal(await rig.ensure(), path);
    assert.equal(rig.downloads(), 1);
    assert.deepEqual(
      (await rig.leftovers()).map((name) => name.replace(/^.*\//, "")),
      [".installing-new"],
    );
    assert.match(
      rig.log.join("\n"),
      /installing @github\/copilot-sdk-linux-x64@\d.* with npm\.\nInstalled in [\d.]+ s/,
    );
  });

  it("refuses a package with a wrong SHA-512, and runs nothing of it", async (t) => {
    const rig = await makeRuntimeRig(t);
    const expected = integrityOf(Buffer.from("another package"));
    const message = await refusal(
      rig.ensure({ hashes: { [platform]: expected } }),
      /code EINTEGRITY; .*The configured npm registry doesn't serve the package/,
    );
    assert.ok(message.includes(expected) && message.includes(rig.integrity), message);
    assert.deepEqual(await rig.leftovers(), []);
    await assert.rejects(stat(join(rig.toolCache, inCache)), { code: "ENOENT" });
  });

  it("downloads again when the first download was truncated", async (t) => {
    const rig = await makeRuntimeRig(t);
    rig.answers.push((whole) => whole.subarray(0, 200));
    assert.equal(await rig.ensure(), join(rig.toolCache, inCache, executable));
    assert.equal(rig.downloads(), 2);
  });

  it("prints the error of npm without credentials or commands", async (t) => {
    const rig = await makeRuntimeRig(t);
    await rig.npm(
      "echo 'npm error code ECONNRESET' >&2; " +
        "echo 'npm error https://user:secret@registry.example ::error::x ##[error]y' >&2; exit 1",
    );
    const reason = /exit code 1: code ECONNRESET; https:\/\/registry\.example/;
    const message = await refusal(rig.ensure(), reason);
    assert.match(message, /AGENT_JOBS_RUNTIME_PATH/);
    for (const text of [message, ...rig.log]) assert.doesNotMatch(text, /secret|::|##\[/);
    assert.deepEqual(await rig.leftovers(), []);
    const noNpm = { PATH: "" };
    if (findNpm(noNpm) === undefined)
      await refusal(rig.ensure({ environment: noNpm }), /actions\/setup-node/);
  });

  it("ends a hanging npm, with all it has started, at the time limit", async (t) => {
    const rig = await makeRuntimeRig(t);
    const pids = join(rig.workspace.path, "pids");
    await rig.npm(`sleep 300 & echo "$! $$" >> '${pids}'; wait`);
    const limits = { attempt: 20_000, total: 400, waits: [10, 20] } as const;
    await refusal(rig.ensure({ limits }), /it took longer than 0\.4 s/);
    // On a busy machine it may end before npm has written anything.
    const text = await readFile(pids, "utf8").catch(() => "");
    const started = (text.match(/\d+/g) ?? []).map(Number);
    assert.ok(await waitUntilGone(started, 30_000));
    assert.deepEqual(await rig.leftovers(), []);
  });

  it("stops when the run is canceled", async (t) => {
    const rig = await makeRuntimeRig(t);
    await rig.npm("sleep 300");
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 200);
    await refusal(rig.ensure({ signal: controller.signal }), /it was canceled/);
  });

  it("is safe when several install at once, and mends a broken one", async (t) => {
    const rig = await makeRuntimeRig(t);
    await rig.workspace.write(join("tools", inCache, "half"), "of an install");
    const paths = await Promise.all(Array.from({ length: 2 }, () => rig.ensure()));
    assert.deepEqual([...new Set(paths)], [join(rig.toolCache, inCache, executable)]);
    const { stdout } = await run(paths[0] ?? "");
    assert.equal(stdout, "runtime\n");
    assert.deepEqual(await rig.leftovers(), []);
  });

  it("leaves the installation of another one alone that was complete first", async (t) => {
    const rig = await makeRuntimeRig(t);
    const target = join(rig.toolCache, inCache);
    const theirs = `mkdir -p '${target}' && cp -R node_modules/@github/*/. '${target}'`;
    await rig.npm(`"$NPM" "$@" && ${theirs} && touch '${target}/theirs'`);
    assert.equal(await rig.ensure(), join(target, executable));
    assert.ok((await stat(join(target, "theirs"))).isFile());
    assert.deepEqual(await rig.leftovers(), []);
  });

  it("keeps it in the temporary directory when there is no tool cache that can be written to", async (t) => {
    const rig = await makeRuntimeRig(t);
    const file = await rig.workspace.write("a-file", "");
    const expected = join(rig.temporary, inCache, executable);
    assert.equal(await rig.ensure({ toolCacheDirectory: join(file, "tools") }), expected);
    assert.match(
      rig.warnings.join(),
      /^The tool cache \(RUNNER_TOOL_CACHE\) can't store the Copilot runtime: \/.*a-file.* for this job only\.$/,
    );
    assert.equal(await rig.ensure({ toolCacheDirectory: undefined }), expected);
  });

  it("fails within seconds if the temporary directory can't be made either", async (t) => {
    const rig = await makeRuntimeRig(t);
    const places = { toolCacheDirectory: "/proc/nope", temporaryDirectory: "/proc/nope-either" };
    await refusal(rig.ensure(places), /no folder .*\/proc\/nope.*\/proc\/nope-either/);
    assert.equal(rig.downloads(), 0);
  });
});

describe("the hashes of the runtime", () => {
  it("are what the lock file says, for the version that package.json pins", async () => {
    const root = new URL("../../../", import.meta.url);
    const text = await readFile(new URL("package.json", root), "utf8");
    assert.ok(text.includes(`"@github/copilot-sdk": "${runtimeVersion}"`));
    const lock = await readFile(new URL("package-lock.json", root), "utf8");
    for (const hash of Object.values(runtimeHashes))
      assert.ok(lock.includes(`"integrity": "${hash}"`));
    assert.ok("linux-x64" in runtimeHashes && "linuxmusl-x64" in runtimeHashes);
  });
});
