import assert from "node:assert/strict";
import { test } from "node:test";
import { ProgressWatch } from "../../src/runtime/progress-watch.ts";

/** How a call that is never answered ends, and after how many seconds. */
async function ending(pid: () => number, messages: () => number): Promise<[unknown, number]> {
  let now = 0;
  const clock = {
    now: () => now,
    sleep: () => assert.fail(),
    after(milliseconds: number, listener: () => void) {
      now += milliseconds;
      setImmediate(listener);
      return () => {};
    },
  };
  const watch = new ProgressWatch({ clock, pid, messages, isOver: () => false, ends: [] });
  const result = await watch.patiently(new Promise(() => {}), 1_000);
  return [result, now / 1_000];
}

test(
  "a runtime without a message is stalled after ten seconds, and while it uses CPU time after two minutes",
  { skip: process.platform !== "linux" },
  async () => {
    const idle = (): number => 2 ** 30;
    // A process that has used CPU time, and one that has not: at each look, there is a difference.
    let looks = 0;
    const spinning = (): number => ((looks += 1) % 2 === 0 ? idle() : process.pid);
    const silent = (): number => 0;
    let sent = 0;
    const talking = (): number => (sent += 1);
    assert.deepEqual(await ending(idle, silent), ["stalled", 11]);
    assert.deepEqual(await ending(spinning, silent), ["stalled", 121]);
    assert.deepEqual(await ending(idle, talking), ["given up", 300]);
  },
);
