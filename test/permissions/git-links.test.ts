/** Real git in a repository where a branch has a link in place of a folder: what the patterns allow must not follow it. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { decideShell } from "../../src/permissions/commands.ts";
import { movedFiles } from "../../src/sessions/moved-files.ts";
import { permissionHandler } from "../../src/sessions/permission-handler.ts";
import { run } from "../fuzz/command-scene.ts";
import { makeWorkspace } from "../rig/workspace.ts";

/** `main` tracks `d/x`; on the branch `link`, `d` is a link to a folder outside, where there is a file `x`. */
async function repository(t: TestContext) {
  const { path: root } = await makeWorkspace(t);
  const path = join(root, "repo");
  const outside = join(root, "outside");
  for (const folder of [join(path, "d"), join(path, "src"), outside]) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "x"), "committed\n");
  }
  writeFileSync(join(outside, "x"), "canary\n");
  const user = { GIT_AUTHOR_NAME: "x", GIT_AUTHOR_EMAIL: "x", GIT_COMMITTER_NAME: "x" };
  const env = { PATH: "/usr/bin:/bin", HOME: root, ...user, GIT_COMMITTER_EMAIL: "x", LC_ALL: "C" };
  const scene = { root, path, env };
  const git = (line: string): Promise<string> => run("git", line.split(" "), scene);
  for (const line of ["init -q -b main", "add -A", "commit -qm a", "checkout -qb link"]) {
    await git(line);
  }
  rmSync(join(path, "d"), { recursive: true });
  symlinkSync(outside, join(path, "d"));
  for (const line of ["add -A", "commit -qm b", "checkout -q main"]) await git(line);
  const handle = permissionHandler({
    permissions: { shell: ["git *"] },
    workingDirectory: path,
    onActivity: () => undefined,
  });
  /** Runs a line if it is allowed. */
  const ask = (line: string): Promise<string> | undefined => {
    const { kind } = handle({
      kind: "shell",
      fullCommandText: line,
      intention: "",
      commands: [],
      possiblePaths: [],
      possibleUrls: [],
      hasWriteFileRedirection: false,
      canOfferSessionApproval: false,
    });
    return kind === "approve-once" ? run("/bin/bash", ["-c", line], scene) : undefined;
  };
  return { ask, secret: () => readFileSync(join(outside, "x"), "utf8"), outside };
}

describe("a link that git has put in place of a folder", () => {
  const before = ["git checkout link -- d", "git reset -q HEAD"];
  for (const line of [
    "git blame d/x",
    "git blame HEAD -- d/x",
    "git grep -h canary",
    "git grep -e canary -- d/x",
    "git rm -q -f d/x",
    "git rm -rqf d",
    "git rm -rqf .",
    "git rm -qf ':/d/x'",
    "git rm -qf '*/x'",
    "git mv src/x d/y",
  ]) {
    it(`is not followed by ${line}`, async (t) => {
      const lines = [...before, line];
      for (const all of [lines, [lines.join("; ")]]) {
        const { ask, secret, outside } = await repository(t);
        let output = "";
        for (const one of all) output += (await ask(one)) ?? "";
        assert.doesNotMatch(output, /canary/);
        assert.equal(secret(), "canary\n");
        assert.throws(() => readFileSync(join(outside, "y")), { code: "ENOENT" });
      }
    });
  }

  it("leaves git its ordinary commands", async (t) => {
    const { ask } = await repository(t);
    for (const line of [
      "git grep -n committed",
      "git rm -q -r d",
      "git reset -q; git add src && git diff --cached -- d/x",
      "git checkout -q main -- d",
      "git grep --cached committed",
      "git blame d/x",
      "git blame -L 1,1 HEAD~0 -- src/x",
      "git rm -q --cached -r d",
      "git mv src/x src/y",
      "git rm -q -f src/y",
      "git checkout -qf main; git log --oneline -- d",
    ]) {
      assert.notEqual(await ask(line), undefined, line);
    }
  });

  it("may be anywhere once a command could have made it, and only then", () => {
    const decide = (line: string, moved: boolean): boolean =>
      decideShell(
        line,
        ["git *"],
        [],
        "linux",
        undefined,
        undefined,
        (path) => path === "src",
        () => moved,
      ).allowed;
    for (const line of ["git grep -n x -- src", "git rm -r src", "git rm '*.md'"]) {
      assert.equal(decide(line, false), true, line);
      assert.equal(decide(line, true), false, line);
    }
    for (const line of ["git grep --cached x", "git rm --cached -r src", "git rm src/x"]) {
      assert.equal(decide(line, true), true, line);
    }
  });

  it("is not made by a command that only shows something", () => {
    const moves = (line: string): boolean => {
      const verdict = decideShell(line, ["git *", "git submodule *", "git worktree *"], []);
      return verdict.allowed && verdict.moves;
    };
    for (const line of [
      "git stash list",
      "git stash show -p",
      "git --no-pager stash list",
      "git submodule status",
      "git worktree list",
      "git branch -a",
    ]) {
      assert.equal(moves(line), false, line);
    }
    for (const line of ["git stash", "git stash -q list", "git stash pop", "git checkout list"]) {
      assert.equal(moves(line), true, line);
    }
  });

  it("makes git grep ask for what helps", () => {
    for (const [line, pattern] of [
      ["git grep -n x", "git *"],
      ["git grep -n x src/a", "git grep *"],
    ] as const) {
      const no = (): boolean => false;
      const verdict = decideShell(line, [pattern], [], "linux", undefined, no, no, () => true);
      assert.ok(!verdict.allowed, line);
      const { reason } = verdict;
      assert.ok(reason.startsWith(`"${line}" could follow a link`), reason);
      assert.match(reason, /add --cached/);
      assert.doesNotMatch(reason, /name files/);
    }
  });

  it("counts for all who work in the folder, above or below it", async (t) => {
    const { path } = await makeWorkspace(t);
    movedFiles(join(path, "a/b")).onMove();
    for (const [folder, expected] of [
      ["a/b", true],
      ["a", true],
      ["a/b/c", true],
      ["a/bc", false],
      ["c", false],
    ] as const) {
      assert.equal(movedFiles(join(path, folder)).wasMoved(), expected, folder);
    }
  });
});
