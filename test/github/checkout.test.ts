import assert from "node:assert/strict";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { checkoutOf, type Checkout } from "../../src/github/origin.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";

const head = async (workspace: Workspace, ...args: string[]): Promise<string> =>
  (await workspace.git(...args, "rev-parse", "HEAD")).trim();
const checkedOut = (folder: string): Promise<Checkout | undefined> =>
  checkoutOf(folder, { PATH: process.env["PATH"] });

describe("the commit that is checked out", () => {
  it("is that of the checkout around a folder, of a work tree, a submodule, a clone, a .git elsewhere", async (t) => {
    const repository = await makeRepository(t, { "a/b/c.txt": "a" });
    const { git, path } = repository;
    const first = await head(repository);
    await git("commit", "--quiet", "--allow-empty", "--message=Second");
    await git("worktree", "add", "--quiet", "trees/detached", first);
    await git("clone", "--quiet", "--depth=1", `file://${path}`, "shallow");
    await git("clone", "--quiet", `--separate-git-dir=${join(path, "elsewhere")}`, path, "apart");
    const library = await makeRepository(t);
    const url = ["-c", "protocol.file.allow=always"];
    await git(...url, "submodule", "--quiet", "add", library.path, "library");
    await git("-C", "shallow", "remote", "add", "web", "https://github.com/Octo/Shop");
    await git("-C", "shallow", "remote", "add", "ssh", "git@github.com:octo/tools.git");
    const second = await head(repository);
    for (const [folder, root, commit] of [
      ["a/b", "", second],
      ["a/none/such", "", second],
      ["trees/detached", "trees/detached", first],
      ["shallow", "shallow", second],
      ["apart", "apart", second],
      ["library", "library", await head(library)],
    ] as const) {
      // A folder of this machine is no repository of GitHub.
      const remotes = folder === "shallow" ? ["octo/shop", "octo/tools"] : [];
      const expected = { root: join(path, root), commit, remotes };
      assert.deepEqual(await checkedOut(join(path, folder)), expected, folder);
    }
  });

  it("is known for SHA-256, too, and none outside of a checkout", async (t) => {
    const workspace = await makeWorkspace(t);
    assert.equal(await checkedOut(workspace.path), undefined);
    await workspace.git("init", "--quiet", "--object-format=sha256");
    await workspace.git("commit", "--quiet", "--allow-empty", "--message=x");
    assert.equal((await checkedOut(workspace.path))?.commit, await head(workspace));
  });

  it("is unknown, and no outer one stands for it, where git doesn't accept the inner one", async (t) => {
    const outer = await makeRepository(t);
    const states: readonly (readonly [string, string])[] = [
      ["HEAD", "ref: refs/heads/main\n"],
      ["HEAD", ""],
      ["HEAD", "main\n"],
      ["config", ""],
      ["", "gitdir: none\n"],
    ];
    for (const [index, [file, text]] of states.entries()) {
      const root = join(outer.path, `in${index}`);
      await outer.write(join(`in${index}`, ".git", file), text);
      const found = await checkedOut(join(root, "deeper"));
      assert.deepEqual(found, { root, commit: undefined, remotes: [] });
    }
    const root = join(outer.path, "link");
    await mkdir(root);
    await symlink(".git", join(root, ".git"));
    assert.deepEqual(await checkedOut(root), { root, commit: undefined, remotes: [] });
  });
});
