import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Task } from "../../src/entry/model.ts";
import { SESSION_CRASH_PREFIX } from "../../src/engine/send-prompt.ts";
import { play, ref, type Setup } from "../rig/engine.ts";
import { type Act, modelUsed } from "../rig/fake-sessions.ts";
import { sessionCrash } from "../rig/crashes.ts";

const multiple: Task = {
  model: { category: "work" },
  prompt: "do it",
  availability: { condition: "job_boolean_true before?" },
  criteria: {
    condition: "job_boolean_true after?",
    runConditionInSameSession: false,
    failureAction: { retryTimes: 1 },
  },
};
const single: Task = {
  ...multiple,
  criteria: { condition: "job_boolean_true after?", failureAction: { retryTimes: 1 } },
};
const yes = { tools: ["job_boolean_true"] } as const;
const no = { tools: ["job_boolean_false"] } as const;

const withCriteria = (criteria: Partial<NonNullable<Task["criteria"]>>, retryTimes = 1): Task => ({
  prompt: "do it",
  criteria: { ...criteria, failureAction: { retryTimes, ...criteria.failureAction } },
});

const inSession = async (setup: Setup): Promise<readonly string[]> =>
  (await play(setup)).sessions.turns.map(
    ({ sessionId, label, prompt }) => `${sessionId} ${label.modelId} ${label.role}: ${prompt}`,
  );

describe("engine.md, statements 8–14: a task", () => {
  it("statement 8: a single model is one session for everything", async () => {
    assert.deepEqual(
      await inSession({
        tasks: { t: single },
        play: ({ prompt }) => (prompt.includes("?") ? yes : {}),
      }),
      [
        "s1 worker both: job_boolean_true before?",
        "s1 worker both: do it",
        "s1 worker both: job_boolean_true after?",
      ],
    );
  });

  it("statement 8: multiple models are a session for each purpose, opened when needed and closed when done", async () => {
    let afters = 0;
    const { sessions } = await play({
      tasks: { t: multiple },
      play: (turn) => {
        assert.equal(
          sessions_closed(),
          turn.sessionId === "s1" ? 0 : Number(turn.sessionId.slice(1)) - 1,
        );
        return turn.prompt.includes("after?")
          ? ++afters === 1
            ? no
            : yes
          : turn.prompt.includes("before?")
            ? yes
            : {};
      },
      onEvent: (event) => void (event.type === "session.ended" && closed.push(event.sessionId)),
    });
    assert.deepEqual(
      sessions.turns.map(
        ({ sessionId, label, prompt }) => `${sessionId} ${label.modelId} ${label.role}: ${prompt}`,
      ),
      [
        "s1 driver driving: job_boolean_true before?",
        "s2 worker task: do it",
        "s3 driver driving: job_boolean_true after?",
        "s4 worker task: do it",
        "s5 driver driving: job_boolean_true after?",
      ],
    );
  });

  const closed: string[] = [];
  const sessions_closed = (): number => closed.length;

  it("statement 9: the model is the override of the work, else the task's, else (startTask) the driving one", async () => {
    const models = { driving: "driver", work: "worker", other: "third" };
    const tasks = {
      own: { prompt: "$task-model", model: { category: "other" } },
      none: { prompt: "$task-model" },
    };
    const works: [Setup["work"] | undefined, Setup["single"] | undefined, string][] = [
      [{ kind: "Ref", taskId: "own" }, undefined, "third"],
      [{ kind: "Ref", taskId: "own", modelOverride: { category: "work" } }, undefined, "worker"],
      [{ kind: "Ref", taskId: "own", modelOverride: { id: "exact" } }, undefined, "exact"],
      [{ kind: "Ref", taskId: "own" }, { taskName: "none" }, "driver"],
      [{ kind: "Ref", taskId: "own" }, { taskName: "none", modelOverride: "given" }, "given"],
    ];
    for (const [work, alone, expected] of works) {
      const { sessions } = await play({
        tasks,
        models,
        play: () => ({}),
        ...(work === undefined ? {} : { work }),
        ...(alone === undefined ? {} : { single: alone }),
      });
      assert.deepEqual(
        sessions.turns.map(({ label, prompt }) => [label.modelId, prompt]),
        [[expected, expected]],
      );
    }
  });

  it("statement 9: runtime variables live for one run of one task", async () => {
    const { sessions } = await play({
      tasks: { a: { prompt: "a $reported-document", model: { category: "work" } } },
      work: { kind: "Seq", works: [ref("a"), ref("a")] },
      play: () => ({ tools: [["job_prepare_document", "x.md"]] }),
    });
    assert.deepEqual(sessions.prompts, ["a <MISSING>", "a <MISSING>"]);
  });

  const verdicts: [string, readonly (string | readonly [string, string])[], boolean][] = [
    ["true alone", ["job_boolean_true"], true],
    ["false alone", ["job_boolean_false"], false],
    ["false, then true", ["job_boolean_false", "job_boolean_true"], true],
    ["true, then false", ["job_boolean_true", "job_boolean_false"], false],
    ["nothing", [], false],
    ["true that failed", ["!job_boolean_true"], false],
    ["false, then true that failed", ["job_boolean_false", "!job_boolean_true"], false],
  ];
  for (const [name, tools, expected] of verdicts) {
    it(`statement 10: an availability condition answered with ${name} ${expected ? "holds" : "fails"}`, async () => {
      const { outcome, sessions } = await play({
        tasks: { t: { ...single, prompt: "p" } },
        play: ({ prompt }) => (prompt.includes("before?") ? { tools } : yes),
      });
      assert.equal(outcome.kind, expected ? "succeeded" : "failed");
      if (!expected)
        assert.deepEqual(sessions.prompts, ["job_boolean_true before?"], "no retry, no prompt");
    });
    it(`statement 11: a criteria condition answered with ${name} ${expected ? "holds" : "fails"}`, async () => {
      const { outcome } = await play({
        tasks: { t: withCriteria({ condition: "job_boolean_true after?" }, 0) },
        play: ({ prompt }) => (prompt.includes("after?") ? { tools } : {}),
      });
      assert.equal(outcome.kind, expected ? "succeeded" : "failed");
    });
  }

  it("statement 10: a call of job_prerequisite_failed in the availability check is a failure, whatever else was called", async () => {
    const { outcome, decisions } = await play({
      tasks: { t: single },
      play: () => ({ tools: [["job_prerequisite_failed", "no input"], "job_boolean_true"] }),
    });
    assert.deepEqual(outcome, {
      kind: "failed",
      reason: 'task "t" failed: not available: job_prerequisite_failed was called: no input',
    });
    assert.ok(
      decisions.includes(
        '[AVAILABILITY] availability.condition does not hold: job_prerequisite_failed was called: no input (condition = "job_boolean_true before?")',
      ),
    );
  });

  it("statement 10: startTask may skip the availability check", async () => {
    const { outcome, sessions } = await play({
      tasks: {
        t: { prompt: "p", availability: { previousTasks: ["t"], condition: "job_boolean_true?" } },
      },
      single: { taskName: "t", ignorePrerequisiteCheck: true },
      play: () => ({}),
    });
    assert.equal(outcome.kind, "succeeded");
    assert.deepEqual(sessions.prompts, ["p"]);
  });

  it("statement 11: asks the condition only when all the tools were called, and says what is missing", async () => {
    const { sessions, decisions, outcome } = await play({
      tasks: {
        t: withCriteria(
          {
            toolExecuted: ["job_boolean_false", "job_prepare_document"],
            condition: "job_boolean_true after?",
          },
          0,
        ),
      },
      play: () => ({ tools: ["!job_prepare_document", "job_boolean_false"] }),
    });
    assert.deepEqual(sessions.prompts, ["do it"]);
    assert.equal(outcome.kind, "failed");
    assert.ok(
      decisions.includes(
        '[CRITERIA] criteria.toolExecuted does not hold: not called successfully in the last turn: job_prepare_document (toolExecuted = ["job_boolean_false","job_prepare_document"])',
      ),
      decisions.join("\n"),
    );
  });

  it("statement 11: only the last turn of the task session counts", async () => {
    const { outcome } = await play({
      tasks: {
        t: withCriteria(
          { toolExecuted: ["job_prepare_document"], condition: "job_boolean_true after?" },
          1,
        ),
      },
      play: ({ prompt }) => (prompt === "do it" ? { tools: ["job_prepare_document"] } : no),
    });
    assert.equal(outcome.kind, "failed");
  });

  it("statement 12: retries with the prompt, the missing tools and the additional prompt, one empty line apart", async () => {
    const task = withCriteria({
      toolExecuted: ["job_boolean_true", "job_prepare_document"],
      failureAction: { retryTimes: 2, additionalPrompt: ["go", "on, $task-model"] },
    });
    const { sessions, decisions } = await play({ tasks: { t: task }, play: () => ({}) });
    const retry =
      "do it\n\n## Required Tool Not Called: job_boolean_true, job_prepare_document\nCall job_boolean_true and job_prepare_document as tools, not in text.\n\n## You accidentally Stopped\ngo\non, worker";
    assert.deepEqual(sessions.prompts, ["do it", retry, retry]);
    assert.deepEqual(
      sessions.turns.map(({ sessionId }) => sessionId),
      ["s1", "s1", "s1"],
      "in the same session",
    );
    assert.deepEqual(
      decisions.filter((text) => text.includes("] Retry ")).map((text) => text.slice(0, 26)),
      ["[DECISION] Retry 1 of 2: n", "[DECISION] Retry 2 of 2: n"],
    );
    assert.ok(decisions.some((text) => text.startsWith("[DECISION] Giving up after 2 retries")));
  });

  it("statement 12: the line breaks that end block text are no empty lines between the parts", async () => {
    const { sessions } = await play({
      tasks: {
        t: {
          prompt: "do it\n",
          criteria: {
            toolExecuted: ["job_boolean_true"],
            failureAction: { retryTimes: 1, additionalPrompt: "\ngo on\n\n" },
          },
        },
      },
      play: () => ({}),
    });
    assert.deepEqual(sessions.prompts, [
      "do it\n",
      "do it\n\n## Required Tool Not Called: job_boolean_true\nCall job_boolean_true as a tool.\n\n## You accidentally Stopped\ngo on",
    ]);
  });

  it("statement 12: leaves out what does not apply", async () => {
    const failing = {
      tasks: { t: withCriteria({ condition: "job_boolean_true after?" }) },
      play: () => no,
    };
    assert.deepEqual((await play(failing)).sessions.prompts, [
      "do it",
      "job_boolean_true after?",
      "do it",
      "job_boolean_true after?",
    ]);
  });

  it("statement 13: a crash that exhausts its attempts during the first prompt fails the task", async () => {
    const { ended, sessions } = await play({
      tasks: { t: withCriteria({ toolExecuted: ["job_boolean_true"] }, 3) },
      play: () => ({ crash: sessionCrash }),
    });
    assert.deepEqual(ended, ["t:crashed"]);
    assert.equal(sessions.turns.length, 5);
  });

  it("statement 13: a crash that exhausts its attempts during a criteria retry is a failed iteration, and the next goes on", async () => {
    let turns = 0;
    const { sessions, outcome, decisions } = await play({
      tasks: { t: withCriteria({ toolExecuted: ["job_boolean_true"] }, 2) },
      play: () => (++turns === 1 ? {} : turns <= 6 ? { crash: sessionCrash } : yes),
    });
    assert.equal(outcome.kind, "succeeded");
    const retry =
      "do it\n\n## Required Tool Not Called: job_boolean_true\nCall job_boolean_true as a tool.";
    assert.deepEqual(sessions.prompts, [
      "do it",
      retry,
      ...Array(4).fill(SESSION_CRASH_PREFIX + retry),
      retry,
    ]);
    assert.ok(decisions.includes("[DECISION] Retry 2 of 2: the session crashed: boom"));
  });

  it("statement 13: a crash in the criteria check of a retry is a failed iteration too", async () => {
    let checks = 0;
    const { outcome, ended } = await play({
      tasks: {
        t: { ...multiple, criteria: { ...multiple.criteria, failureAction: { retryTimes: 2 } } },
      },
      play: ({ prompt }) =>
        !prompt.includes("after?")
          ? yes
          : ++checks === 1
            ? no
            : checks <= 6
              ? { crash: sessionCrash }
              : yes,
    });
    assert.equal(outcome.kind, "succeeded");
    assert.deepEqual(ended, ["t:succeeded"]);
  });

  it("statement 14: stopping ends all sessions, and nothing is reported after the end", async () => {
    const abort = new AbortController();
    const { events, sessions, outcome } = await play({
      tasks: { t: single },
      single: { taskName: "t" },
      signal: abort.signal,
      play: () => ({ hang: true }),
      onEvent: (event) =>
        void (event.type === "turn.started" && queueMicrotask(() => abort.abort())),
    });
    assert.equal(outcome.kind, "canceled");
    assert.deepEqual(sessions.closed, ["s1"]);
    assert.equal(events.at(-1)?.type, "run.ended");
  });

  it("limits: a task that makes more model calls than allowed fails without a retry, and the limit is named", async () => {
    const { outcome, sessions, decisions } = await play({
      tasks: { t: withCriteria({ toolExecuted: ["job_boolean_true"] }, 5) },
      limits: { modelCalls: 2 },
      play: () => ({ acts: [{ kind: "agent.started", agentTurnId: "0" }, modelUsed()] }),
    });
    assert.equal(sessions.turns.length, 2);
    assert.equal(outcome.kind, "failed");
    assert.ok(
      decisions.includes(
        '[OPERATION] Exceeded limits.modelCalls of task "t" (2 model calls), set by limits.modelCalls of the entry',
      ),
      decisions.join("\n"),
    );
  });

  it("statement 7a: a check that ended with an empty answer is asked once for its verdict", async () => {
    const answers = [
      { tools: ["view"], empty: true },
      { ...yes, empty: true },
    ] as const;
    let asked = 0;
    const { outcome, sessions } = await play({
      tasks: { t: withCriteria({ condition: "job_boolean_true?" }, 0) },
      play: ({ prompt }) => (prompt === "do it" ? {} : (answers[asked++] ?? {})),
    });
    assert.equal(outcome.kind, "succeeded");
    assert.deepEqual(sessions.prompts.slice(1), [
      "job_boolean_true?",
      "Your last answer was empty. Call job_boolean_true or job_boolean_false now.",
    ]);
  });

  it("statement 7a: with multiple models, the session of the prompt goes on, after its check", async () => {
    const verdicts = [no, yes];
    const { outcome, sessions, decisions } = await play({
      tasks: { t: { ...multiple, availability: {} } },
      play: ({ prompt }) => {
        if (prompt.includes("after?")) return verdicts.shift() ?? no;
        return prompt === "do it" ? { tools: ["view"], empty: true } : {};
      },
    });
    assert.equal(outcome.kind, "succeeded");
    assert.deepEqual(
      sessions.turns.map(({ sessionId, label }) => `${sessionId} ${label.role} ${label.retry}`),
      ["s1 task 0", "s2 driving 0", "s1 task 0", "s3 driving 0"],
    );
    assert.equal(sessions.closed.length, 3);
    assert.ok(!decisions.some((text) => text.includes("Retry")));
  });

  it("statement 7a: a crash while the session goes on sends the whole prompt again", async () => {
    const acts: Act[] = [{ tools: ["view"], empty: true }, { crash: sessionCrash }, {}];
    const { outcome, sessions } = await play({
      tasks: { t: { prompt: "do it" } },
      play: () => acts.shift() ?? {},
    });
    assert.equal(outcome.kind, "succeeded");
    assert.equal(sessions.prompts.at(-1), `${SESSION_CRASH_PREFIX}do it`);
  });

  it("limits: calls of sub-agents count, and are seen only when they are over", async () => {
    const { outcome } = await play({
      tasks: { t: { prompt: "p" } },
      limits: { modelCalls: 2 },
      play: () => ({ acts: Array.from({ length: 3 }, () => ({ ...modelUsed(), subAgent: true })) }),
    });
    assert.equal(outcome.kind, "failed");
  });

  it("limits: a task that runs longer than taskMinutes fails without a retry", async () => {
    const { outcome, clock } = await play({
      tasks: { t: { prompt: "p" } },
      limits: { taskMinutes: 2 },
      play: () => ({ hang: true }),
    });
    assert.equal(clock.now(), 120_000);
    assert.deepEqual(outcome, {
      kind: "failed",
      reason:
        'task "t" failed: exceeded limits.taskMinutes (2 minutes), set by limits.taskMinutes of the entry',
    });
  });

  it("a session that breaks its contract is a crash of the task, told once", async () => {
    const { outcome, decisions } = await play({
      tasks: { t: { prompt: "p" } },
      play: () => {
        throw new Error("broken rig");
      },
    });
    assert.deepEqual(outcome, {
      kind: "failed",
      reason: 'task "t" crashed: broken rig',
      advice: "This is a bug in agent-jobs. Please report it.",
    });
    assert.deepEqual(
      decisions.filter((text) => text.startsWith("[TASK FAILED]")),
      ["[TASK FAILED] crashed: broken rig"],
    );
  });
});
