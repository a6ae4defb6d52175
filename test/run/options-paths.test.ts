import assert from "node:assert/strict";
import { link, mkdir, symlink, truncate } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { asFlag } from "../../src/run/options.ts";
import { checkOutputs, readUserInputFile } from "../../src/run/options-paths.ts";
import { checkRecords } from "../../src/run/records.ts";
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
  for (const record of ["journal", "record", "htmlReport", "history"]) {
    assert.throws(
      () => checkRecords([at("entry.yml")], { [record]: at("link.yml") }),
      /would overwrite/,
      record,
    );
  }
  checkOutputs([at("entry.yml")], { journal: at("out/a"), recording: at("linked/b") });
  checkOutputs([at("entry.yml")], { journal: at("entry.yml/j"), recording: undefined });
});

test("a file of user input that can't be read is named by its option; where others may have made it, it is a regular file of up to 10 MB", async (t) => {
  const { path } = await makeWorkspace(t, { "input.txt": "hello\n", "large.txt": "" });
  const at = (name: string): string => join(path, name);
  await truncate(at("large.txt"), 10 * 1024 * 1024 + 1);
  assert.equal(await readUserInputFile(at("input.txt"), asFlag), "hello\n");
  const refused = (name: string): Promise<string> =>
    readUserInputFile(at(name), asFlag, { regular: true });
  await assert.rejects(refused("missing"), /^UsageError: Can't read --user-input-file: ENOENT/);
  await assert.rejects(refused("."), /it is not a regular file/);
  await assert.rejects(refused("large.txt"), /it has 10485761 bytes/);
  assert.equal(await refused("input.txt"), "hello\n");
});
