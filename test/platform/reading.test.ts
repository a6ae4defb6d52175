import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  openJudged,
  openToRead,
  openToReadNow,
  readJudged,
  readSmallFile,
  inRealFolder,
} from "../../src/platform/files.ts";
import { makeWorkspace } from "../rig/workspace.ts";

describe("a file that is opened to be read", () => {
  test("is what a link leads to, unless links are refused", async (t) => {
    const { path } = await makeWorkspace(t, { file: "text" });
    symlinkSync("file", join(path, "link"));
    const handle = await openToRead(join(path, "link"), "followed");
    assert.equal(await handle.readFile("utf8"), "text");
    await handle.close();
    await assert.rejects(openToRead(join(path, "link"), "refused"), { code: "ELOOP" });
    assert.throws(() => openToReadNow(join(path, "link"), "refused"), { code: "ELOOP" });
  });

  test("is not waited for if it is a pipe without a writer", async (t) => {
    const { path } = await makeWorkspace(t, {});
    const pipe = join(path, "pipe");
    execFileSync("mkfifo", [pipe]);
    closeSync(openToReadNow(pipe, "refused"));
    await (await openToRead(pipe, "followed")).close();
    assert.equal(readSmallFile(pipe, 1000), undefined);
    assert.equal(readJudged(pipe, 1000), undefined);
    assert.equal(await openJudged(pipe), undefined);
  });
});

test("a small file is a regular one, up to its maximum", async (t) => {
  const { path } = await makeWorkspace(t, { file: "text" });
  const file = join(path, "file");
  symlinkSync("file", join(path, "link"));
  assert.deepEqual(readSmallFile(file, 4), Buffer.from("text"));
  assert.deepEqual(readSmallFile(join(path, "link"), 4), Buffer.from("text"));
  assert.equal(readSmallFile(file, 3), undefined);
  assert.equal(readSmallFile(path, 1000), undefined);
  assert.throws(() => readSmallFile(join(path, "none"), 1000), { code: "ENOENT" });
});

test("a judged file is not read if a folder of its path has become a link since", async (t) => {
  const { path } = await makeWorkspace(t, { "a/file": "judged", "b/file": "other" });
  const file = join(path, "a/file");
  assert.deepEqual(readJudged(file, 1000), Buffer.from("judged"));
  const handle = await openJudged(file);
  assert.equal(await handle?.readFile("utf8"), "judged");
  await handle?.close();
  renameSync(join(path, "a"), join(path, "c"));
  symlinkSync("b", join(path, "a"));
  assert.equal(readJudged(file, 1000), undefined);
  assert.equal(await openJudged(file), undefined);
});

test("a folder is made with those above it, and never through a link, whenever it was made", async (t) => {
  const { path } = await makeWorkspace(t, { "other/file": "" });
  const [folder, other] = [join(path, "a/b/c"), join(path, "other")];
  inRealFolder(folder, () => {});
  assert.ok(existsSync(folder));
  inRealFolder(folder, (at) => {
    renameSync(join(path, "a"), join(path, "moved"));
    mkdirSync(join(path, "a"));
    symlinkSync(other, join(path, "a/b"));
    if (process.platform === "linux") writeFileSync(join(at, "file"), "inside");
  });
  for (const name of ["a/b", "a/b/c/d", "a/b/file"])
    assert.throws(() => inRealFolder(join(path, name), () => {}), /was moved or replaced/);
  symlinkSync(join(path, "none"), join(path, "dangling"));
  assert.throws(() => inRealFolder(join(path, "dangling/d"), () => {}), /was moved or replaced/);
  assert.equal(existsSync(join(path, "none")), false);
  assert.equal(existsSync(join(other, "c")), false);
  if (process.platform === "linux") assert.ok(existsSync(join(path, "moved/b/c/file")));
});
