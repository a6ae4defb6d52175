import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Task } from "../../src/entry/model.ts";
import { SESSION_CRASH_PREFIX } from "../../src/engine/send-prompt.ts";
import { play } from "../rig/engine.ts";
import { answered, sessionCrash } from "../rig/crashes.ts";

const task: Task = { prompt: "do it" };
const judged: Task = {
  prompt: "do it",
  model: { category: "work" },
  criteria: {
    condition: "job_boolean_true?",
    runConditionInSameSession: false,
    failureAction: { retryTimes: 0 },
  },
};
const yes = { tools: ["job_boolean_true"] } as const;

describe("engine.md, statements 2–7: how a prompt is sent, and sent again after a crash", () => {
  it("statement 2: applies the runtime variables afresh before every send, and marks the ones without a value", async () => {
    const { sessions } = await play({
      tasks: {
        t: {
          prompt: "$task-model $reported-document $reported-true-reason $reported-false-reason",
          criteria: { toolExecuted: ["job_boolean_false"], failureAction: { retryTimes: 2 } },
        },
      },
      play: ({ prompt }) =>
        prompt.includes("<MISSING> <MISSING> <MISSING>")
          ? {
              tools: [
                ["job_prepare_document", "  a.md  \nsecond line"],
                ["job_boolean_true", "so"],
              ],
            }
          : { tools: [["job_boolean_false", "no"]] },
    });
    assert.deepEqual(sessions.prompts, [
      "worker <MISSING> <MISSING> <MISSING>",
      "worker a.md so <MISSING>\n\n## Required Tool Not Called: job_boolean_false\nCall job_boolean_false as a tool.",
    ]);
  });

  it("statement 2: inserts a value once and never expands it again", async () => {
    const { sessions } = await play({
      tasks: { t: { prompt: "for $user-input, $$user-input", requireUserInput: true } },
      userInput: "$reported-document and $user-input and $$5",
      play: () => ({}),
    });
    assert.deepEqual(sessions.prompts, [
      "for $reported-document and $user-input and $$5, $user-input",
    ]);
  });

  it("statement 3: never lets a crash pass in silence", async () => {
    const { decisions } = await play({
      tasks: { t: task },
      play: () => ({ crash: { ...sessionCrash, detail: '{"why":"x"}' } }),
    });
    assert.deepEqual(
      decisions.filter((text) => text.startsWith("[SESSION CRASHED]")),
      [1, 2, 3, 4, 5].map((n) => `[SESSION CRASHED] Prompt, attempt ${n} of 5: boom {"why":"x"}`),
    );
  });

  for (const [limit, value] of [
    ["turnMinutes", 15],
    ["idleMinutes", 5],
  ] as const) {
    it(`statement 3: a crossed ${limit} is a crash, and the limit is named`, async () => {
      const { decisions } = await play({
        tasks: { t: task },
        play: ({ label }) =>
          label.attempt === 1 ? { crash: { cause: "deadline", limit, message: "late" } } : {},
      });
      const at = decisions.indexOf(
        `[OPERATION] Exceeded limits.${limit} of a turn of task "t" (${value} minutes, the default; set limits.${limit} in the entry)`,
      );
      assert.ok(at > 0, decisions.join("\n"));
      assert.match(decisions[at + 1] ?? "", /^\[SESSION CRASHED\]/);
    });
  }

  it("statement 4: tries the same prompt at most 5 times, each retry in a new session and with the prefix", async () => {
    const { sessions, outcome } = await play({
      tasks: { t: task },
      play: () => ({ crash: sessionCrash }),
    });
    assert.deepEqual(sessions.prompts, ["do it", ...Array(4).fill(`${SESSION_CRASH_PREFIX}do it`)]);
    assert.deepEqual(
      sessions.turns.map(({ sessionId }) => sessionId),
      ["s1", "s2", "s3", "s4", "s5"],
    );
    assert.deepEqual(sessions.closed, ["s1", "s2", "s3", "s4", "s5"]);
    assert.equal(outcome.kind, "failed");
    assert.equal(outcome.reason, `task "t" crashed: boom. Gave up after 5 attempts.`);
    assert.match(outcome.advice ?? "", /^Check /);
  });

  it("statement 4: counts a session that can't be opened as a crash", async () => {
    let refusals = 2;
    const { sessions, outcome } = await play({
      tasks: { t: task },
      refuse: () => (refusals-- > 0 ? { cause: "start-failed", message: "no runtime" } : undefined),
      play: () => ({}),
    });
    assert.deepEqual(
      sessions.opened.map(({ label }) => label?.attempt),
      [1, 2, 3],
    );
    assert.deepEqual(sessions.prompts, [`${SESSION_CRASH_PREFIX}do it`]);
    assert.equal(outcome.kind, "succeeded");
  });

  it("statement 4: doesn't count the end of a runtime that agent-jobs ended, and waits for a random time", async () => {
    let crashes = 7;
    const { sessions, outcome, decisions } = await play({
      tasks: { t: task },
      play: () =>
        crashes-- > 0
          ? { crash: { cause: "runtime-died", message: "It hung.", ended: true } }
          : { crash: sessionCrash },
    });
    assert.equal(sessions.prompts.length, 12);
    assert.equal(outcome.kind, "failed");
    const waits = decisions.filter((text) => text.startsWith("[OPERATION] Waiting"));
    assert.equal(waits.length, 7, decisions.join("\n"));
    assert.match(waits[0] ?? "", /Waiting \d\.\d s: a new runtime starts/);
  });

  it("statement 6: a model server that can't be reached while a session opens is waited for", async () => {
    let refusals = 2;
    const { outcome, decisions } = await play({
      tasks: { t: task },
      refuse: () => (refusals-- > 0 ? { cause: "unreachable", message: "no network" } : undefined),
      play: () => ({}),
    });
    assert.equal(outcome.kind, "succeeded");
    const waits = decisions.filter((text) => text.includes("the model server is unreachable"));
    assert.equal(waits.length, 2, decisions.join("\n"));
  });

  it("statement 4: goes on in the new session after a crash is mended", async () => {
    const { sessions, outcome, decisions } = await play({
      tasks: {
        t: {
          ...task,
          criteria: { condition: "job_boolean_true?", failureAction: { retryTimes: 0 } },
        },
      },
      play: ({ sessionId, prompt }) =>
        sessionId === "s1" ? { crash: sessionCrash } : prompt.includes("?") ? yes : {},
    });
    assert.equal(outcome.kind, "succeeded");
    assert.deepEqual(
      sessions.turns.map(({ sessionId, prompt }) => [sessionId, prompt]),
      [
        ["s1", "do it"],
        ["s2", `${SESSION_CRASH_PREFIX}do it`],
        ["s2", "job_boolean_true?"],
      ],
    );
    assert.ok(
      decisions.includes(
        "[DECISION] Retrying the prompt in a new session, attempt 2 of 5, model worker",
      ),
    );
  });

  it("statement 4: in borrowing mode a crash fails the task at once and the session stays open", async () => {
    const lender = await play({ tasks: { t: task }, play: () => ({}) });
    const label = lender.sessions.turns[0]?.label;
    assert.ok(label !== undefined);
    const borrowed = { ...lender.sessions.session({ ...label, modelId: "lent" }, "lent-1") };
    borrowed.runTurn = async () => ({
      kind: "crashed",
      toolCalls: [],
      crash: sessionCrash,
    });
    const { outcome, sessions, decisions } = await play({
      tasks: { t: task },
      play: () => assert.fail("no session of its own"),
      single: { taskName: "t", borrowed },
    });
    assert.equal(outcome.kind, "failed");
    assert.equal(outcome.reason, `task "t" crashed: boom`);
    assert.match(outcome.advice ?? "", /^Check /);
    assert.deepEqual(sessions.opened, []);
    assert.ok(!lender.sessions.closed.includes("lent-1"));
    assert.ok(
      decisions.some((text) => text.startsWith("[DECISION] Giving up: the session crashed once")),
    );
  });

  const retries = [
    { modelId: "driver", retries: 2 },
    { modelId: "second", retries: 1 },
    { modelId: "third", retries: 3 },
  ];

  it("statement 5: drivingSessionRetries goes round-robin over the list, one try each while its retries last", async () => {
    const { sessions } = await play({
      tasks: { t: judged },
      entry: { drivingSessionRetries: retries },
      play: ({ label }) => (label.role === "driving" ? { crash: sessionCrash } : {}),
    });
    assert.deepEqual(
      sessions.turns
        .filter(({ label }) => label.role === "driving")
        .map(({ label }) => label.modelId),
      ["driver", "driver", "second", "third", "driver", "third", "third"],
    );
  });

  it("statement 5: the budget is fresh for every purpose, and is not for the task session", async () => {
    const { sessions, outcome } = await play({
      tasks: { t: { ...judged, availability: { condition: "job_boolean_true!" } } },
      entry: { drivingSessionRetries: [{ modelId: "driver", retries: 1 }] },
      play: ({ label }) =>
        label.role === "driving"
          ? label.attempt === 1
            ? { crash: sessionCrash }
            : yes
          : label.attempt < 5
            ? { crash: sessionCrash }
            : {},
    });
    assert.equal(outcome.kind, "succeeded");
    assert.deepEqual(
      sessions.turns.map(({ label }) => `${label.role}${label.attempt}`),
      ["driving1", "driving2", "task1", "task2", "task3", "task4", "task5", "driving1", "driving2"],
    );
  });

  it("statement 5: does not apply to a task with a single model", async () => {
    const { sessions } = await play({
      tasks: { t: { ...task, availability: { condition: "job_boolean_true!" } } },
      entry: { drivingSessionRetries: [{ modelId: "driver", retries: 1 }] },
      play: () => ({ crash: sessionCrash }),
    });
    assert.deepEqual(
      sessions.turns.map(({ label }) => label.modelId),
      Array(5).fill("worker"),
    );
  });

  for (const statusCode of [400, 401, 403, 404, 413, 422]) {
    it(`statement 6: fails at once, with advice, after ${statusCode}`, async () => {
      const { sessions, decisions, outcome, clock } = await play({
        tasks: { t: task },
        play: () => ({ crash: answered(statusCode) }),
      });
      assert.equal(sessions.turns.length, 1);
      assert.equal(clock.now(), 0);
      assert.equal(outcome.kind, "failed");
      const drained = decisions.find((text) => text.includes("Giving up"));
      assert.match(drained ?? "", /crashed once\. Not retried: .*(Check|check|[Ss]horten)/);
    });
  }

  for (const [cause, advice] of [
    ["auth", /crashed once\. Not retried: [A-Z]/],
    ["configuration", /crashed once$/],
    ["not-installed", /crashed once$/],
  ] as const) {
    it(`statement 6: fails at once after ${cause} without a status`, async () => {
      const { sessions, decisions } = await play({
        tasks: { t: task },
        play: () => ({ crash: { cause, message: "boom" } }),
      });
      assert.equal(sessions.turns.length, 1);
      assert.match(decisions.find((text) => text.includes("Giving up")) ?? "", advice);
    });
  }

  it("statement 6: an error that no retry mends counts as an exhausted crash in a criteria retry too", async () => {
    let turns = 0;
    const { sessions, decisions } = await play({
      tasks: {
        t: {
          ...task,
          criteria: { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 2 } },
        },
      },
      play: () => {
        turns += 1;
        return turns === 1 ? { crash: answered(408) } : turns === 3 ? { crash: answered(400) } : {};
      },
    });
    assert.deepEqual(
      sessions.turns.map(({ sessionId, prompt }) => [sessionId, prompt.split("\n")[0]]),
      [
        ["s1", "do it"],
        ["s2", "The session crashed, please redo and here is the last request:"],
        ["s2", "do it"],
        ["s3", "do it"],
      ],
      "408 is worth a retry, 400 is not, and the next criteria retry goes on",
    );
    assert.ok(
      decisions.includes(
        "[DECISION] Retry 1 of 2: not called successfully in the last turn: job_boolean_true",
      ),
    );
  });

  for (const statusCode of [500, 503]) {
    it(`statement 6: after ${statusCode} tries twice more, with growing waits that are told`, async () => {
      const { sessions, decisions, clock } = await play({
        tasks: { t: task },
        play: () => ({ crash: answered(statusCode) }),
      });
      assert.equal(sessions.turns.length, 3);
      assert.equal(clock.now(), 6_000);
      assert.deepEqual(
        decisions.filter((text) => text.includes("Waiting")),
        [
          `[OPERATION] Waiting 2.0 s: the model server answered ${statusCode}`,
          `[OPERATION] Waiting 4.0 s: the model server answered ${statusCode}`,
        ],
      );
    });
  }

  it("statement 6: honors a retry-after, up to a cap", async () => {
    const { clock } = await play({
      tasks: { t: task },
      play: ({ label }) => ({
        crash: answered(503, label.attempt === 1 ? 30_000 : 3_600_000),
      }),
    });
    assert.equal(clock.now(), 150_000);
  });

  it("statement 6: a cancel ends the wait", async () => {
    const abort = new AbortController();
    const { clock, outcome } = await play({
      tasks: { t: task },
      signal: abort.signal,
      play: () => ({ crash: answered(429, 60_000) }),
      onEvent: (event) => {
        if (event.type === "decision" && event.decision.kind === "waiting")
          queueMicrotask(() => abort.abort("enough"));
      },
    });
    assert.ok(clock.now() <= 60_000);
    assert.equal(outcome.kind, "canceled");
    assert.match(outcome.reason, /^enough\. The last error was: boom\. Wait until the rate limit/);
  });
});
