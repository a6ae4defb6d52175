import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunEvent, RunEventBody } from "../../src/events/event.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { createSink } from "../../src/events/sink.ts";
import { outputsOf } from "../../src/github/step-outputs.ts";
import { report } from "./summary-rig.ts";
import { Telling } from "./samples.ts";
import { viewOf } from "../rig/tell.ts";

const known = "correct-horse-battery-staple";
// The form of the tokens of today: a prefix, dots, a JWT, about 520 characters.
const token = `ghs_${"a1B2c3D4e5F6g7H8".repeat(16)}.${"i9J0k1L2m3N4o5P6".repeat(15)}`;

/** Reporters get redacted events, as in a run. */
function redacted(bodies: readonly RunEventBody[]): RunEvent[] {
  const events: RunEvent[] = [];
  const sink = createSink({
    runId: "run",
    clock: { now: () => 1, sleep: () => new Promise<void>(() => {}) },
    redactor: createRedactor([known]),
    reporters: [{ report: (event) => void events.push(event) }],
  });
  for (const body of bodies) sink.emit(body);
  return events;
}

test("a secret that stands where a text is cut is gone from log, annotations, summary and outputs", async () => {
  // The limits of a line, of what is said, of a decision, an annotation and an output.
  for (const limit of [150, 200, 300, 500, 1000, 2000, 4000, 4096, 8000, 16_000]) {
    for (const secret of [known, token]) {
      const text = `${"x ".repeat(limit / 2 - 10)} ${secret} ${"y ".repeat(400)}`;
      const telling = new Telling("review", ["gather"]).start(0);
      const work = telling.ref(0);
      telling
        .say({ type: "decision", work, decision: { kind: "note", text } })
        .say({
          type: "activity",
          work,
          sessionId: "s0",
          turnId: "turn-1",
          activity: { kind: "message.ended", messageId: "m1", text },
        })
        .say({ type: "work.ended", work, outcome: { kind: "failed", reason: text } })
        .say({ type: "run.ended", outcome: { kind: "failed", reason: text } });
      const events = redacted(telling.events);
      const { output, summary = "" } = await report(events);
      const view = viewOf(events);
      const outputs = JSON.stringify(outputsOf(view));
      for (const shown of [output, summary, outputs]) {
        assert.ok(shown.includes("x x x"), "the text is shown");
        for (let at = 0; at + 8 <= secret.length; at += 1) {
          assert.ok(!shown.includes(secret.slice(at, at + 8)), `${limit}: ${secret.slice(0, 12)}`);
        }
      }
    }
  }
});
