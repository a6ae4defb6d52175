import assert from "node:assert/strict";
import { rm, symlink, truncate } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { SourceTree } from "../../src/git/source-tree.ts";
import { processEnvironment } from "../../src/platform/environment.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";

const treeOf = (folder: string, change?: ConstructorParameters<typeof SourceTree>[1]): SourceTree =>
  new SourceTree({ folder, environment: processEnvironment() }, change);

const commitOf = async (workspace: Workspace, name = "HEAD"): Promise<string> =>
  (await workspace.git("rev-parse", name)).trim();

/** A branch `work` from `main`, which has a commit of its own since. */
async function branched(t: TestContext): Promise<Workspace & { readonly head: string }> {
  const workspace = await makeRepository(t, { "a.txt": "one\ntwo\n" });
  await workspace.git("checkout", "-qb", "work");
  await workspace.write("a.txt", "one\ntwo\nthree\n");
  await workspace.git("commit", "-qam", "work");
  const head = await commitOf(workspace);
  await workspace.git("checkout", "-q", "main");
  await workspace.write("a.txt", "zero\none\ntwo\n");
  await workspace.git("commit", "-qam", "main");
  return { ...workspace, head };
}

describe("the file of a finding", () => {
  it("is that of the working tree where there is no change, named from the root or from the folder", async (t) => {
    const workspace = await makeRepository(t, { "sub/a.txt": "one\r\ntwo" });
    const tree = treeOf(join(workspace.path, "sub"));
    const file = { path: "sub/a.txt", lines: ["one", "two"] };
    assert.deepEqual(await tree.read("sub/a.txt"), file);
    assert.deepEqual(await tree.read("a.txt"), file);
    assert.equal(await tree.read("b.txt"), undefined);
  });

  it("is that of the head, whatever is checked out", async (t) => {
    const { path, head } = await branched(t);
    const lines = ["one", "two", "three"];
    assert.deepEqual(await treeOf(path, { head }).read("a.txt"), {
      path: "a.txt",
      lines,
      head: lines,
    });
  });

  it("is that of a merge, with the head to map it to", async (t) => {
    const { path, head, git } = await branched(t);
    await git("merge", "-q", "work", "-m", "merge");
    const file = await treeOf(path, { head }).read("a.txt");
    assert.deepEqual(file?.lines, ["zero", "one", "two", "three"]);
    assert.deepEqual(file?.head, ["one", "two", "three"]);
  });

  it("is asked for where the checkout lacks the head, and not asked for again by git", async (t) => {
    const { path } = await branched(t);
    const asked: string[] = [];
    const readHead = (name: string): Promise<Uint8Array | undefined> => {
      asked.push(name);
      return Promise.resolve(name === "a.txt" ? Buffer.from("remote\n") : undefined);
    };
    const tree = treeOf(path, { head: "1".repeat(40), readHead });
    for (let finding = 0; finding < 3; finding += 1)
      assert.deepEqual((await tree.read("a.txt"))?.lines, ["remote"]);
    assert.equal(await tree.read("b.txt"), undefined);
    assert.deepEqual(asked, ["a.txt", "b.txt"]);
  });

  it("is no link, nothing binary, and nothing outside of the repository", async (t) => {
    const outside = await makeWorkspace(t, { "secret.txt": "secret" });
    const workspace = await makeRepository(t, { "binary.png": "a\0b" });
    await symlink(outside.path, join(workspace.path, "out"));
    await symlink("/etc/passwd", join(workspace.path, "passwd"));
    for (const path of ["out/secret.txt", "passwd", "binary.png"])
      assert.equal(await treeOf(workspace.path).read(path), undefined, path);
  });
});

describe("what has changed in the working tree", () => {
  it("has new, changed, deleted and moved files with their modes, and not what the run writes", async (t) => {
    const workspace = await makeRepository(t, {
      "a.txt": "one\n",
      "gone.txt": "x\n",
      "old name.txt": "moved\n",
      ".gitignore": "ignored\n",
    });
    const base = await commitOf(workspace);
    await workspace.write("a.txt", "two\n");
    await workspace.write("new\nline.bin", "\0");
    await workspace.write("ignored", "x");
    await workspace.write("out/run.json", "{}");
    await workspace.git("rm", "-q", "gone.txt");
    await workspace.git("mv", "old name.txt", "moved.txt");
    await symlink("a.txt", join(workspace.path, "link"));
    const tree = await treeOf(workspace.path).changed([join(workspace.path, "out")]);
    assert.equal(tree.base, base);
    const seen = tree.files.map(({ path, mode, content, isDeleted }) => [
      path,
      isDeleted ? "deleted" : mode,
      content === undefined ? undefined : Buffer.from(content).toString(),
    ]);
    assert.deepEqual(seen, [
      ["a.txt", "100644", "two\n"],
      ["gone.txt", "deleted", undefined],
      ["link", "120000", undefined],
      ["moved.txt", "100644", "moved\n"],
      ["new\nline.bin", "100644", "\0"],
      ["old name.txt", "deleted", undefined],
    ]);
  });

  it("has a file as deleted where there is a folder now, and behind a link", async (t) => {
    const workspace = await makeRepository(t, {
      "a.txt": "x\n",
      "b/c.txt": "x\n",
      "d/c.txt": "x\n",
    });
    await rm(join(workspace.path, "a.txt"));
    await workspace.write("a.txt/new.txt", "new\n");
    await rm(join(workspace.path, "b"), { recursive: true });
    await symlink("d", join(workspace.path, "b"));
    const { files } = await treeOf(workspace.path).changed([]);
    assert.deepEqual(
      files.map(({ path, mode, isDeleted }) => [path, isDeleted ? "deleted" : mode]),
      [
        ["a.txt", "deleted"],
        ["a.txt/new.txt", "100644"],
        ["b", "120000"],
        ["b/c.txt", "deleted"],
      ],
    );
  });

  it("is read up to a size", async (t) => {
    const workspace = await makeRepository(t, { "a.txt": "x\n" });
    for (const name of "bcdefgh") {
      await workspace.write(name, name);
      await truncate(join(workspace.path, name), 4_000_000);
    }
    const { files } = await treeOf(workspace.path).changed([]);
    const read = files.filter(({ content }) => content !== undefined);
    assert.deepEqual([files.length, read.length], [7, 5]);
  });

  it("can't be known outside of a repository", async (t) => {
    const { path } = await makeWorkspace(t, { "a.txt": "x" });
    await assert.rejects(treeOf(path).changed([]), /was not in a git repository/);
  });
});
