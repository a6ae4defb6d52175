import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  openJudged,
  openToRead,
  openToReadNow,
  readJudged,
  readSmallFile,
} from "../../src/platform/reading.ts";
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
