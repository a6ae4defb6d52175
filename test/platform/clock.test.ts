import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { systemClock } from "../../src/platform/system-clock.ts";

test("the clock goes on when the time of the system is set forward or back", (t) => {
  const before = systemClock.now();
  assert.ok(Math.abs(before - Date.now()) < 60_000, "it begins with the time of the system");
  const real = Date.now();
  for (const jump of [3_600_000, -3_600_000]) {
    const jumped = t.mock.method(Date, "now", () => real + jump);
    const now = systemClock.now();
    jumped.mock.restore();
    assert.ok(now >= before && now - before < 60_000, `${now - before} ms passed`);
  }
});

test("a wait that is longer than a timer can hold is not over at once", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    let over = false;
    const month = 30 * 24 * 60 * 60_000;
    void systemClock.sleep(month).then(() => (over = true));
    mock.timers.tick(2_147_483_647);
    await Promise.resolve();
    assert.equal(over, false, "over after 24.8 of 30 days");
    mock.timers.tick(month - 2_147_483_647);
    await Promise.resolve();
    assert.equal(over, true);
  } finally {
    mock.timers.reset();
  }
});
