import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Task } from "../../src/entry/model.ts";
import { SESSION_CRASH_PREFIX } from "../../src/engine/send-prompt.ts";
import { play, ref, type Played, type Setup } from "../rig/engine.ts";
import { type Act, modelUsed } from "../rig/fake-sessions.ts";
import { sessionCrash } from "../rig/crashes.ts";

const withCriteria = (criteria: Partial<NonNullable<Task["criteria"]>>, retryTimes = 1): Task => ({
  prompt: "do it",
  criteria: { ...criteria, failureAction: { retryTimes, ...criteria.failureAction } },
});
const before = "job_boolean_true before?";
const after = "job_boolean_true after?";
const single: Task = {
  ...withCriteria({ condition: after }),
  model: { category: "work" },
  availability: { condition: before },
};
const multiple: Task = {
  ...single,
  ...withCriteria({ condition: after, runConditionInSameSession: false }),
};
const yes = { tools: ["job_boolean_true"] } as const;
const no = { tools: ["job_boolean_false"] } as const;
const crash = { crash: sessionCrash };
const document = "job_prepare_document";

/** Plays one task. A list is what its turns do, one after the other. */
function run(
  task: Task,
  acts: Setup["play"] | readonly Act[],
  more: Partial<Setup> = {},
): Promise<Played> {
  const left = typeof acts === "function" ? [] : [...acts];
  const act = typeof acts === "function" ? acts : (): Act => left.shift() ?? {};
  return play({ tasks: { t: task }, play: act, ...more });
}
const sent = ({ sessions }: Played): readonly string[] =>
  sessions.turns.map(
    ({ sessionId, label, prompt }) => `${sessionId} ${label.modelId} ${label.role}: ${prompt}`,
  );
const decided = ({ decisions }: Played, text: string): void =>
  assert.ok(decisions.includes(text), decisions.join("\n"));

describe("engine.md, statements 8–14: a task", () => {
  it("statement 8: a single model is one session for everything", async () => {
    assert.deepEqual(sent(await run(single, [yes, {}, yes])), [
      `s1 worker both: ${before}`,
      "s1 worker both: do it",
      `s1 worker both: ${after}`,
    ]);
  });

  it("statement 8: multiple models are a session for each purpose, opened when needed and closed when done", async () => {
    const verdicts = [no, yes];
    let closed = 0;
    const played = await run(
      multiple,
      ({ sessionId, prompt }) => {
        assert.equal(closed, Number(sessionId.slice(1)) - 1);
        return prompt === after ? (verdicts.shift() ?? no) : yes;
      },
      { onEvent: (event) => void (event.type === "session.ended" && (closed += 1)) },
    );
    assert.deepEqual(sent(played), [
      `s1 driver driving: ${before}`,
      "s2 worker task: do it",
      `s3 driver driving: ${after}`,
      "s4 worker task: do it",
      `s5 driver driving: ${after}`,
    ]);
  });

  const own = { prompt: "$task-model", model: { category: "other" } };
  const alone = { taskName: "none" };
  for (const [whose, more, expected] of [
    ["the task's", { work: ref("own") }, "third"],
    [
      "the override's category",
      { work: { kind: "Ref", taskId: "own", modelOverride: { category: "work" } } },
      "worker",
    ],
    [
      "the override's id",
      { work: { kind: "Ref", taskId: "own", modelOverride: { id: "exact" } } },
      "exact",
    ],
    ["the driving one (startTask)", { single: alone }, "driver"],
    ["the one given to startTask", { single: { ...alone, modelOverride: "given" } }, "given"],
  ] satisfies [string, Partial<Setup>, string][])
    it(`statement 9: the model is ${whose}`, async () => {
      const { sessions } = await play({
        tasks: { own, none: { prompt: "$task-model" } },
        models: { driving: "driver", work: "worker", other: "third" },
        work: ref("own"),
        play: () => ({}),
        ...more,
      });
      assert.deepEqual(
        sessions.turns.map(({ label, prompt }) => [label.modelId, prompt]),
        [[expected, expected]],
      );
    });

  it("statement 9: runtime variables live for one run of one task", async () => {
    const { sessions } = await run(
      { prompt: "a $reported-document", model: { category: "work" } },
      [{ tools: [[document, "x.md"]] }],
      { work: { kind: "Seq", works: [ref("t"), ref("t")] } },
    );
    assert.deepEqual(sessions.prompts, ["a <MISSING>", "a <MISSING>"]);
  });

  for (const [name, tools, expected] of [
    ["true alone", ["job_boolean_true"], true],
    ["false alone", ["job_boolean_false"], false],
    ["false, then true", ["job_boolean_false", "job_boolean_true"], true],
    ["true, then false", ["job_boolean_true", "job_boolean_false"], false],
    ["nothing", [], false],
    ["true that failed", ["!job_boolean_true"], false],
    ["false, then true that failed", ["job_boolean_false", "!job_boolean_true"], false],
  ] as const)
    it(`statements 10 and 11: a condition answered with ${name} ${expected ? "holds" : "fails"}`, async () => {
      const outcome = expected ? "succeeded" : "failed";
      const available = await run(single, ({ prompt }) => (prompt === before ? { tools } : yes));
      assert.equal(available.outcome.kind, outcome);
      if (!expected) assert.deepEqual(available.sessions.prompts, [before], "no retry, no prompt");
      const judged = await run(withCriteria({ condition: after }, 0), [{}, { tools }]);
      assert.equal(judged.outcome.kind, outcome);
    });

  it("statement 10: a call of job_prerequisite_failed in the availability check is a failure, whatever else was called", async () => {
    const tools = [["job_prerequisite_failed", "no input"], "job_boolean_true"] as const;
    const played = await run(single, [{ tools }]);
    const said = "job_prerequisite_failed was called: no input";
    assert.deepEqual(played.outcome, {
      kind: "failed",
      reason: `task "t" failed: not available: ${said}`,
    });
    decided(
      played,
      `[AVAILABILITY] availability.condition does not hold: ${said} (condition = "${before}")`,
    );
  });

  it("statement 10: startTask may skip the availability check", async () => {
    const availability = { previousTasks: ["t"], condition: before };
    const skipping = { taskName: "t", ignorePrerequisiteCheck: true };
    const { outcome, sessions } = await run({ prompt: "p", availability }, [], {
      single: skipping,
    });
    assert.deepEqual([outcome.kind, sessions.prompts], ["succeeded", ["p"]]);
  });

  it("statement 11: asks the condition only when all the tools were called, and says what is missing", async () => {
    const toolExecuted = ["job_boolean_false", document];
    const task = withCriteria({ toolExecuted, condition: after }, 0);
    const played = await run(task, [{ tools: [`!${document}`, "job_boolean_false"] }]);
    assert.deepEqual(played.sessions.prompts, ["do it"]);
    assert.equal(played.outcome.kind, "failed");
    decided(
      played,
      `[CRITERIA] criteria.toolExecuted does not hold: not called successfully in the last turn: ${document} (toolExecuted = ${JSON.stringify(toolExecuted)})`,
    );
  });

  it("statement 11: only the last turn of the task session counts", async () => {
    const task = withCriteria({ toolExecuted: [document], condition: after });
    const { outcome } = await run(task, ({ prompt }) =>
      prompt === "do it" ? { tools: [document] } : no,
    );
    assert.equal(outcome.kind, "failed");
  });

  it("statement 12: retries in the same session with the prompt, the missing tools and the additional prompt", async () => {
    const task = withCriteria({
      toolExecuted: ["job_boolean_true", document],
      failureAction: { retryTimes: 2, additionalPrompt: ["go", "on, $task-model"] },
    });
    const played = await run(task, []);
    const retry = `do it\n\n## Required Tool Not Called: job_boolean_true, ${document}\nCall job_boolean_true and ${document} as tools, not in text.\n\n## You accidentally Stopped\ngo\non, worker`;
    const all = ["do it", retry, retry];
    assert.deepEqual(
      sent(played),
      all.map((prompt) => `s1 worker both: ${prompt}`),
    );
    const told = played.decisions.filter((text) => text.startsWith("[DECISION]"));
    const starts = [
      /^\S+ Retry 1 of 2: n/,
      /^\S+ Retry 2 of 2: n/,
      /^\S+ Giving up after 2 retries/,
    ];
    assert.equal(told.length, starts.length);
    for (const [index, start] of starts.entries()) assert.match(told[index] ?? "", start);
  });

  it("statement 12: the line breaks that end block text are no empty lines between the parts", async () => {
    const failureAction = { retryTimes: 1, additionalPrompt: "\ngo on\n\n" };
    const criteria = { toolExecuted: ["job_boolean_true"], failureAction };
    const { sessions } = await run({ prompt: "do it\n", criteria }, []);
    assert.deepEqual(sessions.prompts, [
      "do it\n",
      "do it\n\n## Required Tool Not Called: job_boolean_true\nCall job_boolean_true as a tool.\n\n## You accidentally Stopped\ngo on",
    ]);
  });

  it("statement 12: leaves out what does not apply", async () => {
    const { sessions } = await run(withCriteria({ condition: after }), () => no);
    assert.deepEqual(sessions.prompts, ["do it", after, "do it", after]);
  });

  const needsTrue = (retryTimes: number): Task =>
    withCriteria({ toolExecuted: ["job_boolean_true"] }, retryTimes);

  it("statement 13: a crash that exhausts its attempts during the first prompt fails the task", async () => {
    const { ended, sessions } = await run(needsTrue(3), () => crash);
    assert.deepEqual([ended, sessions.turns.length], [["t:crashed"], 5]);
  });

  it("statement 13: a crash that exhausts its attempts during a criteria retry is a failed iteration, and the next goes on", async () => {
    const played = await run(needsTrue(2), [{}, crash, crash, crash, crash, crash, yes]);
    assert.equal(played.outcome.kind, "succeeded");
    const retry =
      "do it\n\n## Required Tool Not Called: job_boolean_true\nCall job_boolean_true as a tool.";
    const again = Array<string>(4).fill(SESSION_CRASH_PREFIX + retry);
    assert.deepEqual(played.sessions.prompts, ["do it", retry, ...again, retry]);
    decided(played, "[DECISION] Retry 2 of 2: the session crashed: boom");
  });

  it("statement 13: a crash in the criteria check of a retry is a failed iteration too", async () => {
    const checks: Act[] = [no, crash, crash, crash, crash, crash];
    const criteria = { ...multiple.criteria, failureAction: { retryTimes: 2 } };
    const { ended } = await run({ ...multiple, criteria }, ({ prompt }) =>
      prompt === after ? (checks.shift() ?? yes) : yes,
    );
    assert.deepEqual(ended, ["t:succeeded"]);
  });

  it("statement 14: stopping ends all sessions, and nothing is reported after the end", async () => {
    const abort = new AbortController();
    const { events, sessions, outcome } = await run(single, [{ hang: true }], {
      single: { taskName: "t" },
      signal: abort.signal,
      onEvent: (event) =>
        void (event.type === "turn.started" && queueMicrotask(() => abort.abort())),
    });
    assert.equal(outcome.kind, "canceled");
    assert.deepEqual(sessions.closed, ["s1"]);
    assert.equal(events.at(-1)?.type, "run.ended");
  });

  const empty = { tools: ["view"], empty: true } as const;

  it("statement 7a: a check that ended with an empty answer is asked once for its verdict", async () => {
    const task = withCriteria({ condition: after }, 0);
    const { outcome, sessions } = await run(task, [{}, empty, { ...yes, empty: true }]);
    assert.equal(outcome.kind, "succeeded");
    assert.deepEqual(sessions.prompts.slice(1), [
      after,
      "Your last answer was empty. Call job_boolean_true or job_boolean_false now.",
    ]);
  });

  it("statement 7a: with multiple models, the session of the prompt goes on, after its check", async () => {
    const { outcome, sessions, decisions } = await run({ ...multiple, availability: {} }, [
      empty,
      no,
      {},
      yes,
    ]);
    assert.equal(outcome.kind, "succeeded");
    assert.deepEqual(
      sessions.turns.map(({ sessionId, label }) => `${sessionId} ${label.role} ${label.retry}`),
      ["s1 task 0", "s2 driving 0", "s1 task 0", "s3 driving 0"],
    );
    assert.equal(sessions.closed.length, 3);
    assert.ok(!decisions.some((text) => text.includes("Retry")));
  });

  it("statement 7a: a crash while the session goes on sends the whole prompt again", async () => {
    const { outcome, sessions } = await run({ prompt: "do it" }, [empty, crash]);
    assert.equal(outcome.kind, "succeeded");
    assert.equal(sessions.prompts.at(-1), `${SESSION_CRASH_PREFIX}do it`);
  });

  it("limits: a task that makes more model calls than allowed fails without a retry, and the limit is named", async () => {
    const acts = [{ kind: "agent.started", agentTurnId: "0" } as const, modelUsed()];
    const played = await run(needsTrue(5), () => ({ acts }), { limits: { modelCalls: 2 } });
    assert.deepEqual([played.sessions.turns.length, played.outcome.kind], [2, "failed"]);
    decided(
      played,
      '[OPERATION] Exceeded limits.modelCalls of task "t" (2 model calls), set by limits.modelCalls of the entry',
    );
  });

  it("limits: calls of sub-agents count, and are seen only when they are over", async () => {
    const acts = Array.from({ length: 3 }, () => ({ ...modelUsed(), subAgent: true }));
    const { outcome } = await run({ prompt: "p" }, [{ acts }], { limits: { modelCalls: 2 } });
    assert.equal(outcome.kind, "failed");
  });

  it("limits: a task that runs longer than taskMinutes fails without a retry", async () => {
    const limits = { taskMinutes: 2 };
    const { outcome, clock } = await run({ prompt: "p" }, [{ hang: true }], { limits });
    assert.equal(clock.now(), 120_000);
    const reason =
      'task "t" failed: exceeded limits.taskMinutes (2 minutes), set by limits.taskMinutes of the entry';
    assert.deepEqual(outcome, { kind: "failed", reason });
  });

  it("a session that breaks its contract is a crash of the task, told once", async () => {
    const { outcome, decisions } = await run({ prompt: "p" }, () => {
      throw new Error("broken rig");
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
