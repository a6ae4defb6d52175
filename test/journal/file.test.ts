import assert from "node:assert/strict";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import type { RunEvent } from "../../src/events/event.ts";
import {
  KEPT_PROBLEMS,
  openJournalFile,
  readJournalFile,
  readJournalIn,
} from "../../src/journal/file.ts";
import { readJournal } from "../../src/journal/read.ts";
import { holds } from "../rig/fuzz.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { note, sealed } from "./rig.ts";

async function read(
  path: string,
  options: Parameters<typeof readJournalFile>[2] = {},
): Promise<Awaited<ReturnType<typeof readJournalFile>> & { readonly events: RunEvent[] }> {
  const events: RunEvent[] = [];
  const condition = await readJournalFile(path, (part) => void events.push(...part), options);
  return { ...condition, events };
}

async function fileOf(t: TestContext, bytes: string | Uint8Array): Promise<string> {
  const { path } = await makeWorkspace(t);
  const file = join(path, "run.jsonl");
  await writeFile(file, bytes);
  return file;
}

const journal = sealed(["ä", "𝄞", "x".repeat(300), "\u2028", "end"].map(note));

test("a file is read as its text is, however it is damaged", async (t) => {
  const { path } = await makeWorkspace(t);
  const file = join(path, "run.jsonl");
  const damage = fc.record({
    at: fc.nat({ max: Buffer.byteLength(journal.join("")) }),
    remove: fc.nat({ max: 40 }),
    insert: fc.constantFrom("", "\n", "\r\n", "{}\n", "x", journal[2] ?? "", "\xff"),
  });
  await holds(
    t,
    fc.asyncProperty(fc.array(damage, { maxLength: 3 }), async (damages) => {
      let bytes = Buffer.from(journal.join(""));
      for (const { at, remove, insert } of damages) {
        const after = bytes.subarray(at + remove);
        bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(insert, "latin1"), after]);
      }
      await writeFile(file, bytes);
      const { events, problems, isJournal } = readJournal(bytes.toString());
      const found = { events, problems, moreProblems: 0, isJournal };
      assert.deepEqual(await read(file), found);
    }),
    100,
  );
});

test("a journal of several parts is read whole, and its characters are not cut", async (t) => {
  const texts = Array.from({ length: 300 }, (_, n) => note(`${"𝄞é".repeat(2000)} ${n}`));
  const lines = sealed(texts);
  const { events, problems } = await read(await fileOf(t, lines.join("")));
  assert.deepEqual(problems, []);
  assert.deepEqual(events, texts);
});

test("a store may yield a journal in pieces of any size", async () => {
  const text = journal.join("");
  const bytes = Buffer.from(text);
  const { events, problems } = readJournal(text);
  for (const pieces of [
    Array.from(text),
    [...bytes].map((byte) => Uint8Array.of(byte)),
    [bytes, ""],
  ]) {
    async function* parts(): AsyncIterable<string | Uint8Array> {
      yield* pieces;
    }
    const reading = readJournalIn(parts());
    const found: RunEvent[] = [];
    for await (const some of reading.events) found.push(...some);
    assert.deepEqual(found, events);
    assert.deepEqual(reading.condition().problems, problems);
  }
});

test("the next part is read when the previous one was taken", async (t) => {
  const texts = Array.from({ length: 300 }, (_, n) => note(`${"x".repeat(20_000)} ${n}`));
  const { events } = await openJournalFile(await fileOf(t, sealed(texts).join("")));
  let parts = 0;
  for await (const part of events) {
    parts += 1;
    assert.ok(part.length < 200, `${part.length} of 300 events in one part`);
    if (parts === 2) break;
  }
  assert.equal(parts, 2);
});

test("by line, an event is given before the next is parsed", async () => {
  async function* parts(): AsyncIterable<string> {
    yield sealed([note("a"), note("b")]).join("");
    assert.fail("nothing further is read");
  }
  const counts: number[] = [];
  for await (const events of readJournalIn(parts(), { byLine: true }).events) {
    counts.push(events.length);
    if (counts.length === 2) break;
  }
  assert.deepEqual(counts, [1, 1]);
});

test("of many problems the first ones are kept, and the others counted", async (t) => {
  const damaged = `${sealed([note("a")]).join("")}${"{}\n".repeat(KEPT_PROBLEMS + 50)}`;
  const { problems, moreProblems, events } = await read(await fileOf(t, damaged));
  assert.deepEqual([problems.length, moreProblems, events.length], [KEPT_PROBLEMS, 50, 1]);
});

test("a file of another kind is one problem, and is not read to its end", async (t) => {
  for (const bytes of [
    "hello\n",
    "\n".repeat(50_000),
    `${"{}\n".repeat(2000)}${journal.join("")}`,
  ]) {
    const { problems, isJournal, events } = await read(await fileOf(t, bytes));
    assert.deepEqual(
      [isJournal, problems, events],
      [false, [{ line: 1, reason: "The file is not a journal.", kind: "damaged" }], []],
    );
  }
});

test("folders, pipes and devices are refused at once; links if that is asked for", async (t) => {
  const { path } = await makeWorkspace(t);
  await assert.rejects(openJournalFile(path), /it is a folder/);
  await assert.rejects(openJournalFile("/dev/zero"), /not a regular file/);
  const link = join(path, "link.jsonl");
  await symlink(await fileOf(t, journal.join("")), link);
  assert.equal((await read(link)).events.length, 5);
  await assert.rejects(openJournalFile(link, { links: "refused" }), /ELOOP/);
});
