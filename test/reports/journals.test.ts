import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { RunEvent } from "../../src/events/event.ts";
import { createRunView } from "../../src/events/view.ts";
import { journalLine } from "../../src/journal/read.ts";
import { createJournal } from "../../src/journal/write.ts";
import { thisProcess, type ProcessIdentity } from "../../src/platform/run-folder.ts";
import { isZombie, sendSignal } from "../../src/platform/processes.ts";
import { JournalFolder } from "../../src/reports/journals.ts";
import { story } from "../events/samples.ts";
import { sealed } from "../journal/rig.ts";
import { writeJournals } from "../rig/many-journals.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const lines = sealed(story());
const text = lines.join("");

const readText = (path: string): Promise<string> => readFile(path, "utf8");
const sealedAs = (bodies: readonly object[]): string =>
  bodies.map((fields, seq) => journalLine(seq, fields)).join("");

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
  const { journals, total } = await new JournalFolder(workspace.path).list();
  assert.equal(total, 3);
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
  const [first] = (await folder.list()).journals;
  assert.equal(first?.runs[0]?.status, "running");

  // A file with equal size and time counts as unchanged.
  await workspace.write("b.tmp", half.replaceAll("run", "nur"));
  await utimes(join(workspace.path, "b.tmp"), 100, 100);
  await rename(join(workspace.path, "b.tmp"), file);
  assert.deepEqual((await folder.list()).journals, [first]);

  await appendFile(file, lines.slice(6).join(""));
  await workspace.write("a.jsonl", text);
  assert.equal((await folder.list()).journals[0]?.runs[0]?.status, "failed");
  await rm(file);
  assert.deepEqual(await folder.list(), { journals: [], total: 0 });
});

const isLinux = process.platform === "linux";
const index = ".agent-jobs-journals.json";

test("a folder is listed in pages, and a journal that is new doesn't move the others", async (t) => {
  const { path } = await makeWorkspace(t);
  writeJournals(path, 25, 0);
  // Two of the same time.
  await utimes(join(path, "11.jsonl"), 1_000_012, 1_000_012);
  const folder = new JournalFolder(path);
  const names: string[] = [];
  let next: string | undefined;
  do {
    const page = await folder.list({ limit: 4, ...(next !== undefined && { after: next }) });
    names.push(...page.journals.map(({ name }) => name));
    ({ next } = page);
    await writeFile(join(path, `new-${names.length}.jsonl`), text);
  } while (next !== undefined);
  const expected = Array.from({ length: 25 }, (_, number) => `${24 - number}.jsonl`);
  expected.splice(12, 2, "11.jsonl", "12.jsonl");
  assert.deepEqual(names, expected);
  const { journals } = await folder.list({ run: "run-3" });
  assert.deepEqual(
    journals.map(({ name }) => name),
    ["3.jsonl"],
  );
  assert.deepEqual((await folder.list({ run: "none" })).journals, []);
  assert.deepEqual((await folder.list({ after: "nonsense" })).journals, []);
});

test("an index beside the journals replaces reading them, as long as it fits, and can always be made again", async (t) => {
  const { path } = await makeWorkspace(t);
  writeJournals(path, 30, 2e6);
  const list = async () => (await new JournalFolder(path).list()).journals;
  const whole = await list();
  const written = JSON.parse(await readText(join(path, index)));
  assert.equal(Object.keys(written.journals).length, 30);
  assert.deepEqual(await list(), whole);
  // What it says counts, as these files are what they were.
  written.journals["7.jsonl"].problems = 77;
  written.journals["8.jsonl"] = { size: "no", runs: 5 };
  Object.assign(written.journals["9.jsonl"], { problems: 99 }).runs[0].resumed = "no";
  await writeFile(join(path, index), JSON.stringify(written));
  const problems = async () => (await list()).filter((one) => one.problems > 0);
  assert.deepEqual(
    (await problems()).map((one) => [one.name, one.problems]),
    [["7.jsonl", 77]],
  );
  await appendFile(join(path, "7.jsonl"), "{torn");
  assert.deepEqual(
    (await problems()).map((one) => [one.name, one.problems]),
    [["7.jsonl", 1]],
  );
  await rm(join(path, "7.jsonl"));
  // A file that is written again may have the same size.
  const fifth = await readText(join(path, "5.jsonl"));
  await writeFile(join(path, "5.jsonl"), "x".repeat(fifth.length));
  assert.deepEqual(
    (await problems()).map(({ name }) => name),
    ["5.jsonl"],
  );
  await rm(join(path, "5.jsonl"));
  // The index that another version writes says something else of this file.
  written.journals["6.jsonl"].problems = 66;
  const rest = whole.filter(({ name }) => !["5.jsonl", "7.jsonl"].includes(name));
  for (const planted of [
    "",
    "{",
    "[]",
    "null",
    JSON.stringify({ ...written, version: "0.0.0" }),
    "link",
    "dir",
  ]) {
    await rm(join(path, index), { recursive: true });
    if (planted === "dir") await mkdir(join(path, index));
    else if (planted === "link") await symlink("/dev/zero", join(path, index));
    else await writeFile(join(path, index), planted);
    assert.deepEqual(await list(), rest, planted);
  }
  // Several processes at the same time: one of them has the last word, and nothing else is left.
  await rm(join(path, index), { recursive: true });
  const all = await Promise.all([list(), list(), list()]);
  for (const one of all) assert.deepEqual(one, rest);
  assert.equal((await readdir(path)).filter((name) => !name.endsWith(".jsonl")).join(), index);
});

/** A process that was killed, and whose parent never asks how it has ended. */
async function zombie(t: TestContext): Promise<number> {
  const { path } = await makeWorkspace(t);
  // The shell, which would ask, has become another program when the pid is read.
  const parent = spawn("sh", ["-c", "sleep 60 & echo $! > pid; exec tail -f pid"], { cwd: path });
  t.after(() => parent.kill());
  const [line] = await once(parent.stdout, "data");
  const pid = Number(line);
  sendSignal(pid, "SIGKILL");
  for (const end = Date.now() + 30_000; !isZombie(pid) && Date.now() < end;) await pause(10);
  assert.ok(isZombie(pid));
  return pid;
}

test("a run whose process is gone is interrupted, unless it was on another machine", async (t) => {
  const { path } = await makeWorkspace(t);
  const child = spawn("true");
  await once(child, "exit");
  const mine = thisProcess();
  const gone: ProcessIdentity = { ...mine, pid: child.pid ?? 0, started: "1" };
  const unreaped = isLinux ? { ...mine, pid: await zombie(t), started: "" } : gone;
  const header = (process?: ProcessIdentity): object => ({
    type: "journal",
    at: 1,
    format: "agent-jobs journal",
    process,
  });
  const begun = story().slice(0, 5);
  const later = begun.map((event) => ({ ...event, runId: "later" }));
  const cases = {
    mine: [[header(mine), ...begun], "running"],
    gone: [[header(gone), ...begun], "interrupted"],
    unreaped: [[header(unreaped), ...begun], "interrupted"],
    "another-start": [[header({ ...mine, started: "1" }), ...begun], "interrupted"],
    elsewhere: [[header({ ...gone, place: "another" }), ...begun], "running"],
    unknown: [[header(), ...begun], "running"],
    ended: [[header(gone), ...story()], "failed"],
    // Another process has gone on in the file.
    continued: [[header(mine), ...begun, header({ ...mine }), ...later], "interrupted,running"],
  } as const;
  for (const [name, [bodies]] of Object.entries(cases))
    await writeFile(join(path, `${name}.jsonl`), sealedAs(bodies));
  // From the files, and from the index.
  for (const _ of [1, 2]) {
    const { journals } = await new JournalFolder(path).list();
    for (const { name, runs } of journals)
      assert.equal(
        runs.map(({ status }) => status).join(),
        Object.entries(cases).find(([key]) => `${key}.jsonl` === name)?.[1][1],
        name,
      );
    writeJournals(join(path), 1, 2e6);
    await new JournalFolder(path).list();
    await rm(join(path, "0.jsonl"));
  }
});

test("a journal says which process writes it", async (t) => {
  const { path } = await makeWorkspace(t);
  const journal = createJournal(join(path, "own.jsonl"));
  const view = createRunView();
  for (const event of story().slice(0, 5)) journal.report(event, view);
  const [own] = (await new JournalFolder(path).list()).journals;
  assert.equal(own?.runs[0]?.status, "running");
  assert.match(await readText(join(path, "own.jsonl")), new RegExp(`"pid":${process.pid}`));
  await journal.close?.();
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
  assert.deepEqual(await folder.list(), { journals: [], total: 0 });
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
