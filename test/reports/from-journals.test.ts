import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { RunEvent } from "../../src/events/event.ts";
import {
  journalFiles,
  reportOfJournals,
  type JournalsReport,
} from "../../src/reports/from-journals.ts";
import { story } from "../events/samples.ts";
import { sealed } from "../journal/rig.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

function runOf(runId: string, startAt = 0): RunEvent[] {
  return story().map((event) => ({ ...event, runId, at: event.at + startAt }));
}

function eventsIn({ events }: JournalsReport): RunEvent[] {
  const lines = gunzipSync(Buffer.concat(events)).toString().split("\n");
  return lines.filter((line) => line !== "").map((line): RunEvent => JSON.parse(line));
}

async function write(workspace: Workspace, name: string, events: readonly RunEvent[]) {
  return workspace.write(name, sealed(events).join(""));
}

test("the events of all journals are embedded, one run after the other, runs by their start", async (t) => {
  const workspace = await makeWorkspace(t);
  const late = await write(workspace, "a.jsonl", runOf("late", 1_000_000));
  const early = await write(workspace, "b.jsonl", [...runOf("early"), ...runOf("second", 5)]);
  const report = await reportOfJournals([late, early]);
  assert.deepEqual(
    report.runs.map(({ runId, journals }) => [runId, journals]),
    [
      ["early", [1]],
      ["second", [1]],
      ["late", [0]],
    ],
  );
  assert.deepEqual(eventsIn(report), [
    ...runOf("late", 1_000_000),
    ...runOf("early"),
    ...runOf("second", 5),
  ]);
  assert.deepEqual([report.intact, report.readable], [true, true]);
});

test("a run that several journals contain is shown once, from the one that has most of it", async (t) => {
  const workspace = await makeWorkspace(t);
  const whole = runOf("r");
  const files = [
    await write(workspace, "killed.jsonl", whole.slice(0, 5)),
    await write(workspace, "merged.jsonl", [...runOf("other", 50), ...whole]),
    await write(workspace, "copy.jsonl", whole),
  ];
  const report = await reportOfJournals(files);
  assert.deepEqual(
    report.runs.map(({ runId, status, journals }) => [runId, status, journals]),
    [
      ["r", "failed", [1, 2, 0]],
      ["other", "failed", [1]],
    ],
  );
  assert.deepEqual(eventsIn(report), [...runOf("other", 50), ...whole]);
});

test("a report is not larger than twice its journals, whatever they contain", async (t) => {
  const workspace = await makeWorkspace(t);
  const kinds: readonly (() => string)[] = [
    () => randomBytes(3000).toString("base64"),
    () => randomBytes(3000).toString("latin1"),
    () => String.fromCharCode(...new Uint16Array(randomBytes(4000).buffer)),
    () => "word ".repeat(800),
  ];
  for (const [index, text] of kinds.entries()) {
    const events = Array.from({ length: 200 }, (_, at): RunEvent => ({
      at,
      runId: "r",
      type: "decision",
      work: null,
      decision: { kind: "note", text: text() },
    }));
    const file = await write(workspace, `${index}.jsonl`, events);
    const { events: embedded } = await reportOfJournals([file]);
    const base64 = (embedded.reduce((sum, { length }) => sum + length, 0) * 4) / 3;
    const { size } = await stat(file);
    assert.ok(base64 <= 2 * size, `${base64} of ${size}`);
  }
});

test("what is readable of a damaged journal is shown, with what is wrong with it", async (t) => {
  const workspace = await makeWorkspace(t);
  const lines = sealed(runOf("r"));
  const damaged = await workspace.write(
    "damaged.jsonl",
    lines.with(3, (lines[3] ?? "").replace(/"at":\d+/, '"at":"1"')).join(""),
  );
  const torn = await workspace.write("torn.jsonl", sealed(runOf("t")).join("").slice(0, -10));
  const text = await workspace.write("notes.jsonl", "hello\n");
  const missing = join(workspace.path, "missing.jsonl");

  const report = await reportOfJournals([damaged, torn, text, missing]);
  assert.deepEqual([report.intact, report.readable], [false, true]);
  assert.deepEqual(
    report.runs.map(({ runId, status }) => [runId, status]),
    [
      ["r", "failed"],
      ["t", "running"],
    ],
  );
  assert.equal(eventsIn(report).length, 2 * story().length - 2);
  assert.deepEqual(
    report.journals.map(({ problems }) => problems.map(({ line, kind }) => [line, kind])),
    [[[4, "damaged"]], [[lines.length, "torn"]], [[1, "damaged"]], [[1, "damaged"]]],
  );
  assert.match(report.journals[3]?.problems[0]?.reason ?? "", /can't be read: ENOENT/);

  assert.deepEqual((await reportOfJournals([torn])).intact, true);
  const nothing = await reportOfJournals([text, missing]);
  assert.deepEqual([nothing.readable, nothing.runs], [false, []]);
});

test("a folder stands for the *.jsonl files in it and below, and a file that is named twice is read once", async (t) => {
  const workspace = await makeWorkspace(t, {
    "b.jsonl": "",
    "a.jsonl": "",
    "a.json": "",
    "inner.jsonl/c.jsonl": "",
  });
  const named = (...names: readonly string[]): string[] =>
    names.map((name) => join(workspace.path, name));
  const below = "inner.jsonl/c.jsonl";
  assert.deepEqual(await journalFiles([workspace.path]), named("a.jsonl", "b.jsonl", below));
  assert.deepEqual(
    await journalFiles([...named("b.jsonl"), workspace.path, ...named("no.jsonl", "a.json")]),
    named("b.jsonl", "a.jsonl", below, "no.jsonl", "a.json"),
  );
});
