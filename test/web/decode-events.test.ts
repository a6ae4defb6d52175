import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { RunEvent } from "../../src/events/event.ts";
import { EventArchive } from "../../src/reports/from-journals.ts";
import { decodeEvents } from "../../web/data/decode-events.ts";
import { events as anyEvents } from "../events/samples.ts";
import { note } from "../journal/rig.ts";
import { holds } from "../rig/fuzz.ts";
import { nightly } from "../rig/nightly.ts";
import { largeRun } from "./large-run.ts";

async function base64Of(events: readonly RunEvent[]): Promise<string> {
  const archive = new EventArchive();
  for (const event of events) archive.add(event);
  return Buffer.concat(await archive.finish()).toString("base64");
}

interface Decoded {
  readonly events: RunEvent[];
  readonly batches: number;
}

async function decoded(base64: string, runId: string): Promise<Decoded> {
  const events: RunEvent[] = [];
  let batches = 0;
  await decodeEvents(base64, {
    runId,
    events(batch) {
      batches += 1;
      events.push(...batch);
    },
    pause: () => Promise.resolve(),
    signal: new AbortController().signal,
  });
  return { events, batches };
}

const same = (events: readonly RunEvent[]): unknown => JSON.parse(JSON.stringify(events));

test("the page reads what a report contains, whatever the events are", async (t) => {
  await holds(
    t,
    fc.asyncProperty(anyEvents, anyEvents, async (ours, others) => {
      const a = ours.map((event) => ({ ...event, runId: 'a"\u2028\\' }));
      const b = others.map((event) => ({ ...event, runId: "b" }));
      const base64 = await base64Of([...a, ...b]);
      assert.deepEqual((await decoded(base64, 'a"\u2028\\')).events, same(a));
      assert.deepEqual((await decoded(base64, "b")).events, same(b));
      assert.deepEqual((await decoded(base64, "c")).events, []);
    }),
    60,
  );
});

test("an event that names another run in its text is not taken for one of it", async () => {
  const base64 = await base64Of([note('"other"'), { ...note("mine"), runId: "other" }]);
  assert.deepEqual((await decoded(base64, "other")).events, [{ ...note("mine"), runId: "other" }]);
});

test("a large run comes in batches, in order", async () => {
  const events = largeRun({ events: nightly ? 26_000 : 8_000 });
  const base64 = await base64Of(events);
  const found = await decoded(base64, events[0]?.runId ?? "");
  assert.deepEqual(found.events, same(events));
  assert.ok(found.batches >= events.length / 2_000, `${found.batches} batches`);
});

test("nothing comes after a reader has left", async () => {
  const events = largeRun({ events: 8_000 });
  const base64 = await base64Of(events);
  const leaving = new AbortController();
  let batches = 0;
  const reading = decodeEvents(base64, {
    runId: "large-run",
    events() {
      batches += 1;
      if (batches === 2) leaving.abort();
    },
    pause: () => Promise.resolve(),
    signal: leaving.signal,
  });
  await assert.rejects(reading, { name: "AbortError" });
  assert.equal(batches, 2);
});

test("damaged data is an error, not the end of the run", async () => {
  const base64 = await base64Of(largeRun({ events: 3000 }));
  for (const damaged of [
    "",
    "!!!",
    base64.slice(0, -400),
    `${base64.slice(0, 2000)}AAAA${base64.slice(2004)}`,
  ])
    await assert.rejects(decoded(damaged, "large-run"));
});
