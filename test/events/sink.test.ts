import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunEvent, RunEventBody } from "../../src/events/event.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { createSink, type Reporter } from "../../src/events/sink.ts";

const never = new Promise<void>(() => {});
const secret = "correct-horse-battery";

function note(text: string): RunEventBody {
  return { type: "decision", work: null, decision: { kind: "note", text } };
}

function collector(): Reporter & { readonly seen: RunEvent[] } {
  const seen: RunEvent[] = [];
  return { seen, report: (event) => void seen.push(event) };
}

function sinkOf(
  reporters: readonly Reporter[],
  times: number[] = [],
): ReturnType<typeof createSink> {
  const clock = { now: () => times.shift() ?? 5, sleep: () => never };
  return createSink({ runId: "run", clock, redactor: createRedactor([secret]), reporters });
}

test("every reporter gets the same stamped and redacted event", () => {
  const [a, b] = [collector(), collector()];
  sinkOf([a, b], [42]).emit(note(`say ${secret}`));
  assert.deepEqual(a.seen, [{ at: 42, runId: "run", ...note("say ***") }]);
  assert.equal(a.seen[0], b.seen[0]);
});

test("the stamps never run backwards, even if the clock does", () => {
  const a = collector();
  const sink = sinkOf([a], [10, 7, 12]);
  for (const text of ["1", "2", "3"]) sink.emit(note(text));
  assert.deepEqual(
    a.seen.map(({ at }) => at),
    [10, 10, 12],
  );
});

test("what is past keeps its time, and reaches only the reporters that ask for it", () => {
  const [a, b] = [collector(), collector()];
  const sink = sinkOf([a, { ...b, takesPast: true }], [10, 20]);
  sink.emit({ ...note("1"), at: 5 });
  sink.emit({ ...note("2"), at: 7, past: true, leg: "2/4" });
  sink.emit(note("3"));
  assert.deepEqual(
    a.seen.map(({ at }) => at),
    [5, 10],
  );
  assert.deepEqual(
    b.seen.map(({ at, leg }) => [at, leg]),
    [
      [5, undefined],
      [7, "2/4"],
      [10, undefined],
    ],
  );
  assert.equal(sink.view.events, 3);
});

test("a reporter that throws stops neither the run nor the others, and is told once", async () => {
  const a = collector();
  const bad: Reporter = {
    name: "bad",
    report() {
      throw new Error(`cannot send ${secret}`);
    },
  };
  const sink = sinkOf([bad, a]);
  sink.emit(note("1"));
  sink.emit(note("2"));
  assert.equal(a.seen.length, 2);
  assert.deepEqual(await sink.close(), [{ reporter: "bad", message: "cannot send ***", count: 2 }]);
});

test("an event that cannot be redacted reaches nobody", async () => {
  const a = collector();
  const redactor = {
    ...createRedactor([]),
    events(): never {
      throw new Error("broken");
    },
  };
  const sink = createSink({
    runId: "run",
    clock: { now: () => 1, sleep: () => never },
    redactor,
    reporters: [a],
  });
  sink.emit(note(secret));
  assert.deepEqual(a.seen, []);
  assert.deepEqual(await sink.close(), [
    { reporter: "redactor", message: "broken", count: 1, essential: true },
  ]);
});

test("an event that a reporter emits comes after the one in hand, for everybody", () => {
  const a = collector();
  const echo: Reporter = {
    report(event) {
      if (
        event.type === "decision" &&
        event.decision.kind === "note" &&
        event.decision.text === "1"
      ) {
        sink.emit(note("echo"));
      }
    },
  };
  const sink = sinkOf([echo, a]);
  sink.emit(note("1"));
  assert.deepEqual(
    a.seen.map(
      (event) => event.type === "decision" && event.decision.kind === "note" && event.decision.text,
    ),
    ["1", "echo"],
  );
});

test("close closes every reporter once, also when one fails, and later events are dropped", async () => {
  let closed = 0;
  const a = { ...collector(), close: async () => void (closed += 1) };
  const bad: Reporter = { report() {}, close: () => Promise.reject(new Error("stuck")) };
  const worse: Reporter = {
    report() {},
    close() {
      throw new Error("not even a promise");
    },
  };
  const sink = sinkOf([bad, worse, a]);
  const failures = await sink.close();
  assert.equal(await sink.close(), failures);
  sink.emit(note("late"));
  assert.equal(closed, 1);
  assert.deepEqual(a.seen, []);
  assert.deepEqual(
    failures.toSorted((a, b) => a.reporter.localeCompare(b.reporter)),
    [
      { reporter: "reporter 1", message: "stuck", count: 1 },
      { reporter: "reporter 2", message: "not even a promise", count: 1 },
    ],
  );
});

test("a reporter that never closes holds nobody up", async () => {
  const waits: number[] = [];
  const clock = { now: () => 1, sleep: async (ms: number) => void waits.push(ms) };
  const sink = createSink({
    runId: "run",
    clock,
    redactor: createRedactor([]),
    reporters: [
      { name: "slow", report() {}, close: () => never },
      { name: "slower", closeMs: 5000, report() {}, close: () => never },
    ],
  });
  assert.deepEqual(await sink.close(), [
    { reporter: "slow", message: "The reporter did not close within 2000 ms.", count: 1 },
    { reporter: "slower", message: "The reporter did not close within 5000 ms.", count: 1 },
  ]);
  assert.deepEqual(waits, [2000, 5000]);
});
