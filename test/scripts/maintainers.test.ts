/**
 * The workflows of the maintainers, played with the real scripts, git and npm on a small project. What can't be
 * done here (GitHub's command line, publishing) is noted down by a program of the same name.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { workflowOf } from "../recipes/pages.ts";
import { play, type PlayedJob, type World } from "../recipes/play.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { makeProject, packages, platforms, sdk, version } from "./project.ts";
import { startRegistry } from "./registry.ts";

const hash = `sha512-${"A".repeat(86)}==`;
const all = Object.fromEntries(platforms.map((platform) => [platform, hash]));

interface Setting {
  readonly ref: string;
  readonly event: string;
  readonly payload?: object;
  readonly headRef?: string;
  /** Programs to note down, beside `gh`: name → what it prints for arguments that contain the key. */
  readonly answers?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly env?: Readonly<Record<string, string>>;
}

interface Result {
  readonly jobs: Readonly<Record<string, PlayedJob>>;
  /** Every call, as its words with blanks between them. */
  readonly calls: readonly string[];
  readonly server: Workspace;
  readonly log: string;
}

async function playOn(
  test: TestContext,
  workflow: string,
  project: Workspace,
  { ref, event, payload = {}, headRef, answers = {}, env = {} }: Setting,
): Promise<Result> {
  const server = await makeWorkspace(test);
  await promisify(execFile)("git", ["clone", "--quiet", "--mirror", project.path, server.path]);
  await server.git("config", "uploadpack.allowAnySHA1InWant", "true");
  const programs = await makeWorkspace(test);
  const noted: NonNullable<Setting["answers"]> = { gh: {}, ...answers };
  for (const [name, texts] of Object.entries(noted)) {
    const cases = Object.entries(texts).map(
      ([part, text]) => `*${JSON.stringify(part)}*) ${text} ;;`,
    );
    const lines = [
      "#!/bin/bash",
      `echo "${name} $*" >> ${JSON.stringify(join(programs.path, "calls"))}`,
      `case "$*" in ${cases.join(" ")} *) ;; esac`,
    ];
    await writeFile(join(programs.path, name), lines.join("\n"));
    await chmod(join(programs.path, name), 0o755);
  }
  await programs.write("calls", "");
  const sha = (await project.git("rev-parse", ref)).trim();
  const { PATH = "" } = process.env;
  const world: World = {
    event,
    actor: "maintainer",
    payload,
    url: pathToFileURL(server.path).href,
    ref,
    sha,
    ...(headRef === undefined ? {} : { headRef }),
    artifacts: join(programs.path, "artifacts"),
    apiUrl: "http://127.0.0.1:9",
    inputs: {},
    env: { PATH: `${programs.path}:${PATH}`, ...env },
  };
  const jobs = await play(test, workflowOf(workflow), world);
  const calls = (await readFile(join(programs.path, "calls"), "utf8")).trim().split("\n");
  const log = Object.values(jobs)
    .map((job) => job.log)
    .join("\n");
  return { jobs, calls: calls.filter((call) => call !== ""), server, log };
}

const resultsOf = ({ jobs }: Result): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(jobs).map(([id, { result }]) => [id, result]));

describe("runtime.yml", { timeout: 300_000 }, () => {
  it("started by hand, proposes the hashes of every platform for the branch", async (t) => {
    const registry = await startRegistry(t, packages);
    const project = await makeProject(t, { "linux-x64": hash, "win32-x64": hash });
    const env = {
      npm_config_registry: registry.url,
      npm_config_cache: (await makeWorkspace(t)).path,
    };
    const setting = { ref: "refs/heads/main", event: "workflow_dispatch", env };
    const result = await playOn(t, "runtime.yml", project, setting);
    assert.deepEqual(resultsOf(result), { complete: "success", propose: "success" }, result.log);
    const branch = "runtime-hashes/main";
    const changed = await result.server.git("diff", "--name-only", `main...${branch}`);
    assert.deepEqual(changed.trim().split("\n"), ["dist/index.js", "package-lock.json"]);
    const lock = await result.server.git("show", `${branch}:package-lock.json`);
    assert.equal(lock.match(/"integrity": "sha512-/g)?.length, platforms.length + 1);
    assert.ok(lock.includes(hash));
    const integrity = registry.integrities.get(`${sdk}-darwin-arm64@${version}`);
    assert.ok(lock.includes(`"integrity": "${integrity}"`), lock);
    const [, listed = "", created = ""] = result.calls;
    assert.match(listed, /^gh pr list .*--base main --head runtime-hashes\/main /);
    assert.match(created, /^gh pr create --base main --head runtime-hashes\/main --title Complete/);
    assert.equal(result.calls.length, 3);
  });

  it("proposes to Dependabot's branch, updates a proposal that is open, and then has nothing to do", async (t) => {
    const project = await makeProject(t, {});
    await project.git("switch", "--quiet", "--create=dependabot/npm/sdk-9.9.9");
    const payload = async (): Promise<object> => ({
      pull_request: {
        user: { login: "dependabot[bot]" },
        head: { sha: (await project.git("rev-parse", "HEAD")).trim() },
      },
    });
    // Repeats the test above without the real one.
    const npm = {
      "run lockfile": "node scripts/complete-lockfile.mjs --hashes",
      "run bundle": "cp package-lock.json dist/index.js",
      view: `echo '"${hash}"'`,
    };
    const setting = async (): Promise<Setting> => ({
      ref: "refs/heads/main",
      event: "pull_request",
      payload: await payload(),
      headRef: "dependabot/npm/sdk-9.9.9",
      answers: { gh: { "pr list": "echo 12" }, npm },
    });
    const first = await playOn(t, "runtime.yml", project, await setting());
    assert.deepEqual(resultsOf(first), { complete: "success", propose: "success" }, first.log);
    assert.ok(!first.calls.some((call) => call.includes("pr create")), first.calls.join("\n"));
    const branch = "runtime-hashes/dependabot/npm/sdk-9.9.9";
    await project.git("fetch", "--quiet", first.server.path, branch);
    await project.git("merge", "--quiet", "--ff-only", "FETCH_HEAD");
    const second = await playOn(t, "runtime.yml", project, await setting());
    assert.deepEqual(resultsOf(second), { complete: "success", propose: "skipped" }, second.log);
  });

  it("does nothing for anybody else's pull request", async (t) => {
    const project = await makeProject(t, {});
    const result = await playOn(t, "runtime.yml", project, {
      ref: "refs/heads/main",
      event: "pull_request",
      payload: { pull_request: { user: { login: "somebody" }, head: { sha: "0".repeat(40) } } },
    });
    assert.deepEqual(resultsOf(result), { complete: "skipped", propose: "skipped" });
  });
});

describe("release.yml", { timeout: 300_000 }, () => {
  /** A project with a tag on main, whose checks are a script that says so. */
  async function released(
    test: TestContext,
    hashes: Readonly<Record<string, string>> = all,
  ): Promise<Workspace> {
    const project = await makeProject(test, hashes, { ".ci/run": "#!/bin/sh\necho checked\n" });
    await chmod(join(project.path, ".ci/run"), 0o755);
    await project.git("commit", "--quiet", "--all", "--message=Release");
    await project.git("tag", "v1.2.3");
    return project;
  }

  const answers = (tags: string, hasMajor: boolean): NonNullable<Setting["answers"]> => ({
    npm: {},
    gh: {
      "matching-refs": `printf '${tags}'`,
      "git/ref/tags/": hasMajor ? "exit 0" : "exit 1",
    },
  });
  const pushed: Setting = { ref: "refs/tags/v1.2.3", event: "push" };

  it("publishes a checked tag to npm with provenance, and makes v1 with the first release", async (t) => {
    const project = await released(t);
    const sha = (await project.git("rev-parse", "HEAD")).trim();
    const result = await playOn(t, "release.yml", project, {
      ...pushed,
      answers: answers("refs/tags/v1.2.3\\n", false),
    });
    assert.deepEqual(
      resultsOf(result),
      { verify: "success", npm: "success", release: "success" },
      result.log,
    );
    assert.match(result.log, /Version 1\.2\.3 can be released\.\n[^]*checked/);
    assert.deepEqual(result.calls, [
      "npm ci --ignore-scripts",
      "npm publish --provenance --access public",
      "gh release create v1.2.3 --verify-tag --generate-notes --title v1.2.3",
      "gh api repos/octo/shop/git/matching-refs/tags/v1. --paginate --jq .[].ref",
      "gh api repos/octo/shop/git/ref/tags/v1 --silent",
      `gh api --method POST repos/octo/shop/git/refs -f ref=refs/tags/v1 -f sha=${sha} --silent`,
    ]);
  });

  it("moves v1 to a newer version, and leaves it where it is for an older one", async (t) => {
    const project = await released(t);
    const sha = (await project.git("rev-parse", "HEAD")).trim();
    const newer = await playOn(t, "release.yml", project, {
      ...pushed,
      answers: answers("refs/tags/v1.2.2\\nrefs/tags/v1.2.3\\n", true),
    });
    assert.equal(
      newer.calls.at(-1),
      `gh api --method PATCH repos/octo/shop/git/refs/tags/v1 -f sha=${sha} -F force=true --silent`,
    );
    const older = await playOn(t, "release.yml", project, {
      ...pushed,
      answers: answers("refs/tags/v1.2.3\\nrefs/tags/v1.10.0\\n", true),
    });
    assert.equal(older.jobs["release"]?.result, "success");
    assert.match(older.calls.at(-1) ?? "", /matching-refs/);
    assert.match(older.log, /::notice::v1 stays where it is: v1\.10\.0 is newer than v1\.2\.3\./);
  });

  it("publishes nothing while a platform lacks its hash", async (t) => {
    const project = await released(t, { "linux-x64": hash });
    const result = await playOn(t, "release.yml", project, {
      ...pushed,
      answers: answers("", false),
    });
    const skipped = { verify: "failure", npm: "skipped", release: "skipped" };
    assert.deepEqual(resultsOf(result), skipped);
    assert.deepEqual(result.calls, []);
  });

  it("publishes nothing that is not on main", async (t) => {
    const project = await released(t);
    await project.git("switch", "--quiet", "--create=aside");
    await project.git("commit", "--quiet", "--allow-empty", "--message=Aside");
    await project.git("tag", "--force", "v1.2.3");
    const result = await playOn(t, "release.yml", project, {
      ...pushed,
      answers: answers("", false),
    });
    assert.equal(result.jobs["verify"]?.result, "failure");
    assert.deepEqual(result.calls, []);
  });
});
