/** `agent-jobs init`. What the templates do is in test/recipes/templates.test.ts. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { factsOf } from "../../src/cli/init.ts";
import { cliExits } from "../rig/cli.ts";
import { lintWorkflow } from "../rig/lint-workflow.ts";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";

describe("agent-jobs init", () => {
  it("overwrites nothing without --force, and never what a link leads to", async (t) => {
    const repository = await makeRepository(t);
    const { path: cwd } = repository;
    await repository.write("own.yml", "mine");
    await repository.write(".github/agent-jobs/triage.rehearsal.yml", "mine");
    await symlink("../../own.yml", join(cwd, ".github/agent-jobs/triage.yml"));
    const refused = await cliExits(2, "init triage", { cwd });
    assert.match(
      refused.stderr,
      /Nothing was written, because \S+triage\.rehearsal\.yml, \S+triage\.yml would be overwritten\. .*--force/,
    );
    assert.equal(await repository.read(".github/agent-jobs/triage.rehearsal.yml"), "mine");
    await cliExits(0, "init triage --force", { cwd });
    assert.equal(await repository.read("own.yml"), "mine");
    const folder = join(cwd, ".github");
    const again = await cliExits(0, "init triage --workflow", { cwd: folder });
    assert.match(again.stdout, /^wrote {5}\.github\/workflows\/agent-triage\.yml$/m);
    assert.equal(again.stdout.match(/^unchanged /gm)?.length, 2);
    assert.ok(again.stdout.includes(`Next, in ${cwd}:`), again.stdout);
  });

  it("writes a workflow for models of one's own, without the permission for those of Copilot", async (t) => {
    const repository = await makeRepository(t);
    const cwd = repository.path;
    const server = ["--provider-base-url", "http://127.0.0.1:8080/v1"];
    const alone = await cliExits(2, ["init", "triage", ...server], { cwd });
    assert.match(alone.stderr, /--provider-base-url requires --workflow\./);
    const wrong = ["init", "triage", "--workflow", "--provider-base-url", "models"];
    assert.match((await cliExits(2, wrong, { cwd })).stderr, /--provider-base-url/);
    const { stdout } = await cliExits(0, ["init", "triage", "--workflow", ...server], { cwd });
    const run = "run triage --user-input-file issue.txt";
    assert.ok(
      stdout.includes(
        `  AGENT_JOBS_PROVIDER_API_KEY=… npx agent-jobs ${run} ${server.join(" ")}\n`,
      ),
      stdout,
    );
    const text = await repository.read(".github/workflows/agent-triage.yml");
    assert.doesNotMatch(text, /copilot-requests/);
    assert.deepEqual(await lintWorkflow(text, "agent-triage.yml"), []);
    const { triage } = parse(text).jobs;
    assert.deepEqual(triage.permissions, { contents: "read", issues: "write" });
    const { with: given } = triage.steps.at(-1);
    assert.equal(given["provider-base-url"], "http://127.0.0.1:8080/v1");
    assert.equal(given["provider-api-key"], "${{ secrets.MODELS_KEY }}");
    assert.equal(given.job, "triage");
  });

  it("says what is wrong outside of a repository, and with a template that is not there", async (t) => {
    const { path: outside } = await makeWorkspace(t);
    const none = await cliExits(2, "init", { cwd: outside });
    assert.match(none.stderr, /not in a git repository\. Create one with git init\./);
    const { path: cwd } = await makeRepository(t);
    const unknown = await cliExits(2, "init revew", { cwd });
    assert.match(unknown.stderr, /Allowed choices are review, fix-ci, nightly/);
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
      [{ "tests/test_shop.py": "" }, "python -m pytest"],
      [{ "tests/shop.R": "" }, undefined],
      [{ "uv.lock": 'name = "pytest"\n', "pyproject.toml": "pytest" }, "uv run pytest"],
      [{ "package.json": script("vitest"), "bun.lockb": "" }, "bun run test"],
      // These can't fail.
      [{ "package.json": script(" ") }, undefined],
      [{ "package.json": script("echo no tests yet") }, undefined],
      [{ "package.json": script("exit 0") }, undefined],
      [{ "package.json": script("echo start && vitest") }, "npm test"],
    ];
    for (const [files, command] of repositories) {
      const { path } = await makeWorkspace(t, files);
      assert.equal((await factsOf(path)).testCommand, command, JSON.stringify(files));
    }
  });

  it("finds the workflow that tests pull requests, and names it in that of fix-ci", async (t) => {
    const workflow = (name: string, on: string): string => `${name}on: ${on}\njobs: {}\n`;
    const repositories: readonly [Record<string, string>, string | undefined][] = [
      [{}, undefined],
      [{ "a.yml": "on: [", "agent-review.yml": workflow("", "pull_request") }, undefined],
      [{ "a.yml": workflow("name: Release\n", "push") }, undefined],
      [{ "a.yaml": workflow("", "{ pull_request: {} }") }, ".github/workflows/a.yaml"],
      [
        {
          "a.yml": workflow("name: Preview\n", "pull_request"),
          "b.yml": workflow("name: Unit tests\n", "[push, pull_request]"),
        },
        "Unit tests",
      ],
    ];
    for (const [workflows, checks] of repositories) {
      const files = Object.entries(workflows).map(([name, text]) => [
        `.github/workflows/${name}`,
        text,
      ]);
      const { path } = await makeWorkspace(t, Object.fromEntries(files));
      assert.equal((await factsOf(path)).checks, checks, JSON.stringify(workflows));
    }
    const repository = await makeRepository(t, {
      "package.json": JSON.stringify({ scripts: { test: "vitest" } }),
      ".github/workflows/b.yml": workflow("name: Unit tests\n", "pull_request"),
    });
    const { path: cwd } = repository;
    const { stdout } = await cliExits(0, "init fix-ci --workflow", { cwd });
    assert.doesNotMatch(stdout, /^note/m);
    const text = await repository.read(".github/workflows/agent-fix-ci.yml");
    assert.match(text, /workflows: \["Unit tests"\]/);
    assert.deepEqual(await lintWorkflow(text, "agent-fix-ci.yml"), []);
  });

  it("writes a workflow that installs what the tests need, as the repository is built", async (t) => {
    const vitest = JSON.stringify({
      scripts: { test: "vitest" },
      devDependencies: { vitest: "4" },
    });
    const python =
      /uses: actions\/setup-python@v6\n {8}with: .*\n {6}- run: python -m pip install pytest/;
    const repositories: readonly [Record<string, string>, RegExp][] = [
      [{ "package.json": vitest }, /- run: npm install --no-package-lock\n/],
      [{ "package.json": vitest, "package-lock.json": "{}" }, /- run: npm ci\n/],
      [{ "package.json": vitest, "pnpm-lock.yaml": "" }, /- run: corepack enable && pnpm install/],
      [
        { "requirements.txt": "flask\npytest\n" },
        RegExp(`${python.source} -r requirements\\.txt\\n`),
      ],
      [{ "tests/test_a.py": "" }, RegExp(`${python.source}\\n`)],
      [
        { Makefile: "test:\n", "go.mod": "", "package-lock.json": "" },
        /npm ci\n.*go mod download\n/,
      ],
    ];
    for (const [files, step] of repositories) {
      const repository = await makeRepository(t, files);
      const { path: cwd } = repository;
      await cliExits(0, "init nightly --workflow", { cwd });
      const workflow = await repository.read(".github/workflows/agent-nightly.yml");
      assert.match(workflow, step);
      assert.doesNotMatch(workflow, /Install here|no test command/);
      assert.deepEqual(await lintWorkflow(workflow, "agent-nightly.yml"), []);
    }
  });

  it("writes a nightly job that is red until it has a test command, before any model is asked", async (t) => {
    const repository = await makeRepository(t, { "README.md": "" });
    const { path: cwd } = repository;
    const { stdout } = await cliExits(0, "init nightly --workflow", { cwd });
    assert.match(stdout, /No test command was found\. .* fails until then/);
    const bash = (command: string): number | null =>
      spawnSync("bash", ["-c", command], { cwd, encoding: "utf8" }).status;
    const test = ".github/agent-jobs/test.sh";
    assert.equal(bash(`bash ${test}`), 1);
    const text = await repository.read(".github/workflows/agent-nightly.yml");
    assert.deepEqual(await lintWorkflow(text, "agent-nightly.yml"), []);
    const { jobs } = parse(text);
    const guard = jobs.nightly.steps.find(({ run }: { run?: string }) => run !== undefined).run;
    assert.equal(bash(guard), 1);
    await repository.write(test, "#!/bin/bash\ntrue\n");
    assert.equal(bash(guard), 0);
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
