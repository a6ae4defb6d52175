import assert from "node:assert/strict";
import { it } from "node:test";
import { resolveLimits, startDeadline, type Deadline } from "../../src/engine/limits.ts";
import { Scope, type StopReason } from "../../src/engine/scope.ts";
import type { Limits } from "../../src/entry/model.ts";
import { FakeClock } from "../rig/fake-clock.ts";

const reason: StopReason = { kind: "canceled", reason: "late" };

it("a deadline stops its scope, unless it is ended, or has no end, and stands still while it is held", async () => {
  const clock = new FakeClock();
  const stops: string[] = [];
  const start = (name: string, limits: Limits, passed?: number): Deadline => {
    const scope = Scope.root(undefined);
    scope.onStop(({ kind }) => stops.push(`${name} ${kind} at ${clock.now() / 60_000}`));
    return startDeadline(clock, resolveLimits(limits), "jobMinutes", scope, passed);
  };
  start("late", { jobMinutes: 5 });
  start("resumed", { jobMinutes: 5 }, 180_000);
  start("endless", { jobMinutes: Infinity });
  start("in time", { jobMinutes: 5 }).end();
  const held = start("held", { jobMinutes: 5 });
  const ended = start("ended", { jobMinutes: 5 });
  assert.equal(clock.waiting, 4);
  await clock.runUntil(clock.sleep(60_000));
  const releases = [held.hold(), held.hold(), ended.hold()];
  ended.end();
  await clock.runUntil(clock.sleep(120_000));
  releases[0]?.();
  releases[0]?.();
  await clock.runUntil(clock.sleep(120_000));
  for (const release of releases) release();
  await clock.runUntil(clock.sleep(600_000));
  assert.deepEqual(stops, ["resumed limit at 2", "late limit at 5", "held limit at 9"]);
});

it("a signal that is asked for late has aborted, if its scope has stopped", () => {
  const scope = Scope.root(undefined);
  const child = scope.child();
  scope.stop(reason);
  assert.ok(child.signal.aborted && scope.signal.aborted);
  assert.ok(scope.child().signal.aborted);
});
