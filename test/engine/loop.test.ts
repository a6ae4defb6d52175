/** Statement 15, the loop: what is said of its end. Which ends it has is in the reference of run-work.test.ts. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Task, Work } from "../../src/entry/model.ts";
import { play, ref, type Played } from "../rig/engine.ts";

const tasks: Readonly<Record<string, Task>> = Object.fromEntries(
  ["pre", "body", "post", "x", "y"].map((name) => [
    name,
    {
      model: { category: "work" },
      prompt: name,
      criteria: { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 0 } },
    },
  ]),
);

const run = (work: Work, loopIterations = 100): Promise<Played> =>
  play({ tasks, work, limits: { loopIterations }, play: () => ({ tools: ["job_boolean_true"] }) });

const loop = (more: Partial<Extract<Work, { kind: "Loop" }>>): Work => ({
  kind: "Loop",
  body: ref("body"),
  ...more,
});
const pre = (outcome: boolean) => ({ preCondition: [outcome, ref("pre")] as const });
const post = (outcome: boolean) => ({ postCondition: [outcome, ref("post")] as const });

describe("engine.md, statement 15: Loop", () => {
  it("says why it failed after atMost, and notes it where that was the plan", async () => {
    const reason =
      'the loop of "body" would need more than 2 iterations (atMost). Its postCondition still succeeds: "post"';
    const failed = await run(loop({ ...post(true), atMost: 2 }));
    assert.deepEqual(failed.outcome, { kind: "failed", reason });
    const planned = await run(loop({ ...post(true), atMost: 2, atMostReached: "succeed" }));
    assert.ok(planned.decisions.includes(`[MISC] ${reason}`));
  });

  it("names the condition that was asked last, why it failed, and the end of what was said", async () => {
    const said = "One.\n\ntest.js:12 expected 4 got 5\n";
    const played = await play({
      tasks: { ...tasks, body: { model: { category: "work" }, prompt: "Fix: $previous-result" } },
      work: loop({ ...pre(false), atMost: 1 }),
      play: () => ({ text: said }),
    });
    const reason =
      'the loop of "body" would need more than 1 iteration (atMost). Its preCondition still fails: task "pre" failed: criteria not met: not called successfully in the last turn: job_boolean_true. The end of its output: One.\ntest.js:12 expected 4 got 5';
    assert.deepEqual(played.outcome, { kind: "failed", reason });
    assert.deepEqual(played.sessions.prompts, ["pre", `Fix: ${said}`, "pre"]);
  });

  it("fails when it would begin more than loopIterations iterations, and names itself and the field", async () => {
    const body: Work = { kind: "Seq", works: ["body", "x", "y", "pre"].map(ref) };
    const endless = await run({ kind: "Loop", body, postCondition: [true, ref("post")] }, 3);
    const name = 'the loop of "body", "x", "y"…';
    assert.equal(endless.sessions.turns.length, 15);
    assert.deepEqual(endless.outcome, {
      kind: "failed",
      reason: `${name} exceeded limits.loopIterations (3). Its postCondition still succeeds: "post"`,
    });
    assert.ok(
      endless.decisions.includes(
        `[OPERATION] Exceeded limits.loopIterations of ${name} (3 iterations), set by limits.loopIterations of the entry`,
      ),
    );
    const planned = await run(loop({ atMost: 4, atMostReached: "succeed" }), 3);
    assert.match(
      planned.outcome.kind === "failed" ? planned.outcome.reason : "",
      /exceeded limits\.loopIterations/,
    );
    assert.equal((await run(loop({ atMost: 3 }), 3)).outcome.kind, "succeeded");
  });
});
