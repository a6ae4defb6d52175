/** Nothing is released that works on some platforms only, or under a name that is not its own. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Workspace } from "../rig/workspace.ts";
import { makeProject, packages, platforms, repository, sdk } from "./project.ts";
import { startRegistry } from "./registry.ts";
import { runScript, type Ended } from "./rig.ts";

const hash = `sha512-${"A".repeat(86)}==`;
const all = Object.fromEntries(platforms.map((platform) => [platform, hash]));
const github = {
  GITHUB_ACTIONS: "true",
  GITHUB_REF_TYPE: "tag",
  GITHUB_REF_NAME: "v1.2.3",
  GITHUB_REPOSITORY: repository,
};

const run = async (
  { path }: Workspace,
  name: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> => runScript(join(path, "scripts", name), args, env);

describe("scripts/check-release.mjs", () => {
  it("lets a release go out when everything holds", async (t) => {
    const project = await makeProject(t, all);
    const { code, stdout, stderr } = await run(project, "check-release.mjs", [], github);
    assert.equal(stderr, "");
    assert.equal(code, 0);
    assert.match(stdout, /^Version 1\.2\.3 can be released\.$/m);
  });

  it("refuses while hashes of platforms are missing", async (t) => {
    const project = await makeProject(t, {});
    const { code, stderr } = await run(project, "check-release.mjs", [], github);
    assert.equal(code, 1);
    const problems = platforms.map(
      (platform) =>
        `::error::package-lock.json has no SHA-512 of ${sdk}-${platform}. Run the workflow "Runtime hashes".\n`,
    );
    assert.equal(stderr, problems.join(""));
  });

  it("refuses the owner that stands for one", async (t) => {
    const project = await makeProject(t, all);
    const manifest = await project.read("package.json");
    await project.write("package.json", manifest.replace(repository, "org/shop"));
    const env = { ...github, GITHUB_REPOSITORY: "org/shop" };
    const { code, stderr } = await run(project, "check-release.mjs", [], env);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^::error::package\.json names the repository org\/shop, whose owner is a/,
    );
  });

  it("names everything else that does not hold, at once", async (t) => {
    const project = await makeProject(t, all, {
      "CHANGELOG.md": "## [Unreleased]\n",
      "docs/action.md": "> **Not published yet.** Clone it.\n",
    });
    const lock = await project.read("package-lock.json");
    await project.write("package-lock.json", lock.replaceAll('"1.2.3"', '"1.2.2"'));
    const env = { ...github, GITHUB_REF_NAME: "v1.2.4", GITHUB_REPOSITORY: "somebody/shop" };
    const { code, stderr } = await run(project, "check-release.mjs", [], env);
    assert.equal(code, 1);
    assert.deepEqual(stderr.trim().split("\n"), [
      "::error::The tag is v1.2.4, but package.json has version 1.2.3.",
      "::error::package.json names the repository octo/shop, but this is somebody/shop. docs/internals/releasing.md says how to change it.",
      "::error::package-lock.json has version 1.2.2, not 1.2.3. Run: npm install",
      '::error::docs/action.md says "not published yet". Remove it.',
      '::error::CHANGELOG.md has no section "## [1.2.3]".',
    ]);
  });
});

describe("scripts/complete-lockfile.mjs --hashes", () => {
  it("fails, with their names, if the registry does not have them", async (t) => {
    const registry = await startRegistry(t, packages.slice(0, 3));
    const project = await makeProject(t, { "darwin-arm64": hash, "linux-x64": hash });
    const env = {
      npm_config_registry: registry.url,
      npm_config_cache: join(project.path, "cache"),
    };
    const { code, stderr } = await run(project, "complete-lockfile.mjs", ["--hashes"], env);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /The registry has no SHA-512 of:\n {2}@github\/copilot-sdk-win32-x64@9\.9\.9\n$/,
    );
  });
});
