/** `agent-jobs init`. What the templates do is in test/recipes/templates.test.ts. */
import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { factsOf } from "../../src/cli/init.ts";
import { cliExits } from "../rig/cli.ts";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";

describe("agent-jobs init", () => {
  it("overwrites nothing without --force, and never what a link leads to", async (t) => {
    const repository = await makeRepository(t);
    const { path: cwd } = repository;
    await repository.write("own.yml", "mine");
    await repository.write(".github/agent-jobs/triage.rehearsal.yml", "mine");
    await symlink("../../own.yml", join(cwd, ".github/agent-jobs/triage.yml"));
    const refused = await cliExits(2, ["init", "triage"], { cwd });
    assert.match(
      refused.stderr,
      /Nothing was written, because \S+triage\.rehearsal\.yml, \S+triage\.yml would be overwritten\. .*--force/,
    );
    assert.equal(await repository.read(".github/agent-jobs/triage.rehearsal.yml"), "mine");
    await cliExits(0, ["init", "triage", "--force"], { cwd });
    assert.equal(await repository.read("own.yml"), "mine");
    const folder = join(cwd, ".github");
    const again = await cliExits(0, ["init", "triage", "--workflow"], { cwd: folder });
    assert.match(again.stdout, /^wrote {5}\.github\/workflows\/agent-triage\.yml$/m);
    assert.equal(again.stdout.match(/^unchanged /gm)?.length, 2);
    assert.ok(again.stdout.includes(`Next, in ${cwd}:`), again.stdout);
  });

  it("says what is wrong outside of a repository, and with a template that is not there", async (t) => {
    const { path: outside } = await makeWorkspace(t);
    const none = await cliExits(2, ["init"], { cwd: outside });
    assert.match(none.stderr, /not in a git repository\. Create one with git init\./);
    const { path: cwd } = await makeRepository(t);
    const unknown = await cliExits(2, ["init", "revew"], { cwd });
    assert.match(unknown.stderr, /Allowed choices are review, nightly/);
  });

  it("finds the command that tests a repository", async (t) => {
    const script = (test: string): string => JSON.stringify({ scripts: { test } });
    const repositories: readonly [Record<string, string>, string | undefined][] = [
      [{ "README.md": "" }, undefined],
      [{ "package.json": script('echo "Error: no test specified" && exit 1') }, undefined],
      [{ "package.json": "{" }, undefined],
      [{ "package.json": script("vitest") }, "npm test"],
      [{ "package.json": script("vitest"), "pnpm-lock.yaml": "" }, "pnpm test"],
      [{ Makefile: "build:\n", "Cargo.toml": "" }, "cargo test"],
      [{ Makefile: "build:\ntest: build\n", "go.mod": "" }, "make test"],
      [{ "pyproject.toml": "[tool.pytest.ini_options]\n" }, "python -m pytest"],
    ];
    for (const [files, command] of repositories) {
      const { path } = await makeWorkspace(t, files);
      assert.equal((await factsOf(path)).testCommand, command, JSON.stringify(files));
    }
  });

  it("finds the default branch: of the remote, else main or master, else the one that is checked out", async (t) => {
    const { path, git } = await makeRepository(t);
    const branch = async (): Promise<string> => (await factsOf(path)).branch;
    await git("switch", "--quiet", "--create=topic");
    assert.equal(await branch(), "main");
    await git("branch", "--quiet", "--delete", "--force", "main");
    assert.equal(await branch(), "topic");
    await git("update-ref", "refs/remotes/origin/release/2", "HEAD");
    await git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/release/2");
    assert.equal(await branch(), "release/2");
    const { path: empty, git: inEmpty } = await makeWorkspace(t);
    await inEmpty("init", "--quiet", "--initial-branch=trunk");
    assert.equal((await factsOf(empty)).branch, "trunk");
  });
});
