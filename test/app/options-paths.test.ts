import assert from "node:assert/strict";
import { link, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { checkOutputs } from "../../src/app/options-paths.ts";
import { makeWorkspace } from "../rig/workspace.ts";

test("an output may not be an input or another output by any name: itself, a link to it, a hard link, a linked folder", async (t) => {
  const { path } = await makeWorkspace(t, { "entry.yml": "x" });
  const at = (name: string): string => join(path, name);
  await mkdir(at("out"));
  await symlink(at("entry.yml"), at("link.yml"));
  await link(at("entry.yml"), at("hard.yml"));
  await symlink(at("out"), at("linked"));
  for (const name of ["entry.yml", "out/../entry.yml", "link.yml", "hard.yml"]) {
    assert.throws(() => checkOutputs([at("entry.yml")], { journal: at(name) }), /would overwrite/);
  }
  assert.throws(
    () => checkOutputs([], { journal: at("out/new"), recording: at("linked/new") }),
    /would overwrite/,
  );
  checkOutputs([at("entry.yml")], { journal: at("out/a"), recording: at("linked/b") });
  checkOutputs([at("entry.yml")], { journal: at("entry.yml/j"), recording: undefined });
});
