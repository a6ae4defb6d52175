import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../../src/platform/clock.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import type { Reply } from "../rig/model-server.ts";
import { runOn } from "../rig/real-engine.ts";
import { makeRig } from "./rig.ts";

/** The waits between attempts take no time. */
const impatient: Clock = {
  now: () => systemClock.now(),
  sleep: (milliseconds, signal) =>
    systemClock.sleep(milliseconds < 180_000 ? 0 : milliseconds, signal),
};
const anHour = (): string => new Date(Date.now() + 3_600_000).toUTCString();
const firstCalls: Reply = { toolCalls: [{ name: "view", arguments: { path: "." } }] };

for (const [name, first, header] of [
  ["in seconds", undefined, () => "3600"],
  ["as a date", undefined, anHour],
  ["after a tool call", firstCalls, () => "3600"],
] as const)
  test(`a rate limit that resets in an hour, told ${name}, ends the job after two requests that meet it`, async (t) => {
    const rig = await makeRig(t, ({ index }) =>
      index === 0 && first !== undefined
        ? first
        : { status: 429, headers: { "retry-after": header() } },
    );
    const { outcome, events } = await runOn(rig, {
      tasks: { t: { prompt: "go", model: { category: "driving" } } },
      work: { kind: "Ref", taskId: "t" },
      clock: impatient,
    });
    assert.equal(rig.server.requests.length, first === undefined ? 2 : 3);
    assert.ok(outcome.kind === "failed");
    const [, time = ""] =
      /limits\.rateLimitMinutes .* resets at (\S+Z)\.$/.exec(outcome.reason) ?? [];
    const left = Date.parse(time) - Date.now();
    assert.ok(left > 3_000_000 && left <= 3_601_000, outcome.reason);
    const failures = events.filter(
      (event) => event.type === "activity" && event.activity.kind === "model.failed",
    );
    assert.equal(failures.length, 2);
    assert.match(JSON.stringify(failures[1]), /"retryAfterMs":3[56]\d{5}/);
  });
