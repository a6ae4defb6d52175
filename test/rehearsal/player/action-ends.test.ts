import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActionEvent } from "../../../src/events/action.ts";
import { ask, label, play, prompt, system, type Rehearsed } from "../rig.ts";

const { workId, taskId, iteration } = label;
const first = [system, prompt("Begin")];

function tell({ model }: Rehearsed, action: ActionEvent, of = { workId, taskId, iteration }): void {
  model.observe({ type: "action", work: of, action });
}

const waits = (id: string): ActionEvent => ({
  type: "action.waiting",
  id,
  iteration: 1,
  action: "build",
  kind: "tool",
  execution: "ASYNC",
});
const ends = (id: string): ActionEvent => ({
  type: "action.ended",
  id,
  iteration: 1,
  status: "failed",
  milliseconds: 1,
});

/** Whether it has settled once everything else that can happen has happened. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  void promise.then(() => (done = true));
  for (let n = 0; n < 50; n += 1) await new Promise((resolve) => setImmediate(resolve));
  return done;
}

test("a reply waits until the actions that it names have ended", async () => {
  const rehearsed = play("  - turns: [{ document: {}, after: [a, b] }]");
  for (const id of ["a", "b", "c"]) tell(rehearsed, waits(id));
  const answer = ask(rehearsed.model, first);
  tell(rehearsed, ends("c"));
  tell(rehearsed, ends("a"));
  assert.equal(await settled(answer), false);
  tell(rehearsed, ends("b"), { workId, taskId, iteration: 2 });
  assert.equal(await settled(answer), false);
  tell(rehearsed, ends("b"));
  assert.match((await answer).text, /"stop":true/);
  assert.deepEqual([rehearsed.model.failures(), rehearsed.model.unused()], [[], []]);
});

test("a reply doesn't wait for actions that have ended", async () => {
  const rehearsed = play("  - turns: [{ text: Hi, after: a }]");
  tell(rehearsed, waits("a"));
  tell(rehearsed, ends("a"));
  // A later document repeats the action, which runs nothing.
  tell(rehearsed, waits("a"));
  assert.equal((await ask(rehearsed.model, first)).text, "Hi");
});

test("to wait for an action that doesn't exist fails at once", async () => {
  const { model } = play("  - turns: [{ text: Hi, after: a }]");
  const { status } = await ask(model, first);
  assert.equal(status, 400);
  assert.match(
    model.failures().join("\n"),
    /^sessions\[0\]\.turns\[0\] \(.*\) is after the action "a", which doesn't exist\. It was a session of task "review"/,
  );
});

test("a request that is given up doesn't wait any longer", async () => {
  const rehearsed = play("  - turns: [{ text: Hi, after: a }]");
  tell(rehearsed, waits("a"));
  const stop = new AbortController();
  const answer = ask(rehearsed.model, first, { signal: stop.signal });
  assert.equal(await settled(answer), false);
  stop.abort();
  assert.equal(await settled(answer), true);
});
