import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import type { RunEvent } from "../../src/events/event.ts";
import { applyEvent, createRunView, type RunView } from "../../src/events/view.ts";
import {
  createJournal,
  createJournalReporter,
  parseJournal,
  type JournalFile,
} from "../../src/journal/journal.ts";
import * as samples from "../events/samples.ts";

function folder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "journal-test-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A file in memory whose writes take as many bytes as `take` says. */
function memory(take: (left: number) => number): JournalFile & { text(): string; writes: number } {
  const bytes: number[] = [];
  return {
    writes: 0,
    write(chunk, offset) {
      this.writes += 1;
      const part = chunk.slice(offset, offset + take(chunk.length - offset));
      bytes.push(...part);
      return part.length;
    },
    close() {},
    text: () => new TextDecoder().decode(Uint8Array.from(bytes)),
  };
}

function fold(events: readonly RunEvent[]): RunView {
  const view = createRunView();
  for (const event of events) applyEvent(view, event);
  return view;
}

function isDelta(event: RunEvent): boolean {
  return event.type === "activity" && event.activity.kind.endsWith(".delta");
}

const note = (text: string): RunEvent => ({
  at: 7,
  runId: "run",
  type: "decision",
  work: null,
  decision: { kind: "note", text },
});

test("a journal is a header and a numbered line for each event, in folders that are made for it", async (context) => {
  const path = join(folder(context), "a", "b", "run.jsonl");
  const journal = createJournal(path, () => 1234);
  journal.report(note("one\ntwo"));
  // Not only after closing: a killed process leaves what was reported.
  assert.deepEqual(readFileSync(path, "utf8").split("\n"), [
    '{"v":1,"seq":0,"type":"journal","at":1234,"format":"agent-jobs journal"}',
    '{"v":1,"seq":1,"at":7,"runId":"run","type":"decision","work":null,"decision":{"kind":"note","text":"one\\ntwo"}}',
    "",
  ]);
  await journal.close?.();
});

test("a new journal replaces the file that was there", async (context) => {
  const path = join(folder(context), "run.jsonl");
  writeFileSync(path, "old\n".repeat(1000));
  await createJournal(path, () => 1).close?.();
  assert.equal(readFileSync(path, "utf8").split("\n").length, 2);
});

test("a place where no journal can be is refused before the run", (context) => {
  assert.throws(() => createJournal(folder(context), () => 1), /EISDIR/);
});

test("deltas are left out", () => {
  const file = memory((left) => left);
  const journal = createJournalReporter(file, () => 1);
  for (const event of samples.story()) journal.report(event);
  assert.ok(!file.text().includes("delta"));
  assert.equal(file.writes, 1 + samples.story().filter((event) => !isDelta(event)).length);
});

test("a write that takes only a part is completed", () => {
  const file = memory((left) => Math.min(left, 5));
  const journal = createJournalReporter(file, () => 1);
  journal.report(note("ü".repeat(50)));
  const { events, problems } = parseJournal(file.text());
  assert.deepEqual(problems, []);
  assert.deepEqual(events, [note("ü".repeat(50))]);
});

test("a full disk is told once and ends the journal, not the run", async () => {
  let room = 2;
  const file: JournalFile = {
    write(bytes, offset) {
      room -= 1;
      if (room < 0) throw new Error("ENOSPC: no space left on device");
      return bytes.length - offset;
    },
    close() {},
  };
  const journal = createJournalReporter(file, () => 1);
  journal.report(note("1"));
  assert.throws(() => journal.report(note("2")), /The journal ends after 2 lines: ENOSPC/);
  room = 100;
  journal.report(note("3"));
  assert.equal(room, 100);
  await journal.close?.();
});

test("a file that takes nothing is a failure and no endless loop, also for the header", () => {
  const journal = createJournalReporter({ write: () => 0, close() {} }, () => 1);
  assert.throws(() => journal.report(note("1")), /The journal ends after 0 lines/);
  journal.report(note("2"));
});

test("a journal that was deleted during the run is told at the end", async (context) => {
  const path = join(folder(context), "deep", "run.jsonl");
  const journal = createJournal(path, () => 1);
  rmSync(join(path, ".."), { recursive: true });
  journal.report(note("1"));
  await assert.rejects(async () => journal.close?.(), /was deleted during the run/);
});

test("folding a journal gives the view of the live events", () => {
  fc.assert(
    fc.property(samples.events, (events) => {
      const file = memory((left) => left);
      const journal = createJournalReporter(file, () => 1);
      for (const event of events) journal.report(event);
      const parsed = parseJournal(file.text());
      assert.deepEqual(parsed.problems, []);
      assert.equal(parsed.torn, false);
      // What JSON cannot say (a lone surrogate) has to be lost on both sides.
      const live = JSON.parse(JSON.stringify(events.filter((event) => !isDelta(event))));
      assert.deepEqual(parsed.events, live);
      assert.deepEqual(fold(parsed.events), fold(live));
    }),
  );
});

test("a torn last line is reported, and everything before it is read", () => {
  const file = memory((left) => left);
  const journal = createJournalReporter(file, () => 1);
  for (const event of samples.story()) journal.report(event);
  const text = file.text();
  fc.assert(
    fc.property(fc.integer({ min: 1, max: text.length - 1 }), (length) => {
      const cut = text.slice(0, length);
      const { events, problems, torn } = parseJournal(cut);
      const whole = cut.split("\n").length - 1;
      assert.equal(events.length, Math.max(0, whole - 1));
      assert.equal(torn, !cut.endsWith("\n"));
      assert.equal(problems.length, torn ? 1 : 0);
    }),
  );
});

function line(seq: number, event: object): string {
  return JSON.stringify({ v: 1, seq, ...event });
}

test("lines that are damaged, missing, foreign or newer are reported and left out", () => {
  const text = [
    line(0, { type: "journal", at: 1 }),
    line(1, note("1")),
    "not json",
    "[1]",
    line(4, note("4")),
    line(7, note("7")),
    line(8, { at: 1, runId: "run", type: "work.started", work: null }),
    line(9, { at: 1, type: "something.new" }),
    JSON.stringify({ v: 2, seq: 10, ...note("10") }),
    "",
  ].join("\n");
  const { events, problems } = parseJournal(text);
  assert.deepEqual(events, [note("1"), note("4"), note("7")]);
  assert.deepEqual(
    problems.map(({ line, reason }) => `${line}: ${reason}`),
    [
      "3: The line is not JSON.",
      "4: The line is not a JSON object.",
      "6: Lines are missing: expected number 5, found 7.",
      '7: An event of type "work.started" is not known or not whole.',
      '8: An event of type "something.new" is not known or not whole.',
      "9: Version 2 is not 1, the one this program reads.",
    ],
  );
  assert.deepEqual(parseJournal("").problems, [{ line: 1, reason: "The journal is empty." }]);
  assert.deepEqual(parseJournal(`${line(1, note("1"))}\n`).problems, [
    { line: 1, reason: "The header is missing." },
  ]);
});

test("reading never throws, whatever the text, and what it reads can be folded", () => {
  const value = fc.oneof(fc.jsonValue(), samples.body);
  const lines = fc.array(
    fc.oneof(
      fc.string(),
      fc
        .tuple(fc.nat(), value)
        .map(([seq, body]) => JSON.stringify({ v: 1, seq, at: 1, ...Object(body) })),
    ),
  );
  fc.assert(
    fc.property(lines, (lines) => {
      fold(parseJournal(lines.join("\n")).events);
    }),
  );
});
