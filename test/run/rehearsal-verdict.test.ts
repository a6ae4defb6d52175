/** A rehearsal gives no advice about a model server, because the script plays it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutAdvice } from "../../src/run/rehearsal-verdict.ts";
import { crashAdvice, type Crash } from "../../src/events/crash.ts";
import type { RunEventBody } from "../../src/events/event.ts";

const ended = (advice: string): RunEventBody => ({
  type: "run.ended",
  outcome: { kind: "failed", reason: "It crashed.", advice },
});

function kept(crash: Crash): boolean {
  const advice = crashAdvice(crash) ?? assert.fail(`${crash.cause} has no advice`);
  const event = withoutAdvice(ended(advice));
  return event.type === "run.ended" && "advice" in event.outcome;
}

test("a rehearsal keeps advice about permissions and limits, and drops advice about model servers", () => {
  assert.ok(kept({ cause: "deadline", limit: "turnMinutes", message: "Too long." }));
  assert.ok(kept({ cause: "denied", message: "Denied." }));
  assert.ok(!kept({ cause: "auth", status: 401, message: "Unauthorized." }));
  assert.ok(!kept({ cause: "unreachable", message: "Nobody answers." }));
});
