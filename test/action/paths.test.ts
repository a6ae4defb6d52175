import assert from "node:assert/strict";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { insideWorkspace, isInside, journalsAt, type Place } from "../../src/action/paths.ts";
import { makeWorkspace } from "../rig/workspace.ts";

/** A workspace whose links lead out of it, and the folder beside it. */
async function makePlace(t: TestContext): Promise<Place & { readonly outside: string }> {
  const { path } = await makeWorkspace(t, { "work/entries/a.yml": "", "outside/secret.yml": "" });
  const workspace = join(path, "work");
  const outside = join(path, "outside");
  await symlink(outside, join(workspace, "out"));
  await symlink("entries", join(workspace, "in"));
  await symlink(join(outside, "not-yet"), join(workspace, "dangling"));
  return { workspace, outside, problems: [] };
}

describe("a path of an input", () => {
  it("may lead anywhere in the workspace", async (t) => {
    const place = await makePlace(t);
    for (const [value, path] of [
      ["./entries/../entries/a.yml", "entries/a.yml"],
      [".", "."],
      ["new/folder/journal.jsonl", "new/folder/journal.jsonl"],
      ["in/a.yml", "in/a.yml"],
      ["..name/a.yml", "..name/a.yml"],
      [join(place.workspace, "entries/a.yml"), "entries/a.yml"],
    ] as const)
      assert.equal(await insideWorkspace(place, "entry", value), path);
    assert.deepEqual(place.problems, []);
  });

  it("may not lead out of it, by its name or through a link", async (t) => {
    const place = await makePlace(t);
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
      assert.equal(await insideWorkspace(place, "journal", value), undefined, value);
      assert.match(place.problems.pop() ?? "", /^`journal` is ".*must not leave it\.$/s);
    }
  });

  it("is judged right in a workspace that is itself behind a link", async (t) => {
    const { workspace, outside, problems } = await makePlace(t);
    const place = { workspace: join(outside, "link"), problems };
    await symlink(workspace, place.workspace);
    assert.equal(await insideWorkspace(place, "entry", "entries/a.yml"), "entries/a.yml");
    assert.equal(await insideWorkspace(place, "entry", "out/secret.yml"), undefined);
  });

  it("of a program counts as in the workspace wherever its links lead from", async (t) => {
    const { workspace, outside } = await makePlace(t);
    await mkdir(join(workspace, "bin"));
    await symlink(join(workspace, "bin"), join(outside, "bin"));
    assert.equal(await isInside(workspace, join(outside, "bin", "runtime")), true);
    assert.equal(await isInside(workspace, join(outside, "secret.yml")), false);
  });
});

describe("a path of a journal or an output directory", () => {
  it("may lead to the runner's folder for temporary files, and through no link out of it", async (t) => {
    const { outside: temporary, ...place } = await makePlace(t);
    const runner = { ...place, temporary };
    const file = join(temporary, "new/journal.jsonl");
    assert.equal(await insideWorkspace(runner, "resume", file), file);
    assert.equal(await insideWorkspace(place, "resume", file), undefined);
    await symlink("/etc", join(temporary, "link"));
    for (const value of ["../outside/journal.jsonl", "/etc/passwd", join(temporary, "link/passwd")])
      assert.equal(await insideWorkspace(runner, "resume", value), undefined, value);
  });

  it("may be a folder with journals", async (t) => {
    const { path } = await makeWorkspace(t, {
      "all/b/2.jsonl": "",
      "all/a/1.jsonl": "",
      "all/run.json": "",
      "none/run.json": "",
    });
    const file = join(path, "all/a/1.jsonl");
    assert.deepEqual(await journalsAt(path, "all"), ["all/a/1.jsonl", "all/b/2.jsonl"]);
    assert.deepEqual(await journalsAt(path, file), [file]);
    assert.equal(await journalsAt(path, "none"), "none contains no *.jsonl file.");
    assert.equal(await journalsAt(path, "nowhere"), "nowhere doesn't exist.");
  });
});
