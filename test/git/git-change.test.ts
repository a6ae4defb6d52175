import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { ChangeUnknown, changedFilesText, type Change } from "../../src/git/change.ts";
import { changeFromGit, type ChangeRange } from "../../src/git/git-change.ts";
import { processEnvironment } from "../../src/platform/environment.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";

const changeIn = (folder: string, range: ChangeRange = {}): ReturnType<typeof changeFromGit> =>
  changeFromGit({ folder, environment: processEnvironment() }, range);

async function commit(
  workspace: Workspace,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  for (const [name, text] of Object.entries(files)) await workspace.write(name, text);
  await workspace.git("add", "--all");
  await workspace.git("commit", "--quiet", "--allow-empty", "--message=A commit");
  return (await workspace.git("rev-parse", "HEAD")).trim();
}

async function shallowClone(
  test: TestContext,
  from: Workspace,
  depth: number,
  ...more: string[]
): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "test-agent-jobs-"));
  test.after(() => rm(path, { recursive: true, force: true }));
  const args = ["clone", "--quiet", `--depth=${depth}`, ...more, `file://${from.path}`, path];
  await promisify(execFile)("git", args);
  return path;
}

const paths = ({ files }: Change): string[] => files.map(({ path }) => path);
/** Each with its status. */
const facts = ({ files }: Change): string[] => files.map(({ path, status }) => `${path} ${status}`);

describe("the change of a checkout", () => {
  it("is of a branch what it has done since it left its base", async (test) => {
    const workspace = await makeRepository(test, { "a.ts": "one\n", "b.ts": "one\n" });
    const base = (await workspace.git("rev-parse", "HEAD")).trim();
    await workspace.git("checkout", "--quiet", "-b", "work");
    const head = await commit(workspace, { "a.ts": "one\ntwo\n" });
    await workspace.git("checkout", "--quiet", "main");
    await commit(workspace, { "b.ts": "another\n" });
    const change = await changeIn(workspace.path, { base: "main", head: "work" });
    assert.deepEqual([change.base, change.head], [base, head]);
    const file = { path: "a.ts", status: "modified", additions: 1, deletions: 0 };
    assert.deepEqual(change.files, [file]);
    assert.match(change.diff, /^diff --git a\/a\.ts b\/a\.ts\n[^]*\n\+two\n$/);
  });

  it("is of a push what lies between both commits", async (test) => {
    const workspace = await makeRepository(test, { "a.ts": "one\n" });
    const before = await commit(workspace, { "a.ts": "two\n" });
    await workspace.git("reset", "--quiet", "--hard", "HEAD~1");
    const after = await commit(workspace, { "b.ts": "one\n" });
    const last = await commit(workspace, { "b.ts": "two\n" });
    const push = { base: after, head: last, fromMergeBase: false };
    assert.deepEqual(facts(await changeIn(workspace.path, push)), ["b.ts modified"]);
    // After a force push, the commit before it is no part of the branch.
    const range = { base: before, head: after, fromMergeBase: false };
    const change = await changeIn(workspace.path, range);
    assert.deepEqual(facts(change), ["b.ts added"]);
    assert.match(change.notes?.join() ?? "", /force push.* is no ancestor of the head/);
  });

  it("is the last commit by default, and everything where that is the first", async (test) => {
    const workspace = await makeRepository(test, { "a.ts": "one\n" });
    const first = await changeIn(workspace.path);
    assert.equal(first.base, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    assert.deepEqual(facts(first), ["a.ts added"]);
    await commit(workspace, { "b.ts": "one\n" });
    assert.deepEqual(paths(await changeIn(workspace.path)), ["b.ts"]);
  });

  it("is everything in the first commit of a repository with SHA-256, too", async (test) => {
    const workspace = await makeWorkspace(test, { "a.ts": "one\n" });
    await workspace.git("init", "--quiet", "--object-format=sha256");
    await workspace.git("add", "--all");
    await workspace.git("commit", "--quiet", "--message=The first");
    const change = await changeIn(workspace.path);
    assert.match(change.base, /^[0-9a-f]{64}$/);
    assert.deepEqual(paths(change), ["a.ts"]);
    assert.match(change.diff, /\+one/);
  });

  it("knows files that were renamed, deleted, binary, or have any name", async (test) => {
    const long = "a line\n".repeat(30);
    const workspace = await makeRepository(test, {
      "old.ts": long,
      "gone.ts": "nothing like the others\n",
      "é b.ts": "",
    });
    await workspace.git("mv", "old.ts", "new name.ts");
    await workspace.git("rm", "--quiet", "gone.ts");
    await commit(workspace, {
      "logo.bin": "a\0b",
      "two\nlines\tand a tab.ts": "x\n",
      "a -> b": "x\n",
      '"quoted"': "x\n",
      "é b.ts": "x\n",
    });
    const { files, diff } = await changeIn(workspace.path);
    assert.deepEqual(
      changedFilesText(files).split("\n").sort(),
      [
        'added "\\"quoted\\"" +1 -0',
        'added "a -> b" +1 -0',
        "added logo.bin (binary)",
        'added "two\\nlines\\tand a tab.ts" +1 -0',
        "deleted gone.ts +0 -1",
        'modified "é b.ts" +1 -0',
        'renamed old.ts -> "new name.ts" +0 -0',
      ].sort(),
    );
    assert.match(diff, /rename from old\.ts\nrename to new name\.ts/);
  });

  it("knows submodules, and any number of files", async (test) => {
    const workspace = await makeRepository(test);
    const commitOf = (letter: string): string => letter.repeat(40);
    const link = (id: string): Promise<string> =>
      workspace.git("update-index", "--add", "--cacheinfo", `160000,${id},lib`);
    await link(commitOf("a"));
    await workspace.git("commit", "--quiet", "--message=A submodule");
    await mkdir(join(workspace.path, "many"));
    for (let index = 0; index < 1000; index += 1)
      await writeFile(join(workspace.path, `many/${index}.txt`), "x\n");
    await workspace.git("add", "many");
    await link(commitOf("b"));
    await workspace.git("commit", "--quiet", "--message=Many");
    const { files, diff } = await changeIn(workspace.path);
    assert.equal(files.length, 1001);
    const lib = { path: "lib", status: "modified", isSubmodule: true };
    assert.deepEqual(files[0], { ...lib, additions: 1, deletions: 1 });
    assert.match(changedFilesText(files), /^modified lib \(submodule\)\n/);
    assert.match(diff, new RegExp(`\\+Subproject commit ${commitOf("b")}`));
  });

  it("has what was written in the second of the commit, with the same size", async (test) => {
    const workspace = await makeRepository(test);
    await workspace.git("config", "core.trustctime", "false");
    const second = Math.floor(Date.now() / 1000) - 60;
    const file = await workspace.write("a.ts", "one\n");
    await utimes(file, second, second);
    await workspace.git("add", "--all");
    await workspace.git("commit", "--quiet", "--message=A commit");
    await utimes(join(workspace.path, ".git/index"), second, second);
    await workspace.write("a.ts", "two\n");
    await utimes(file, second, second);
    const change = await changeIn(workspace.path, { base: "HEAD", uncommitted: true });
    assert.deepEqual(paths(change), ["a.ts"]);
  });

  it("has uncommitted work only where it is asked for, untracked files included", async (test) => {
    const workspace = await makeRepository(test, { "a.ts": "one\n", ".gitignore": "dist\n" });
    await workspace.write("a.ts", "two\n");
    await workspace.write("b.ts", "new\n");
    await workspace.write("dist/made.js", "ignored\n");
    await workspace.write("sub/c.ts", "new\n");
    const before = await workspace.git("status", "--porcelain");
    const change = await changeIn(join(workspace.path, "sub"), { base: "HEAD", uncommitted: true });
    assert.deepEqual(facts(change), ["a.ts modified", "b.ts added", "sub/c.ts added"]);
    assert.ok(change.files.every(({ additions }) => additions === 1));
    assert.equal(change.uncommitted, true);
    assert.match(change.diff, /\+new/);
    assert.equal(await workspace.git("status", "--porcelain"), before);
    assert.deepEqual((await changeIn(workspace.path, { base: "HEAD" })).files, []);
  });

  it("is unknown where history is missing, and the message says what to fetch", async (test) => {
    const workspace = await makeRepository(test, { "a.ts": "one\n" });
    await commit(workspace, { "a.ts": "two\n" });
    await workspace.git("checkout", "--quiet", "-b", "work");
    for (const text of ["three\n", "four\n", "five\n"]) await commit(workspace, { "a.ts": text });
    await workspace.git("checkout", "--quiet", "main");
    await commit(workspace, { "b.ts": "one\n" });
    const unknown = (pattern: RegExp) => (error: unknown) =>
      error instanceof ChangeUnknown && pattern.test(error.message);
    const one = await shallowClone(test, workspace, 1);
    await assert.rejects(changeIn(one), unknown(/parent of .* Set fetch-depth: 2/));
    await assert.rejects(changeIn(one, { base: "HEAD~3" }), unknown(/shallow: set fetch-depth: 0/));
    const two = await shallowClone(test, workspace, 2, "--no-single-branch");
    assert.deepEqual(paths(await changeIn(two)), ["b.ts"]);
    const branch = { base: "origin/main", head: "origin/work" };
    await assert.rejects(changeIn(two, branch), unknown(/too little history .* fetch-depth: 0/));
    const five = await shallowClone(test, workspace, 5, "--no-single-branch");
    assert.deepEqual(paths(await changeIn(five, branch)), ["a.ts"]);
  });

  it("is unknown where an older commit would pass for the merge base", async (test) => {
    const workspace = await makeRepository(test, { "1.ts": "1\n" });
    const { git } = workspace;
    const merge = (name: string): Promise<string> => git("merge", "--quiet", "--no-ff", name);
    await git("branch", "side");
    await git("branch", "work");
    const base = await commit(workspace, { "2.ts": "2\n" });
    await commit(workspace, { "3.ts": "3\n" });
    await git("checkout", "--quiet", "side");
    await commit(workspace, { "side.ts": "4\n" });
    await git("checkout", "--quiet", "work");
    await commit(workspace, { "work.ts": "5\n" });
    await merge(base);
    await commit(workspace, { "more.ts": "6\n" });
    await merge("side");
    const branch = { base: "origin/main", head: "origin/work" };
    const whole = await shallowClone(test, workspace, 9, "--no-single-branch");
    assert.equal((await changeIn(whole, branch)).base, base);
    // Both have the first commit in common if the parents of the first merge are missing.
    const cut = await shallowClone(test, workspace, 3, "--no-single-branch");
    await assert.rejects(changeIn(cut, branch), /too little history/);
  });

  it("takes nothing for an option or a path", async (test) => {
    const workspace = await makeRepository(test, { main: "a file with the name of a branch\n" });
    await commit(workspace, { "a.ts": "one\n" });
    assert.equal((await changeIn(workspace.path, { base: "main" })).files.length, 0);
    for (const base of ["--output=x", "nowhere", "", "HEAD:a.ts"])
      await assert.rejects(changeIn(workspace.path, { base }), /is not a commit in this checkout/);
  });
});

it("files of a change are listed up to 500 lines or 32 kB, and the rest is counted", () => {
  const files = Array.from({ length: 3000 }, (_, index) => ({
    path: `file-${index}.ts`,
    status: "added" as const,
    additions: 1,
    deletions: 0,
  }));
  const lines = changedFilesText(files).split("\n");
  assert.equal(lines.length, 501);
  assert.equal(lines.at(-1), "(2500 more files, see the diff)");
  const long = files.map((file) => ({ ...file, path: "x".repeat(1000) }));
  assert.ok(Buffer.byteLength(changedFilesText(long)) < 33 * 1024);
});
