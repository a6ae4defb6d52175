import assert from "node:assert/strict";
import { appendFile, rename, rm, symlink, utimes } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { RunEvent } from "../../src/events/event.ts";
import { JournalFolder } from "../../src/reports/journals.ts";
import { story } from "../events/samples.ts";
import { sealed } from "../journal/rig.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const lines = sealed(story());
const text = lines.join("");

async function textOf(pieces: AsyncIterable<string> | undefined): Promise<string | undefined> {
  if (pieces === undefined) return undefined;
  let whole = "";
  for await (const piece of pieces) whole += piece;
  return whole;
}

test("the journals of a folder are listed with their runs, the latest first", async (t) => {
  const workspace = await makeWorkspace(t, { "notes.txt": "x", "sub/c.jsonl": text });
  await utimes(await workspace.write("old.jsonl", text), 100, 100);
  await utimes(await workspace.write("new.jsonl", text.slice(0, -20)), 200, 200);
  await utimes(await workspace.write("other.jsonl", "hello\n"), 50, 50);
  const journals = await new JournalFolder(workspace.path).list();
  assert.deepEqual(
    journals.map(({ name, size, modified, runs, problems }) => ({
      name,
      size,
      modified,
      problems,
      runs: runs.map(({ runId, jobName, status }) => [runId, jobName, status]),
    })),
    [
      {
        name: "new.jsonl",
        size: Buffer.byteLength(text) - 20,
        modified: "1970-01-01T00:03:20.000Z",
        problems: 1,
        runs: [["run", "nightly", "running"]],
      },
      {
        name: "old.jsonl",
        size: Buffer.byteLength(text),
        modified: "1970-01-01T00:01:40.000Z",
        problems: 0,
        runs: [["run", "nightly", "failed"]],
      },
      { name: "other.jsonl", size: 6, modified: "1970-01-01T00:00:50.000Z", problems: 1, runs: [] },
    ],
  );
});

test("a journal is summarized again when it has changed, and only then", async (t) => {
  const workspace = await makeWorkspace(t);
  const half = lines.slice(0, 6).join("");
  const file = await workspace.write("a.jsonl", half);
  await utimes(file, 100, 100);
  const folder = new JournalFolder(workspace.path);
  const [first] = await folder.list();
  assert.equal(first?.runs[0]?.status, "running");

  // A file with equal size and time counts as unchanged.
  await workspace.write("b.tmp", half.replaceAll("run", "nur"));
  await utimes(join(workspace.path, "b.tmp"), 100, 100);
  await rename(join(workspace.path, "b.tmp"), file);
  assert.deepEqual(await folder.list(), [first]);

  await appendFile(file, lines.slice(6).join(""));
  await workspace.write("a.jsonl", text);
  assert.equal((await folder.list())[0]?.runs[0]?.status, "failed");
  await rm(file);
  assert.deepEqual(await folder.list(), []);
});

test("a journal is read as the events that it contains", async (t) => {
  const workspace = await makeWorkspace(t, { "a.jsonl": text });
  const folder = new JournalFolder(workspace.path);
  const events = ((await textOf(await folder.read("a.jsonl"))) ?? "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line): RunEvent => JSON.parse(line));
  assert.deepEqual(events, story());
  await workspace.write("a.jsonl", lines.slice(0, 4).join("") + "{torn");
  assert.equal((await textOf(await folder.read("a.jsonl")))?.split("\n").length, 4);
});

test("nothing is read but the journals of the folder itself", async (t) => {
  const workspace = await makeWorkspace(t, { "outside.jsonl": text, "in/notes.txt": text });
  const inside = join(workspace.path, "in");
  await symlink(join(workspace.path, "outside.jsonl"), join(inside, "link.jsonl"));
  await symlink(workspace.path, join(inside, "up.jsonl"));
  await symlink("/dev/zero", join(inside, "zero.jsonl"));
  await workspace.write("in/folder.jsonl/x.jsonl", text);
  const folder = new JournalFolder(inside);
  assert.deepEqual(await folder.list(), []);
  for (const name of [
    "../outside.jsonl",
    "..\\outside.jsonl",
    join(workspace.path, "outside.jsonl"),
    "folder.jsonl/x.jsonl",
    "folder.jsonl",
    "link.jsonl",
    "up.jsonl",
    "zero.jsonl",
    "notes.txt",
    "missing.jsonl",
    "",
    ".jsonl\0",
    "x\0.jsonl",
    "..",
  ])
    assert.equal(await folder.read(name), undefined, name);
});

test("a folder that can't be read is an error", async (t) => {
  const workspace = await makeWorkspace(t);
  await assert.rejects(new JournalFolder(join(workspace.path, "missing")).list(), /ENOENT/);
});
