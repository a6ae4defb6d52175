import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Task } from "../../src/entry/model.ts";
import type { Crash } from "../../src/events/crash.ts";
import { SESSION_CRASH_PREFIX } from "../../src/engine/send-prompt.ts";
import { play, type Played, type Setup } from "../rig/engine.ts";
import type { Act } from "../rig/fake-sessions.ts";
import { answered, sessionCrash } from "../rig/crashes.ts";

const task: Task = { prompt: "do it" };
const condition = "job_boolean_true?";
const judged: Task = {
  prompt: "do it",
  model: { category: "work" },
  criteria: { condition, runConditionInSameSession: false, failureAction: { retryTimes: 0 } },
};
const yes = { tools: ["job_boolean_true"] } as const;
const crash = { crash: sessionCrash };

/** Plays one task. A list is what its turns do, one after the other. */
function run(
  one: Task,
  acts: Setup["play"] | readonly Act[],
  more: Partial<Setup> = {},
): Promise<Played> {
  const left = typeof acts === "function" ? [] : [...acts];
  const act = typeof acts === "function" ? acts : (): Act => left.shift() ?? {};
  return play({ tasks: { t: one }, play: act, ...more });
}
const withText = ({ decisions }: Played, part: string): readonly string[] =>
  decisions.filter((text) => text.includes(part));
const again = (prompt: string): string => SESSION_CRASH_PREFIX + prompt;

describe("engine.md, statements 2–7: how a prompt is sent, and sent again after a crash", () => {
  it("statement 2: applies the runtime variables afresh before every send, and marks the ones without a value", async () => {
    const { sessions } = await run(
      {
        prompt: "$task-model $reported-document $reported-true-reason $reported-false-reason",
        criteria: { toolExecuted: ["job_boolean_false"], failureAction: { retryTimes: 2 } },
      },
      [
        {
          tools: [
            ["job_prepare_document", "  a.md  \nsecond line"],
            ["job_boolean_true", "so"],
          ],
        },
        { tools: [["job_boolean_false", "no"]] },
      ],
    );
    assert.deepEqual(sessions.prompts, [
      "worker <MISSING> <MISSING> <MISSING>",
      "worker a.md so <MISSING>\n\n## Required Tool Not Called: job_boolean_false\nCall job_boolean_false as a tool.",
    ]);
  });

  it("statement 2: inserts a value once and never expands it again", async () => {
    const prompt = "for $user-input, $$user-input";
    const userInput = "$reported-document and $user-input and $$5";
    const { sessions } = await run({ prompt, requireUserInput: true }, [], { userInput });
    assert.deepEqual(sessions.prompts, [`for ${userInput}, $user-input`]);
  });

  it("statement 3: never lets a crash pass in silence", async () => {
    const played = await run(task, () => ({ crash: { ...sessionCrash, detail: '{"why":"x"}' } }));
    assert.deepEqual(
      withText(played, "[SESSION CRASHED]"),
      [1, 2, 3, 4, 5].map((n) => `[SESSION CRASHED] Prompt, attempt ${n} of 5: boom {"why":"x"}`),
    );
  });

  for (const [limit, value] of [
    ["turnMinutes", 15],
    ["idleMinutes", 5],
  ] as const)
    it(`statement 3: a crossed ${limit} is a crash, and the limit is named`, async () => {
      const late = { crash: { cause: "deadline", limit, message: "late" } } as const;
      const { decisions } = await run(task, [late]);
      const at = decisions.indexOf(
        `[OPERATION] Exceeded limits.${limit} of a turn of task "t" (${value} minutes, the default; set limits.${limit} in the entry)`,
      );
      assert.ok(at > 0, decisions.join("\n"));
      assert.match(decisions[at + 1] ?? "", /^\[SESSION CRASHED\]/);
    });

  it("statement 4: tries the same prompt at most 5 times, each retry in a new session and with the prefix", async () => {
    const { sessions, outcome } = await run(task, () => crash);
    assert.deepEqual(sessions.prompts, ["do it", ...Array<string>(4).fill(again("do it"))]);
    const all = ["s1", "s2", "s3", "s4", "s5"];
    assert.deepEqual(
      sessions.turns.map(({ sessionId }) => sessionId),
      all,
    );
    assert.deepEqual(sessions.closed, all);
    assert.ok(outcome.kind === "failed");
    assert.equal(outcome.reason, `task "t" crashed: boom. Gave up after 5 attempts.`);
    assert.match(outcome.advice ?? "", /^Check /);
  });

  it("statement 4: counts a session that can't be opened as a crash", async () => {
    let refusals = 2;
    const refuse = (): Crash | undefined =>
      refusals-- > 0 ? { cause: "start-failed", message: "no runtime" } : undefined;
    const { sessions, outcome } = await run(task, [], { refuse });
    assert.deepEqual(
      sessions.opened.map(({ label }) => label?.attempt),
      [1, 2, 3],
    );
    assert.deepEqual(sessions.prompts, [again("do it")]);
    assert.equal(outcome.kind, "succeeded");
  });

  it("statement 4: doesn't count the end of a runtime that agent-jobs ended, and waits for a random time", async () => {
    let left = 7;
    const ended = { crash: { cause: "runtime-died", message: "It hung.", ended: true } } as const;
    const played = await run(task, () => (left-- > 0 ? ended : crash));
    assert.equal(played.sessions.prompts.length, 12);
    assert.equal(played.outcome.kind, "failed");
    const waits = withText(played, "Waiting");
    assert.equal(waits.length, 7);
    assert.match(waits[0] ?? "", /Waiting \d\.\d s: a new runtime starts/);
  });

  it("statement 6: a model server that can't be reached while a session opens is waited for", async () => {
    let refusals = 2;
    const refuse = (): Crash | undefined =>
      refusals-- > 0 ? { cause: "unreachable", message: "no network" } : undefined;
    const played = await run(task, [], { refuse });
    assert.equal(played.outcome.kind, "succeeded");
    assert.equal(withText(played, "the model server is unreachable").length, 2);
  });

  it("statement 4: goes on in the new session after a crash is mended", async () => {
    const criteria = { condition, failureAction: { retryTimes: 0 } };
    const { sessions, outcome, decisions } = await run({ ...task, criteria }, [crash, {}, yes]);
    assert.equal(outcome.kind, "succeeded");
    assert.deepEqual(
      sessions.turns.map(({ sessionId, prompt }) => [sessionId, prompt]),
      [
        ["s1", "do it"],
        ["s2", again("do it")],
        ["s2", condition],
      ],
    );
    const said = "[DECISION] Retrying the prompt in a new session, attempt 2 of 5, model worker";
    assert.ok(decisions.includes(said));
  });

  it("statement 4: in borrowing mode a crash fails the task at once and the session stays open", async () => {
    const lender = await run(task, []);
    const label = lender.sessions.turns[0]?.label;
    assert.ok(label !== undefined);
    const borrowed = { ...lender.sessions.session({ ...label, modelId: "lent" }, "lent-1") };
    borrowed.runTurn = async () => ({ kind: "crashed", toolCalls: [], crash: sessionCrash });
    const played = await run(task, () => assert.fail("no session of its own"), {
      single: { taskName: "t", borrowed },
    });
    const { outcome, sessions } = played;
    assert.ok(outcome.kind === "failed");
    assert.equal(outcome.reason, `task "t" crashed: boom`);
    assert.match(outcome.advice ?? "", /^Check /);
    assert.deepEqual(sessions.opened, []);
    assert.ok(!lender.sessions.closed.includes("lent-1"));
    assert.equal(withText(played, "Giving up: the session crashed once").length, 1);
  });

  it("statement 5: drivingSessionRetries goes round-robin over the list, one try each while its retries last", async () => {
    const drivingSessionRetries = [
      { modelId: "driver", retries: 2 },
      { modelId: "second", retries: 1 },
      { modelId: "third", retries: 3 },
    ];
    const { sessions } = await run(judged, ({ label }) => (label.role === "driving" ? crash : {}), {
      entry: { drivingSessionRetries },
    });
    const drivers = sessions.turns.filter(({ label }) => label.role === "driving");
    assert.deepEqual(
      drivers.map(({ label }) => label.modelId),
      ["driver", "driver", "second", "third", "driver", "third", "third"],
    );
  });

  const entry = { drivingSessionRetries: [{ modelId: "driver", retries: 1 }] };
  const availability = { condition: "job_boolean_true!" };

  it("statement 5: the budget is fresh for every purpose, and is not for the task session", async () => {
    const acts = [crash, yes, crash, crash, crash, crash, {}, crash, yes];
    const { sessions, outcome } = await run({ ...judged, availability }, acts, { entry });
    assert.equal(outcome.kind, "succeeded");
    assert.deepEqual(
      sessions.turns.map(({ label }) => `${label.role}${label.attempt}`),
      ["driving1", "driving2", "task1", "task2", "task3", "task4", "task5", "driving1", "driving2"],
    );
  });

  it("statement 5: does not apply to a task with a single model", async () => {
    const { sessions } = await run({ ...task, availability }, () => crash, { entry });
    assert.deepEqual(
      sessions.turns.map(({ label }) => label.modelId),
      Array(5).fill("worker"),
    );
  });

  const mends = /crashed once\. Not retried: .*(Check|check|[Ss]horten)/;
  for (const [name, why, advice] of [
    ...[400, 401, 403, 404, 413, 422].map((code) => [`${code}`, answered(code), mends] as const),
    ["auth without a status", { cause: "auth", message: "boom" }, mends],
    ["configuration", { cause: "configuration", message: "boom" }, /crashed once$/],
    ["not-installed", { cause: "not-installed", message: "boom" }, /crashed once$/],
  ] as const)
    it(`statement 6: fails at once after ${name}, with advice where there is any`, async () => {
      const played = await run(task, () => ({ crash: why }));
      assert.deepEqual([played.sessions.turns.length, played.clock.now()], [1, 0]);
      assert.equal(played.outcome.kind, "failed");
      assert.match(withText(played, "Giving up")[0] ?? "", advice);
    });

  it("statement 6: an error that no retry mends counts as an exhausted crash in a criteria retry too", async () => {
    const criteria = { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 2 } };
    const acts = [{ crash: answered(408) }, {}, { crash: answered(400) }];
    const { sessions, decisions } = await run({ ...task, criteria }, acts);
    assert.deepEqual(
      sessions.turns.map(({ sessionId, prompt }) => [sessionId, prompt.split("\n")[0]]),
      [
        ["s1", "do it"],
        ["s2", SESSION_CRASH_PREFIX.trim()],
        ["s2", "do it"],
        ["s3", "do it"],
      ],
      "408 is worth a retry, 400 is not, and the next criteria retry goes on",
    );
    const retry =
      "[DECISION] Retry 1 of 2: not called successfully in the last turn: job_boolean_true";
    assert.ok(decisions.includes(retry));
  });

  for (const statusCode of [500, 503])
    it(`statement 6: after ${statusCode} tries twice more, with growing waits that are told`, async () => {
      const played = await run(task, () => ({ crash: answered(statusCode) }));
      assert.deepEqual([played.sessions.turns.length, played.clock.now()], [3, 6_000]);
      assert.deepEqual(
        withText(played, "Waiting"),
        ["2.0", "4.0"].map(
          (s) => `[OPERATION] Waiting ${s} s: the model server answered ${statusCode}`,
        ),
      );
    });

  it("statement 6: honors a retry-after, up to a cap", async () => {
    const acts = [30_000, 3_600_000, 0].map((ms) => ({ crash: answered(503, ms) }));
    const { clock } = await run(task, acts);
    assert.equal(clock.now(), 150_000);
  });

  it("statement 6: a cancel ends the wait", async () => {
    const abort = new AbortController();
    const { clock, outcome } = await run(task, () => ({ crash: answered(429, 60_000) }), {
      signal: abort.signal,
      onEvent: (event) => {
        if (event.type === "decision" && event.decision.kind === "waiting")
          queueMicrotask(() => abort.abort("enough"));
      },
    });
    assert.ok(clock.now() <= 60_000);
    assert.ok(outcome.kind === "canceled");
    assert.match(outcome.reason, /^enough\. The last error was: boom\. Wait until the rate limit/);
  });
});
