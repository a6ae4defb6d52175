import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LocalRateLimit } from "../../src/engine/rate-limit.ts";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { play, ref } from "../rig/engine.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { answered as answeredWith } from "../rig/crashes.ts";

const refused: SessionActivity = { kind: "model.failed", statusCode: 429, subAgent: false };
const answered: SessionActivity = {
  kind: "model.used",
  modelId: "m",
  inputTokens: 1,
  outputTokens: 1,
  cacheReadTokens: 0,
  reasoningTokens: 0,
  cost: 0,
  durationMs: 1,
  subAgent: false,
};
const model = { category: "work" };
const forever = new AbortController().signal;

describe("a rate limit that one session meets", () => {
  it("lets the turns of the others wait, one at a time, until the model server answers", async () => {
    const clock = new FakeClock();
    const limit = new LocalRateLimit(clock);
    const entered: string[] = [];
    const waits: number[] = [];
    const enter = async (name: string): Promise<() => void> => {
      const leave = await limit.enter(forever, (ms) => waits.push(ms));
      entered.push(`${name} at ${clock.now() - begun}`);
      return leave;
    };
    const begun = clock.now();
    await enter("early");
    limit.met();
    const turns = [enter("one"), enter("two"), enter("three")];
    const leave = await clock.runUntil(turns[0] ?? enter("?"));
    await clock.runUntil(clock.sleep(1_000));
    assert.deepEqual(entered, ["early at 0", "one at 5000"], "the others wait for its end");
    limit.met();
    leave();
    await clock.runUntil(turns[1] ?? enter("?"));
    assert.deepEqual(entered, ["early at 0", "one at 5000", "two at 12000"]);
    limit.lifted();
    await clock.runUntil(turns[2] ?? enter("?"));
    assert.deepEqual(entered.at(-1), "three at 12000");
    assert.deepEqual(waits, [5000, 5000, 5000]);
  });

  it("is waited for in a Par without using up an attempt, and the wait is logged", async () => {
    const { outcome, decisions, sessions } = await play({
      tasks: {
        a: { prompt: "a", model },
        b: { prompt: "b", model, availability: { condition: "may b? Then job_boolean_true" } },
      },
      work: { kind: "Par", works: [ref("a"), ref("b")] },
      play: ({ prompt }) => {
        if (prompt === "a") return { acts: [refused], takes: 60_000 };
        return prompt.startsWith("may b?")
          ? { takes: 2_000, tools: ["job_boolean_true"] }
          : { acts: [answered] };
      },
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.equal(sessions.turns.length, 3);
    assert.ok(
      decisions.some((text) => /^\[OPERATION\] Waiting .*a rate limit/.test(text)),
      decisions.join("\n"),
    );
  });

  it("holds nobody any more once a call has been answered, also one of the runtime's own retries", async () => {
    const { outcome, decisions } = await play({
      tasks: { a: { prompt: "a", model }, b: { prompt: "b", model } },
      work: { kind: "Seq", works: [ref("a"), ref("b")] },
      play: () => ({ acts: [refused, answered] }),
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.ok(!decisions.some((text) => text.includes("Waiting")), decisions.join("\n"));
  });

  it("that comes after another one is not held up by the turn that tried then", async () => {
    const clock = new FakeClock();
    const limit = new LocalRateLimit(clock);
    limit.met();
    const leave = await clock.runUntil(limit.enter(forever, () => {}));
    limit.lifted();
    await clock.runUntil(clock.sleep(100_000));
    limit.met();
    const begun = clock.now();
    await clock.runUntil(limit.enter(forever, () => {}));
    assert.equal(clock.now() - begun, 5_000);
    leave();
    const waits: number[] = [];
    const third = limit.enter(forever, (ms) => waits.push(ms));
    await clock.runUntil(clock.sleep(1_000));
    assert.deepEqual(waits, [120_000], "the end of the first turn makes no room for a third");
    limit.lifted();
    await third;
  });

  it("is waited for once by the turn that crashed of it, and no longer than statement 6 says", async () => {
    const { outcome, decisions, clock } = await play({
      tasks: { a: { prompt: "a", model } },
      play: ({ prompt }) =>
        prompt === "a"
          ? { acts: [refused], takes: 61_000, crash: answeredWith(429) }
          : { acts: [answered] },
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.equal(decisions.filter((text) => text.includes("Waiting")).length, 1);
    assert.equal(clock.now(), 63_000);
  });

  it("of a turn that is tried again is everybody's: who waits for longer waits no longer", async () => {
    const clock = new FakeClock();
    const limit = new LocalRateLimit(clock);
    limit.met();
    await clock.runUntil(clock.sleep(100_000));
    limit.met();
    const begun = clock.now();
    const entering = limit.enter(forever, () => {});
    limit.pause(2_000);
    await clock.runUntil(entering);
    assert.equal(clock.now() - begun, 2_000);
  });

  it("is waited out longer and longer while it lasts, two minutes at most", async () => {
    const clock = new FakeClock();
    const limit = new LocalRateLimit(clock);
    const pauses: number[] = [];
    limit.met();
    for (let round = 0; round < 8; round += 1) {
      const begun = clock.now();
      const leave = await clock.runUntil(limit.enter(forever, () => {}));
      pauses.push(clock.now() - begun);
      limit.met();
      leave();
    }
    assert.deepEqual(pauses, [5_000, 5_000, 10_000, 20_000, 40_000, 80_000, 120_000, 120_000]);
  });

  it("does not hold anybody who is cancelled", async () => {
    const clock = new FakeClock();
    const limit = new LocalRateLimit(clock);
    limit.met();
    const abort = new AbortController();
    const entering = limit.enter(abort.signal, () => {});
    abort.abort();
    await entering;
    assert.equal(clock.now(), new FakeClock().now());
  });
});

describe("a prompt that meets rate limits", () => {
  const task = { model, prompt: "go" };
  const minute = 60_000;
  const limits = { taskMinutes: 2, rateLimitMinutes: 10 };

  it("waits for them as long as limits.rateLimitMinutes, which is none of the task's time", async () => {
    for (const refusals of [9, 99]) {
      const { outcome, sessions, clock, decisions } = await play({
        tasks: { t: task },
        limits: { ...limits, modelCalls: 3 },
        play: ({ label }) =>
          label.attempt > refusals
            ? { acts: [answered], takes: minute }
            : { acts: [refused, refused], takes: 5_000, crash: answeredWith(429) },
      });
      assert.equal(sessions.turns.length, 10, "their number has no limit");
      assert.equal(outcome.kind, refusals === 9 ? "succeeded" : "failed");
      if (outcome.kind !== "failed") continue;
      assert.equal(clock.now(), 10 * minute);
      assert.match(outcome.reason, /crashed: .* for 10 minutes \(limits\.rateLimitMinutes\)/);
      assert.ok(decisions.some((text) => text.startsWith("[DECISION] Giving up")));
    }
  });

  it("waits as long as the task may take, by default", async () => {
    const { clock } = await play({
      tasks: { t: task },
      limits: { taskMinutes: 3 },
      play: () => ({ crash: answeredWith(429) }),
    });
    assert.equal(clock.now(), 3 * minute);
  });

  it("counts all its waits, and no time after an answer", async () => {
    const { outcome, clock } = await play({
      tasks: { t: task },
      limits: { ...limits, rateLimitMinutes: 1 },
      play: ({ label }) => ({
        acts: label.attempt === 1 ? [answered] : [refused],
        takes: label.attempt === 1 ? 0.5 * minute : minute,
        crash: answeredWith(429, 20_000),
      }),
    });
    assert.equal(outcome.kind, "failed");
    assert.equal(clock.now(), 1.5 * minute);
  });

  it("waits as long for those that others met, also behind one that tries", async () => {
    const { ended, sessions, clock } = await play({
      tasks: { first: task, trying: task, late: task },
      work: { kind: "Par", works: ["first", "trying", "late"].map(ref), onCrash: "continue" },
      limits,
      play: () => ({ acts: [refused], takes: 100 * minute }),
    });
    assert.deepEqual(ended.toSorted(), ["first:crashed", "late:crashed", "trying:crashed"]);
    assert.deepEqual(
      sessions.turns.slice(0, 2).map(({ label }) => label.taskId),
      ["first", "trying"],
    );
    assert.equal(clock.now(), 10 * minute);
  });

  for (const [name, acts] of [
    ["in its turn", [{ ...refused, retryAfterMs: 11 * minute }]],
    ["after it", []],
  ] as const)
    it(`ends the job at once if the server says ${name} that a limit resets later`, async () => {
      const { outcome, sessions, clock, decisions } = await play({
        tasks: {
          t: {
            ...task,
            criteria: { toolExecuted: ["job_report"], failureAction: { retryTimes: 3 } },
          },
        },
        work: { kind: "Par", works: [ref("t"), ref("t")], onCrash: "continue" },
        limits: { ...limits, parallel: 1 },
        play: () => ({ acts, takes: acts.length * minute, crash: answeredWith(429, 11 * minute) }),
      });
      assert.equal(sessions.turns.length, 1);
      assert.equal(clock.now(), 0);
      assert.ok(outcome.kind === "failed");
      assert.match(
        outcome.reason,
        /^exceeded limits\.rateLimitMinutes \(10 minutes\).* The rate limit resets at 1970-01-01T00:11:00Z\.$/,
      );
      assert.deepEqual(
        decisions.filter((text) => text.includes("Waiting")),
        [],
      );
    });
});
