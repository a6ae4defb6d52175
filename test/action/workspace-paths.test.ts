import assert from "node:assert/strict";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  insideRunner,
  insideWorkspace,
  isInside,
  journalsAt,
} from "../../src/action/workspace-paths.ts";
import { makeWorkspace } from "../rig/workspace.ts";

async function makeFolders(
  test: Parameters<typeof makeWorkspace>[0],
): Promise<{ readonly workspace: string; readonly outside: string }> {
  const { path } = await makeWorkspace(test, {
    "work/entries/a.yml": "",
    "outside/secret.yml": "",
  });
  const workspace = join(path, "work");
  const outside = join(path, "outside");
  await symlink(outside, join(workspace, "out"));
  await symlink("entries", join(workspace, "in"));
  await symlink(join(outside, "not-yet"), join(workspace, "dangling"));
  return { workspace, outside };
}

describe("a path of an input", () => {
  it("may lead anywhere in the workspace", async (t) => {
    const { workspace } = await makeFolders(t);
    for (const [value, path] of [
      ["./entries/../entries/a.yml", "entries/a.yml"],
      [".", "."],
      ["new/folder/journal.jsonl", "new/folder/journal.jsonl"],
      ["in/a.yml", "in/a.yml"],
      ["..name/a.yml", "..name/a.yml"],
      [join(workspace, "entries/a.yml"), "entries/a.yml"],
    ] as const) {
      const checked = await insideWorkspace(workspace, "entry", value);
      assert.deepEqual(checked, { kind: "inside", path });
    }
  });

  it("may not lead out of it, by its name or through a link", async (t) => {
    const { workspace } = await makeFolders(t);
    for (const value of [
      "..",
      "entries/../../outside/secret.yml",
      "/etc/passwd",
      "out/secret.yml",
      "out/new-file",
      "out",
      "dangling/below",
      "a\0b",
    ]) {
      const checked = await insideWorkspace(workspace, "journal", value);
      assert.ok(checked.kind === "outside", value);
      assert.match(checked.problem, /^`journal` is ".*must not leave it\.$/s);
    }
  });

  it("is judged right in a workspace that is itself behind a link", async (t) => {
    const { workspace, outside } = await makeFolders(t);
    const link = join(outside, "link");
    await symlink(workspace, link);
    const checked = await insideWorkspace(link, "entry", "entries/a.yml");
    assert.deepEqual(checked, { kind: "inside", path: "entries/a.yml" });
    assert.equal((await insideWorkspace(link, "entry", "out/secret.yml")).kind, "outside");
  });

  it("of a program counts as in the workspace wherever its links lead from", async (t) => {
    const { workspace, outside } = await makeFolders(t);
    await mkdir(join(workspace, "bin"));
    await symlink(join(workspace, "bin"), join(outside, "bin"));
    assert.equal(await isInside(workspace, join(outside, "bin", "runtime")), true);
    assert.equal(await isInside(workspace, join(outside, "secret.yml")), false);
  });
});

describe("a path of a journal or an output directory", () => {
  it("may lead to the runner's folder for temporary files, and through no link out of it", async (t) => {
    const { workspace, outside: temporary } = await makeFolders(t);
    const runner = { workspace, temporary };
    const kindOf = async (value: string) => insideRunner(runner, "resume", value);
    const file = join(temporary, "new/journal.jsonl");
    assert.deepEqual(await kindOf(file), { kind: "inside", path: file });
    await symlink("/etc", join(temporary, "link"));
    for (const value of ["../outside/journal.jsonl", "/etc/passwd", join(temporary, "link/passwd")])
      assert.equal((await kindOf(value)).kind, "outside", value);
  });

  it("may be a folder with journals", async (t) => {
    const { path } = await makeWorkspace(t, {
      "all/b/2.jsonl": "",
      "all/a/1.jsonl": "",
      "all/run.json": "",
      "none/run.json": "",
    });
    assert.deepEqual(await journalsAt(path, "all"), ["all/a/1.jsonl", "all/b/2.jsonl"]);
    assert.deepEqual(await journalsAt(path, join(path, "all/a/1.jsonl")), [
      join(path, "all/a/1.jsonl"),
    ]);
    assert.equal(await journalsAt(path, "none"), "none contains no *.jsonl file.");
    assert.equal(await journalsAt(path, "nowhere"), "nowhere doesn't exist.");
  });
});
