import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { workflowLimits } from "../../src/entry/model.ts";
import type { RunEvent } from "../../src/events/event.ts";
import { parseJournal } from "../../src/journal/read.ts";
import { everyEvent } from "../events/every-event.ts";
import * as samples from "../events/samples.ts";
import { holds } from "../rig/fuzz.ts";
import { fold, note, sealed } from "./rig.ts";

const linesOf = ({ problems }: ReturnType<typeof parseJournal>): number[] =>
  problems.map(({ line }) => line);

const said = ({ problems }: ReturnType<typeof parseJournal>): string[] =>
  problems.map(({ line, reason }) => `${line}: ${reason}`);

/** Every event, with the stamp of a run. */
const every = everyEvent.map((body, at): RunEvent => ({ at, runId: "run", ...body }));

test("every event is read back as it was written", () => {
  const read = parseJournal(sealed(every).join(""));
  assert.deepEqual(read, { events: every, problems: [], torn: false });
});

/** The paths of all fields, those of the lists too. */
function pathsOf(value: unknown): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => [
    [name],
    ...(isGiven(value, name) ? [] : pathsOf(item).map((path) => [name, ...path])),
  ]);
}

/** A model may send anything to a tool, and a task may hand in anything. */
function isGiven(value: unknown, name: string): boolean {
  return ["arguments", "values"].includes(name) || Object(value).type === `${name}.given`;
}

function replaced(value: unknown, [name, ...rest]: readonly string[], by: unknown): object {
  const copy: Record<string, unknown> = Object.assign(Array.isArray(value) ? [] : {}, value);
  copy[name ?? ""] = rest.length > 0 ? replaced(copy[name ?? ""], rest, by) : by;
  return copy;
}

test("a field of another type is reported with its line, wherever it is, and all other lines are used", () => {
  let fields = 0;
  const others = [note("before"), note("after")];
  for (const event of every) {
    for (const path of pathsOf(event)) {
      if (isGiven(path.length === 1 ? event : {}, path.at(-1) ?? "")) continue;
      fields += 1;
      const damaged: object = JSON.parse(JSON.stringify(replaced(event, path, [true])));
      const { events, problems } = parseJournal(
        sealed([note("before"), damaged, note("after")]).join(""),
      );
      const where = `${event.type} ${path.join(".")}`;
      assert.equal(problems.map(({ line, kind }) => `${line} ${kind}`).join(), "3 damaged", where);
      assert.deepEqual(events, others, where);
    }
  }
  assert.ok(fields > 400, `${fields} fields`);
});

test("a plan of an earlier version, which names fewer limits, is read", () => {
  const [started] = every;
  assert.ok(started?.type === "run.started");
  const later = new Set<string>([
    "cost",
    "rateLimitMinutes",
    "runsPerDay",
    "runsPerActorPerDay",
    ...workflowLimits,
  ]);
  const limits = Object.fromEntries(
    Object.entries(started.limits).filter(([name]) => !later.has(name)),
  );
  assert.equal(Object.keys(limits).length, 8);
  assert.deepEqual(said(parseJournal(sealed([{ ...started, limits }]).join(""))), []);
  const wrong = { ...started, limits: { ...limits, cost: { value: -1, source: "default" } } };
  assert.equal(parseJournal(sealed([wrong]).join("")).problems.length, 1);
});

test("an intact event of an unknown type is skipped, and is no damage", () => {
  const added = { at: 1, runId: "run", type: "budget.changed", work: null };
  const { events, problems, torn } = parseJournal(sealed([note("1"), added, note("2")]).join(""));
  assert.deepEqual(problems, [
    { line: 3, reason: 'Unknown event type "budget.changed".', kind: "unknown" },
  ]);
  assert.deepEqual([events, torn], [[note("1"), note("2")], false]);
});

test("a line that was dropped, moved or put in is noticed, and all others are used", async (t) => {
  const lines = sealed(samples.story());
  const all = parseJournal(lines.join("")).events;
  const place = fc.nat({ max: lines.length - 2 }).map((index) => index + 1);
  await holds(
    t,
    fc.property(place, place, (a, b) => {
      const dropped = parseJournal(lines.toSpliced(a, 1).join(""));
      // Nothing is left of the last line that could tell.
      const expected = a === lines.length - 1 ? [] : [a + 1];
      assert.deepEqual(linesOf(dropped), expected);
      assert.deepEqual(dropped.events, all.toSpliced(a - 1, 1));
      const put = parseJournal(lines.toSpliced(b, 0, lines[a] ?? "").join(""));
      assert.ok(put.problems.length > 0);
      assert.equal(put.events.length, all.length + 1);
      if (a === b) return;
      const swapped = lines.with(a, lines[b] ?? "").with(b, lines[a] ?? "");
      const moved = parseJournal(swapped.join(""));
      assert.equal(moved.problems[0]?.line, Math.min(a, b) + 1);
      assert.equal(moved.events.length, all.length);
    }),
    200,
  );
});

test("a journal of version 2, whose lines are chained by hashes, is read", () => {
  const chained = sealed([note("1"), note("2")]).map((line, seq) =>
    line
      .replace(
        `"v":3,"seq":${seq}`,
        `"v":2,"seq":${seq},"prev":"${seq === 0 ? "" : "a".repeat(64)}"`,
      )
      .replace("}\n", `,"hash":"${"a".repeat(64)}"}\n`),
  );
  const events = [note("1"), note("2")];
  assert.deepEqual(parseJournal(chained.join("")), { events, problems: [], torn: false });
  assert.equal(parseJournal(chained[0]?.slice(0, 30) ?? "").problems[0]?.kind, "torn");
});

test("a torn last line is reported, and everything before it is read", async (t) => {
  const text = sealed(samples.story()).join("");
  await holds(
    t,
    fc.property(fc.integer({ min: 1, max: text.length - 1 }), (length) => {
      const cut = text.slice(0, length);
      const { events, problems, torn } = parseJournal(cut);
      const whole = cut.split("\n").length - 1;
      assert.equal(events.length, Math.max(0, whole - 1));
      assert.equal(torn, !cut.endsWith("\n"));
      assert.equal(problems.map(({ kind }) => kind).join(), torn ? "torn" : "");
    }),
    200,
  );
});

test("a journal of another version is one problem, at its first line", () => {
  const old = sealed([note("1"), note("2")]).map((line) => line.replace('"v":3', '"v":1'));
  assert.deepEqual(said(parseJournal(old.join(""))), [
    "1: This journal has version 1, of an older agent-jobs; this one reads versions 2 and 3.",
  ]);
  const newer = old.map((line) => line.replace('"v":1', '"v":4'));
  assert.match(said(parseJournal(newer.join("")))[0] ?? "", /version 4, of another agent-jobs/);
});

test("what is no journal, or no event, is said", () => {
  const [header = "", first = ""] = sealed([note("1")]);
  assert.deepEqual(said(parseJournal("")), ["1: The journal is empty."]);
  for (const text of ["Dear reader,\n[1]\n", "Dear reader,\r\n\r\n", "Dear reader", '{"a":1}\n'])
    assert.deepEqual(said(parseJournal(text)), ["1: The file is not a journal."]);
  assert.deepEqual(said(parseJournal(`${header}Dear reader,\n[1]\n`)), [
    "2: The line is not JSON.",
    "3: The line is not a JSON object.",
  ]);
  assert.deepEqual(said(parseJournal(first)), ["1: The file is not a journal."]);
  assert.deepEqual(said(parseJournal(header + header)), [
    "2: Expected number 1, found 0: lines are missing, repeated or out of order.",
  ]);
  const strange = sealed([
    { at: 1, runId: "r", type: "something.new" },
    { ...note("1"), at: null },
  ]);
  assert.deepEqual(said(parseJournal(strange.join(""))), [
    '2: Unknown event type "something.new".',
    "3: Invalid event.at: Must be a whole number, not null.",
  ]);
});

test("reading never throws, whatever the text, and what it reads can be folded", async (t) => {
  const value = fc.oneof(fc.jsonValue(), samples.body);
  const bodies = fc.array(value.map((body) => ({ at: 1, runId: "r", ...Object(body) })));
  await holds(
    t,
    fc.property(fc.array(fc.string()), bodies, (lines, bodies) => {
      fold(parseJournal(lines.join("\n")).events);
      fold(parseJournal([...sealed(bodies), ...lines].join("\n")).events);
    }),
    200,
  );
});
