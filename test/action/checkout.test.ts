/** What we read from git's files, held against what git itself says of them. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmod, mkdir, rename, symlink, truncate } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { checkoutOf } from "../../src/action/checkout.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";

const head = async (workspace: Workspace, ...args: string[]): Promise<string> =>
  (await workspace.git(...args, "rev-parse", "HEAD")).trim();

describe("the commit that is checked out", () => {
  const states: readonly (readonly [string, (repository: Workspace) => Promise<unknown>])[] = [
    ["a branch", async () => undefined],
    ["a detached head", ({ git }) => git("checkout", "--quiet", "--detach")],
    ["packed references", ({ git }) => git("pack-refs", "--all")],
    [
      "a packed reference with a newer one beside it",
      async ({ git }) => {
        await git("pack-refs", "--all");
        await git("commit", "--quiet", "--allow-empty", "--message=Newer");
      },
    ],
    ["a branch of a long name", ({ git }) => git("checkout", "--quiet", "-b", "a/b.c/d-e_f@g/ü")],
    [
      "many packed references",
      async ({ git, path }) => {
        const commit = (await git("rev-parse", "HEAD")).trim();
        const lines = Array.from({ length: 5000 }, (_, n) => `create refs/tags/t${n} ${commit}\n`);
        execFileSync("git", ["update-ref", "--stdin"], { cwd: path, input: lines.join("") });
        await git("tag", "--annotate", "--message=annotated", "annotated");
        await git("pack-refs", "--all");
      },
    ],
    [
      "a symbolic reference to another",
      ({ git }) => git("symbolic-ref", "refs/heads/main-too", "refs/heads/main"),
    ],
    [
      "what actions/checkout leaves of a pull request",
      async ({ git }) => {
        await git("update-ref", "refs/remotes/pull/7/merge", "HEAD");
        await git("checkout", "--quiet", "--force", "refs/remotes/pull/7/merge");
      },
    ],
    ["a sparse checkout", ({ git }) => git("sparse-checkout", "set", "--no-cone", "/none")],
  ];
  for (const [what, make] of states) {
    it(`is what git says: ${what}`, async (t) => {
      const repository = await makeRepository(t, { "a/b/c.txt": "c" });
      await make(repository);
      if (what.startsWith("a symbolic")) {
        await repository.git("symbolic-ref", "HEAD", "refs/heads/main-too");
      }
      const expected = { root: repository.path, commit: await head(repository) };
      assert.deepEqual(await checkoutOf(repository.path), expected);
      await mkdir(join(repository.path, "a/b"), { recursive: true });
      assert.deepEqual(await checkoutOf(join(repository.path, "a/b")), expected);
      assert.deepEqual(await checkoutOf(join(repository.path, "a/b/none/such")), expected);
    });
  }

  it("is that of a work tree, a submodule, a clone of one commit, a repository with its .git elsewhere", async (t) => {
    const repository = await makeRepository(t, { "a.txt": "a" });
    const { git, path } = repository;
    const first = await head(repository);
    await git("commit", "--quiet", "--allow-empty", "--message=Second");
    await git("worktree", "add", "--quiet", "trees/detached", first);
    await git("worktree", "add", "--quiet", "-b", "other", "trees/branch", first);
    await git("clone", "--quiet", "--depth=1", `file://${path}`, "shallow");
    await git("clone", "--quiet", `--separate-git-dir=${join(path, "elsewhere")}`, path, "apart");
    const library = await makeRepository(t);
    const url = ["-c", "protocol.file.allow=always"];
    await git(...url, "submodule", "--quiet", "add", library.path, "library");
    for (const [folder, commit] of [
      ["trees/detached", first],
      ["trees/branch", first],
      ["shallow", await head(repository)],
      ["apart", await head(repository)],
      ["library", await head(library)],
    ] as const) {
      const root = join(path, folder);
      assert.deepEqual(await checkoutOf(root), { root, commit }, folder);
    }
  });

  it("is known for SHA-256, too", async (t) => {
    const workspace = await makeWorkspace(t);
    await workspace.git("init", "--quiet", "--object-format=sha256");
    await workspace.git("commit", "--quiet", "--allow-empty", "--message=x");
    const commit = await head(workspace);
    assert.equal(commit.length, 64);
    assert.equal((await checkoutOf(workspace.path))?.commit, commit);
  });

  it("is none outside of a checkout", async (t) => {
    assert.equal(await checkoutOf((await makeWorkspace(t)).path), undefined);
  });

  const commit = "1".repeat(40);
  const unknown: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ["a repository without a commit", { ".git/HEAD": "ref: refs/heads/main\n" }],
    ["a folder without a HEAD", { ".git/config": "" }],
    ["an empty HEAD", { ".git/HEAD": "" }],
    ["a HEAD that is no commit", { ".git/HEAD": "main\n" }],
    ["a short commit", { ".git/HEAD": "1".repeat(39) }],
    ["two lines", { ".git/HEAD": `${commit}\n${"2".repeat(40)}\n` }],
    ["a HEAD without an end", { ".git/HEAD": `${commit}${" ".repeat(9000)}` }],
    ["a reference out of the folder", { ".git/HEAD": "ref: refs/../../sha\n", sha: commit }],
    ["a reference that is no reference", { ".git/HEAD": "ref: sha\n", ".git/sha": commit }],
    ["a reference of its own", { ".git/HEAD": "ref: refs/a", ".git/refs/a": "ref: refs/a" }],
    ["a reftable", { ".git/HEAD": "ref: refs/heads/.invalid\n", ".git/refs/heads": "" }],
    ["an empty file .git", { ".git": "" }],
    ["a file .git that leads nowhere", { ".git": "gitdir: none\n" }],
    ["a file .git that is another thing", { ".git": `${commit}\n` }],
    [
      "a packed name that only begins like it",
      {
        ".git/HEAD": "ref: refs/heads/main",
        ".git/packed-refs": `${commit} refs/heads/main2\n# ${commit} refs/heads/main\n`,
      },
    ],
    ["a broken loose reference", { ".git/HEAD": "ref: refs/a", ".git/refs/a": "x" }],
  ];
  for (const [what, files] of unknown) {
    it(`is unknown, and no outer one stands for it: ${what}`, async (t) => {
      const outer = await makeRepository(t);
      const named = Object.entries(files).map(([name, text]) => [`in/${name}`, text] as const);
      for (const [name, text] of named) await outer.write(name, text);
      const root = join(outer.path, "in");
      assert.deepEqual(await checkoutOf(root), { root, commit: undefined });
    });
  }

  it("waits for no pipe, and reads nothing without an end", async (t) => {
    const workspace = await makeWorkspace(t, { ".git/config": "" });
    const at = (name: string): string => join(workspace.path, ".git", name);
    const is = async (): Promise<string | undefined> =>
      (await checkoutOf(workspace.path))?.commit ?? "unknown";
    execFileSync("mkfifo", [at("HEAD")]);
    assert.equal(await is(), "unknown");
    await rename(at("HEAD"), at("pipe"));
    await symlink("/dev/zero", at("HEAD"));
    assert.equal(await is(), "unknown");
    await rename(at("HEAD"), at("zero"));
    await workspace.write(".git/HEAD", "ref: refs/heads/main\n");
    await workspace.write(".git/packed-refs", "");
    await truncate(at("packed-refs"), 1e12);
    assert.equal(await is(), "unknown");
    await rename(at("packed-refs"), at("huge"));
    execFileSync("mkfifo", [at("packed-refs")]);
    assert.equal(await is(), "unknown");
  });

  it("is unknown, and no outer one stands for it, where .git can't be looked at", async (t) => {
    const outer = await makeRepository(t);
    const root = join(outer.path, "in");
    await mkdir(root);
    await symlink(".git", join(root, ".git"));
    assert.deepEqual(await checkoutOf(root), { root, commit: undefined });
    assert.deepEqual(await checkoutOf(join(root, "deeper")), { root, commit: undefined });
  });

  it("is unknown where we may not look", { skip: process.getuid?.() === 0 }, async (t) => {
    const repository = await makeRepository(t);
    await chmod(join(repository.path, ".git"), 0);
    t.after(() => chmod(join(repository.path, ".git"), 0o755));
    assert.equal((await checkoutOf(repository.path))?.commit, undefined);
  });
});
