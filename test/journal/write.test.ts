import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import * as fc from "fast-check";
import type { RunEvent } from "../../src/events/event.ts";
import { parseJournal } from "../../src/journal/read.ts";
import {
  createJournal,
  createJournalReporter,
  isKept,
  type JournalFile,
} from "../../src/journal/write.ts";
import * as samples from "../events/samples.ts";
import { holds } from "../rig/fuzz.ts";
import { fold, memory, note, sealed } from "./rig.ts";
import { tell } from "../rig/tell.ts";

function folder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "journal-test-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function append(path: string, text: string): Promise<void> {
  const journal = createJournal(path, { append: true });
  tell(journal, note(text));
  await journal.close?.();
}

test("a journal is a header and a numbered line for each event, in folders that are made for it", async (context) => {
  const path = join(folder(context), "a", "b", "run.jsonl");
  const journal = createJournal(path, { now: () => 1234 });
  tell(journal, note("one\ntwo"));
  // Not only after closing: a killed process leaves what was reported.
  const [header = "", ...lines] = readFileSync(path, "utf8").split("\n");
  const { process: writer, ...others } = JSON.parse(header);
  assert.deepEqual(others, {
    v: 3,
    seq: 0,
    type: "journal",
    at: 1234,
    format: "agent-jobs journal",
  });
  assert.equal(writer.pid, process.pid);
  assert.deepEqual(lines, [
    '{"v":3,"seq":1,"at":7,"runId":"run","type":"decision","work":null,"decision":{"kind":"note","text":"one\\ntwo"}}',
    "",
  ]);
  await journal.close?.();
});

test("a new journal replaces the file that was there", async (context) => {
  const path = join(folder(context), "run.jsonl");
  writeFileSync(path, "old\n".repeat(1000));
  await createJournal(path).close?.();
  assert.equal(readFileSync(path, "utf8").split("\n").length, 2);
});

test("a journal that is abandoned before its first event leaves the file as it was", (context) => {
  const path = join(folder(context), "run.jsonl");
  writeFileSync(path, "old\n");
  createJournal(path).abandon();
  assert.equal(readFileSync(path, "utf8"), "old\n");
});

test("a place where no journal can be is refused before the run", (context) => {
  assert.throws(() => createJournal(folder(context)), /EISDIR/);
});

test("deltas are left out, and activities of one round of the event loop are written together", async () => {
  const file = memory((left) => left);
  const journal = createJournalReporter(file, () => 1);
  const isActivity = ({ type }: RunEvent): boolean => type === "activity";
  const story = samples.story().slice(0, samples.story().findLastIndex(isActivity) + 1);
  tell(journal, ...story);
  await setImmediate();
  assert.ok(!file.text().includes("delta"));
  assert.equal(file.writes, story.filter((event) => !isActivity(event)).length + 1);
  assert.equal(file.text().trimEnd().split("\n").length, 1 + story.filter(isKept).length);
});

test("a write that takes only a part is completed", () => {
  const file = memory((left) => Math.min(left, 5));
  const journal = createJournalReporter(file, () => 1);
  tell(journal, note("ü".repeat(50)));
  const { events, problems } = parseJournal(file.text());
  assert.deepEqual(problems, []);
  assert.deepEqual(events, [note("ü".repeat(50))]);
});

test("a full disk is told once and ends the journal, not the run", async () => {
  let room = 1;
  const file: JournalFile = {
    write(bytes, offset) {
      room -= 1;
      if (room < 0) throw new Error("ENOSPC: no space left on device");
      return bytes.length - offset;
    },
    close() {},
  };
  const journal = createJournalReporter(file, () => 1);
  tell(journal, note("1"));
  assert.throws(() => tell(journal, note("2")), /The journal ends after 2 lines: ENOSPC/);
  room = 100;
  tell(journal, note("3"));
  assert.equal(room, 100);
  await journal.close?.();
});

test("folding a journal gives the view of the live events", async (t) => {
  await holds(
    t,
    fc.property(samples.events, (events) => {
      const file = memory((left) => left);
      const journal = createJournalReporter(file, () => 1);
      tell(journal, ...events);
      void journal.close?.();
      const parsed = parseJournal(file.text());
      assert.deepEqual(parsed.problems, []);
      assert.equal(parsed.torn, false);
      // A lone surrogate, which JSON cannot hold, has to be lost on both sides.
      const live = JSON.parse(JSON.stringify(events.filter(isKept)));
      assert.deepEqual(parsed.events, live);
      assert.deepEqual(fold(parsed.events), fold(live));
    }),
    200,
  );
});

test("a journal is continued: its numbers go on", async (context) => {
  const path = join(folder(context), "a", "run.jsonl");
  for (const text of ["1", "2", "3"]) await append(path, text);
  const { events, problems } = parseJournal(readFileSync(path, "utf8"));
  assert.deepEqual([events, problems], [[note("1"), note("2"), note("3")], []]);
});

test("a torn line is removed when the journal is continued, and the journal says so", async (context) => {
  const path = join(folder(context), "run.jsonl");
  const first = createJournal(path);
  tell(first, note("ü 1"));
  tell(first, note("ü 2"));
  await first.close?.();
  const text = readFileSync(path);
  for (const cut of [1, 30, 5]) {
    writeFileSync(path, text.subarray(0, text.length - cut));
    for (const said of ["3", "4"]) await append(path, said);
    const { events, problems, torn } = parseJournal(readFileSync(path, "utf8"));
    assert.deepEqual([events, torn], [[note("ü 1"), note("3"), note("4")], false]);
    assert.equal(problems.map(({ line, kind }) => `${line} ${kind}`).join(), "3 removed");
    assert.match(problems[0]?.reason ?? "", /^A torn line of \d+ bytes was removed/);
  }
  // A torn first line leaves nothing.
  writeFileSync(path, text.subarray(0, 20));
  await append(path, "1");
  assert.deepEqual(parseJournal(readFileSync(path, "utf8")).events, [note("1")]);
});

test("a journal with events of unknown types is continued", async (context) => {
  const path = join(folder(context), "run.jsonl");
  const lines = sealed([note("1"), { at: 1, runId: "run", type: "budget.changed" }]);
  writeFileSync(path, lines.join(""));
  await append(path, "2");
  const { events, problems } = parseJournal(readFileSync(path, "utf8"));
  assert.deepEqual(events, [note("1"), note("2")]);
  assert.equal(problems.map(({ kind }) => kind).join(), "unknown");
});

test("what is damaged, foreign or of another version is not continued, and not touched", async (context) => {
  const path = join(folder(context), "run.jsonl");
  const journal = createJournal(path);
  for (const text of ["1", "2", "3"]) tell(journal, note(text));
  await journal.close?.();
  const whole = readFileSync(path, "utf8");
  const lines = whole.split("\n");
  for (const [content, why] of [
    [whole.replace('"text":"2"', '"text":2'), /line 3: Invalid event\./],
    [lines.toSpliced(2, 1).join("\n"), /line 3: Expected number 2, found 3/],
    [whole.replace('"v":3', '"v":1'), /line 1: This journal has version 1, of an older/],
    ["# Notes\n", /the file is not a journal/],
    ['{"a":1}\n', /the file is not a journal/],
    ["Notes", /the file is not a journal/],
  ] as const) {
    writeFileSync(path, content);
    assert.throws(
      () => createJournal(path, { append: true }),
      (error: Error) => error.message.includes("can't be continued") && why.test(error.message),
    );
    assert.equal(readFileSync(path, "utf8"), content);
  }
});
