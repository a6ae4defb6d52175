/** A reviewer sees all of a change: nothing in the repository, and no setting of the user, hides a line of it. */
import assert from "node:assert/strict";
import { chmod, mkdir, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { changedFilesText, ChangeUnknown, type Change } from "../../src/git/change.ts";
import { changeFromGit, type ChangeRange } from "../../src/git/git-change.ts";
import { SourceTree, type WorkingTree } from "../../src/git/source-tree.ts";
import { processEnvironment } from "../../src/platform/environment.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";

const uncommitted = { base: "HEAD", uncommitted: true } as const;

const changeIn = (
  { path: folder }: Workspace,
  range: ChangeRange = {},
  more: Readonly<Record<string, string>> = {},
): Promise<Change> =>
  changeFromGit({ folder, environment: { ...processEnvironment(), ...more } }, range);

async function commit(workspace: Workspace, files: Readonly<Record<string, string>>) {
  for (const [name, text] of Object.entries(files)) await workspace.write(name, text);
  await workspace.git("add", "--all");
  await workspace.git("commit", "--quiet", "--allow-empty", "--message=A commit");
}

const facts = ({ files }: Change): string[] => files.map(({ path, status }) => `${path} ${status}`);
const notes = (change: Pick<Change, "notes">): string => (change.notes ?? []).join("\n");
const contents = ({ files }: WorkingTree): Record<string, string | undefined> =>
  Object.fromEntries(files.map(({ path, content }) => [path, content && String(content)]));

/** A user's own settings of git, in a file outside of the repository. */
async function settingsOf(t: TestContext, text: string): Promise<{ GIT_CONFIG_GLOBAL: string }> {
  const workspace = await makeWorkspace(t);
  return { GIT_CONFIG_GLOBAL: await workspace.write("gitconfig", text) };
}

describe("a change is shown whole", () => {
  for (const isCommitted of [true, false]) {
    const range = isCommitted ? {} : uncommitted;
    const when = isCommitted ? "in a commit" : "in the working tree";

    it(`with submodules, whatever .gitmodules says, ${when}`, async (t) => {
      const workspace = await makeRepository(t);
      const link = (id: string): Promise<string> =>
        workspace.git("update-index", "--add", "--cacheinfo", `160000,${id.repeat(40)},lib`);
      await link("a");
      await mkdir(join(workspace.path, "lib"));
      await workspace.git("commit", "--quiet", "--message=A submodule");
      await workspace.write(
        ".gitmodules",
        '[submodule "lib"]\n  path = lib\n  url = x\n  ignore = all\n',
      );
      await workspace.git("add", ".gitmodules");
      await link("b");
      if (isCommitted) await workspace.git("commit", "--quiet", "--message=Hidden");
      const change = await changeIn(workspace, range);
      assert.deepEqual(facts(change), [".gitmodules added", "lib modified"]);
      assert.match(change.diff, /\+Subproject commit b{40}/);
    });

    it(`with source files that attributes or a NUL would hide, ${when}`, async (t) => {
      const workspace = await makeRepository(t, { "src/a.ts": "one\n", "src/n.ts": "one\n" });
      const files = {
        ".gitattributes": "src/*.ts -diff\n*.ts binary\n[ab]* -text\n",
        "src/a.ts": "one\nshown();\n",
        "src/n.ts": `one\n\0${"\u0001".repeat(50)}\nshown();\n`,
        "src/new [b].ts": "// \0\nshown();\n",
        "logo.png": `\x89PNG\0\0\0\r${"\u0000\u0007\ufffd".repeat(40)}`,
      };
      if (isCommitted) await commit(workspace, files);
      else for (const [name, text] of Object.entries(files)) await workspace.write(name, text);
      await workspace.write(".git/info/attributes", "*.ts -diff\n");
      const change = await changeIn(workspace, range);
      assert.equal(change.diff.match(/^\+shown\(\);$/gm)?.length, 3, change.diff);
      assert.equal(notes(change), 'Not shown, because binary: "logo.png".');
      assert.match(changedFilesText(change.files, change.notes), /Not shown, because binary/);
    });
  }

  it("with names as they are", async (t) => {
    const workspace = await makeRepository(t);
    await commit(workspace, { "src/é ü.ts": "x\n" });
    assert.match((await changeIn(workspace)).diff, /^\+\+\+ b\/src\/é ü\.ts/m);
  });

  it("with names that aren't UTF-8, which a proposal leaves out", async (t) => {
    const workspace = await makeRepository(t);
    const write = (last: number, text: string): Promise<void> =>
      writeFile(Buffer.from([...Buffer.from(`${workspace.path}/n`), last]), text);
    await write(0xfe, "one\n");
    await write(0xff, `${"two".repeat(9)}\n\0`);
    const left = /^Left out: "n\uFFFD" \(the name isn't valid UTF-8\)\.$/m;
    assert.match(notes(await changeIn(workspace, uncommitted)), left);
    await workspace.git("add", "--all");
    const environment = processEnvironment();
    const tree = await new SourceTree({ folder: workspace.path, environment }, undefined).changed(
      [],
    );
    assert.deepEqual(tree.files, []);
    assert.match(notes(tree), /^Left out: "n\uFFFD"/m);
    await commit(workspace, {});
    const change = await changeIn(workspace);
    assert.deepEqual(facts(change), ["n\uFFFD added", "n\uFFFD added"]);
    assert.deepEqual(change.diff.match(/^\+\w+$/gm), ["+one", `+${"two".repeat(9)}`]);
    assert.match(
      notes(change),
      /^Names that aren't valid UTF-8, shown with \uFFFD: "n\uFFFD", "n\uFFFD"\.$/m,
    );
  });

  it("where the objects are behind a link", async (t) => {
    const workspace = await makeRepository(t, { "a.ts": "one\n" });
    await workspace.write("a.ts", "two\n");
    const [objects, moved] = [".git/objects", ".git/elsewhere"].map((p) => join(workspace.path, p));
    await rename(objects ?? "", moved ?? "");
    await symlink(moved ?? "", objects ?? "");
    assert.deepEqual(facts(await changeIn(workspace, uncommitted)), ["a.ts modified"]);
  });

  it("with files that the index was told to assume unchanged", async (t) => {
    const workspace = await makeRepository(t, {
      "a.ts": "one\n",
      "b.ts": "one\n",
      "c.ts": "one\n",
    });
    await workspace.git("update-index", "--assume-unchanged", "a.ts");
    await workspace.git("update-index", "--skip-worktree", "b.ts", "c.ts");
    for (const name of ["a.ts", "b.ts"]) await workspace.write(name, "two\n");
    // A sparse checkout does the same.
    await rm(join(workspace.path, "c.ts"));
    assert.deepEqual(facts(await changeIn(workspace, uncommitted)), [
      "a.ts modified",
      "b.ts modified",
    ]);
  });

  it("and what it can't show is said: repositories inside, unreadable files, changes in submodules", async (t) => {
    const library = await makeRepository(t, { "c.txt": "one\n" });
    const workspace = await makeRepository(t, { "a.ts": "one\n" });
    const add = ["submodule", "--quiet", "add", library.path, "lib"];
    await workspace.git("-c", "protocol.file.allow=always", ...add);
    await workspace.git("commit", "--quiet", "--message=A submodule");
    await workspace.write("a.ts", "two\n");
    await workspace.write("lib/c.txt", "two\n");
    await workspace.git("init", "--quiet", "vendor/x");
    await workspace.write("vendor/x/b.ts", "one\n");
    await symlink("/dev/zero", join(workspace.path, "link"));
    const change = await changeIn(workspace, uncommitted);
    assert.deepEqual(facts(change), ["a.ts modified", "link added", "vendor/x added"]);
    assert.equal(
      notes(change),
      'Left out: "vendor/x" (a git repository of its own).\nThe submodule "lib" has uncommitted changes, which are not shown.',
    );
  });
});

describe("conversions of files", () => {
  const lineEnds = "[core]\n  autocrlf = true\n";

  it("are those of the user: line ends alone are no change, and are not proposed", async (t) => {
    const workspace = await makeRepository(t, { "a.ts": "one\ntwo\n", "same.ts": "one\n" });
    await workspace.write("a.ts", "one\r\nnew\r\n");
    await workspace.write("same.ts", "one\r\n");
    await workspace.write("new.ts", "one\r\n");
    const settings = await settingsOf(t, lineEnds);
    const change = await changeIn(workspace, uncommitted, settings);
    assert.deepEqual(facts(change), ["a.ts modified", "new.ts added"]);
    assert.match(change.diff, /^-two$/m);
    assert.doesNotMatch(change.diff, /^-one$/m);
    const environment = { ...processEnvironment(), ...settings };
    const tree = new SourceTree({ folder: workspace.path, environment }, undefined);
    assert.deepEqual(contents(await tree.changed([])), { "a.ts": "one\nnew\n", "new.ts": "one\n" });
  });

  const upper = '[filter "up"]\n  clean = tr a-z A-Z\n  required = true\n';

  it(
    "by a filter are what git would store, in a sandbox that has no checkout and no network",
    { skip: withoutSandbox },
    async (t) => {
      const workspace = await makeRepository(t, {
        ".gitattributes": "*.up filter=up\n",
        "a.up": "ONE\n",
      });
      // Time alone is no change.
      await workspace.write("a.up", "one\n");
      await workspace.write("b.up", "two\n");
      await workspace.write("run.up", "three\n");
      await chmod(join(workspace.path, "run.up"), 0o755);
      const change = await changeIn(workspace, uncommitted, await settingsOf(t, upper));
      assert.equal(notes(change), "");
      assert.deepEqual(facts(change), ["b.up added", "run.up added"]);
      assert.match(change.diff, /^\+TWO$/m);
      assert.match(change.diff, /new file mode 100755/);
    },
  );

  it(
    "by a filter that fails, or is in the checkout, leave the file out",
    { skip: withoutSandbox },
    async (t) => {
      const workspace = await makeRepository(t, {
        ".gitattributes": "*.up filter=up\n*.own filter=own\n",
        "own.sh": "#!/bin/sh\ncat\n",
      });
      await chmod(join(workspace.path, "own.sh"), 0o755);
      await workspace.git("commit", "--quiet", "--all", "--message=A program");
      for (const name of ["a.up", "b.own", "c.ts"]) await workspace.write(name, "one\n");
      const settings = await settingsOf(
        t,
        `[filter "up"]\n  clean = no-such-program\n[filter "own"]\n  clean = ${workspace.path}/own.sh\n`,
      );
      const change = await changeIn(workspace, uncommitted, settings);
      assert.deepEqual(facts(change), ["c.ts added", "a.up added", "b.own added"], notes(change));
      assert.match(notes(change), /^Left out: "a\.up" \(the filter "up" failed\)\.$/m);
      assert.match(notes(change), /^Left out: "b\.own" \(the filter "own" failed\)\.$/m);
    },
  );

  it("by a filter write nothing that git reads afterwards", { skip: withoutSandbox }, async (t) => {
    const workspace = await makeRepository(t, { ".gitattributes": "*.up filter=up\n" });
    const names =
      "config HEAD index packed-refs refs/heads/x info/attributes objects/info/alternates none/post-index-change hooks/post-index-change";
    const clean = `for one in ${names}; do at=$GIT_DIR/$one; mkdir -p \${at%/*}; echo >>$at && echo wrote $one; done 2>/dev/null; cat`;
    const settings = await settingsOf(t, `[filter "up"]\n  clean = ${JSON.stringify(clean)}\n`);
    for (const name of ["a.up", "b.up"]) await workspace.write(name, "one\n");
    const change = await changeIn(workspace, uncommitted, settings);
    assert.equal(notes(change), "");
    assert.deepEqual(change.diff.match(/^\+.*/gm), ["+++ b/a.up", "+one", "+++ b/b.up", "+one"]);
  });

  it("that fail leave their files out, and no others", async (t) => {
    const attributes = "*.utf16 working-tree-encoding=UTF-16\n";
    const workspace = await makeRepository(t, { ".gitattributes": attributes });
    for (const name of ["a.ts", "b.utf16", "c.ts", "d.ts"]) await workspace.write(name, "one\n");
    const change = await changeIn(workspace, uncommitted);
    // It may have changed, so it counts.
    const others = ["a.ts added", "c.ts added", "d.ts added"];
    assert.deepEqual(facts(change), [...others, "b.utf16 added"]);
    assert.match(notes(change), /^Left out: "b\.utf16" \(git can't convert them\)\.$/m);
    const many = Array.from({ length: 60 }, (_, index) => `${index}.utf16`);
    for (const name of many) await workspace.write(name, "one\n");
    const more = await changeIn(workspace, uncommitted);
    assert.equal(more.notes?.length, 1, notes(more));
    assert.ok(many.every((name) => more.files.some(({ path }) => path === name)));
  });

  it("that git doesn't track and that are private are left out", async (t) => {
    const workspace = await makeRepository(t, { "a.ts": "one\n" });
    await workspace.write("sub/.env", "TOKEN=secret\n");
    const change = await changeIn(workspace, uncommitted);
    assert.deepEqual(facts(change), ["sub/.env added"]);
    assert.equal(change.diff, "");
    assert.match(notes(change), /^Left out: "sub\/\.env" \(a private file/m);
  });

  it("by a filter are refused by name without a sandbox, but not of files that didn't change", async (t) => {
    const settings = await settingsOf(t, upper);
    const workspace = await makeRepository(t, { ".gitattributes": "*.up filter=up\n" });
    await workspace.git("config", "include.path", settings.GIT_CONFIG_GLOBAL);
    await commit(workspace, { "same.up": "one\n" });
    await workspace.write("new.ts", "one\n");
    const environment = { ...processEnvironment(), ...settings };
    const repository = { folder: workspace.path, environment, sandbox: "off" } as const;
    assert.deepEqual(facts(await changeFromGit(repository, uncommitted)), ["new.ts added"]);
    // A change that keeps size and time.
    const same = join(workspace.path, "same.up");
    const { atime, mtime } = await stat(same);
    await writeFile(same, "two\n");
    await utimes(same, atime, mtime);
    await assert.rejects(changeFromGit(repository, uncommitted), /Can't convert "same\.up"/);
    await writeFile(same, "one\n");
    await workspace.git("add", "same.up");
    await workspace.write("a.up", "one\n");
    await assert.rejects(
      changeFromGit(repository, uncommitted),
      (error) =>
        error instanceof ChangeUnknown &&
        /Can't convert "a\.up": the filter "up" only runs in a sandbox/.test(error.message),
    );
  });

  it(
    "by Git LFS are pointers, which a proposal can't bring",
    { skip: withoutSandbox },
    async (t) => {
      const pointer = "version https://git-lfs.github.com/spec/v1";
      // Like the program itself, it stores the object.
      const clean = `mkdir -p "$(git config lfs.storage || echo $GIT_DIR/lfs)/tmp" && printf '${pointer}\\n'`;
      const settings = await settingsOf(t, `[filter "lfs"]\n  clean = ${JSON.stringify(clean)}\n`);
      const workspace = await makeRepository(t, { ".gitattributes": "*.bin filter=lfs\n" });
      await workspace.write("a.bin", "content\n");
      const environment = { ...processEnvironment(), ...settings };
      const change = await changeIn(workspace, uncommitted, settings);
      assert.match(change.diff, /^\+version https:\/\/git-lfs/m);
      const tree = new SourceTree({ folder: workspace.path, environment }, undefined);
      assert.deepEqual((await tree.changed([])).largeFiles, ["a.bin"]);
    },
  );
});
