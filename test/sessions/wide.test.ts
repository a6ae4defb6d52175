import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../rig/fake-clock.ts";
import { runOn } from "../rig/real-engine.ts";
import { makeRig } from "./rig.ts";

test("forty items of two seconds, four at once, take four sessions, and none fails by its limit of twelve", async (t) => {
  // The engine's time passes with the answers of the model.
  const clock = new FakeClock();
  const rig = await makeRig(t, async () => {
    await clock.runUntil(clock.sleep(2_000));
    return { text: "Done." };
  });
  let [open, most] = [0, 0];
  const { outcome, events } = await runOn(rig, {
    tasks: { item: { prompt: "Do $item.", model: { category: "driving" } } },
    work: {
      kind: "Each",
      parallel: true,
      items: { values: Array.from({ length: 40 }, (_, index) => `item ${index}`) },
      work: { kind: "Ref", taskId: "item" },
    },
    limits: { parallel: 4, taskMinutes: 0.2 },
    clock,
    onEvent({ type }) {
      if (type === "session.started") most = Math.max(most, (open += 1));
      if (type === "session.ended") open -= 1;
    },
  });
  assert.deepEqual(outcome, { kind: "succeeded" });
  assert.equal(events.filter(({ type }) => type === "turn.ended").length, 40);
  assert.equal(most, 4);
  assert.ok(clock.now() >= 20_000, `${clock.now()}`);
  assert.equal(rig.sessions.runtimePids.length, 1);
});
