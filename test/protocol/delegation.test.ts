import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createActionDialogue } from "../../src/protocol/dialogue.ts";
import { sessionCrash } from "../rig/crashes.ts";
import { modelUsed } from "../rig/fake-sessions.ts";
import { stopped, talk, type TalkSetup } from "./dialogue-rig.ts";
import { documentOf, internal, type Json } from "./rig.ts";

const helper = { prompt: ["Help with $user-input."], requireUserInput: true } as const;
const options = { delegates: ["help"] };

function delegate(fields: Json = {}, input = "$task-model"): Json {
  return internal("delegate", { task: "help", input }, { action_id: "d", ...fields });
}

function delegating(
  setup: Omit<TalkSetup, "answers"> & Partial<TalkSetup>,
): ReturnType<typeof talk> {
  return talk({
    tasks: { help: helper },
    options,
    answers: [documentOf([delegate()]), stopped()],
    ...setup,
  });
}

describe("delegate", () => {
  it("runs another task with its input, in a session of its own, as a part of the work", async () => {
    const { outcome, prompts, sessions, events } = await delegating({
      others: () => ({
        tools: [["job_prepare_document", "help.md\nmore"]],
        text: "Helped. ${{variables.x}}",
      }),
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    const [, turn] = sessions.turns;
    assert.equal(turn?.prompt, "Help with $task-model.");
    const { workId, taskId, iteration, modelId } = turn?.label ?? {};
    assert.deepEqual([workId, taskId, iteration, modelId], [0, "help", 1, "driver"]);
    const answer = { text: "Helped. ${{variables.x}}", document: "help.md\nmore" };
    assert.ok(prompts[1]?.includes(JSON.stringify(answer)), prompts[1]);
    const works = events.filter(({ type }) => type === "work.started" || type === "work.ended");
    assert.equal(works.length, 2);
    assert.deepEqual(sessions.closed, ["s2", "s1"]);
  });

  for (const [name, others, tasks, reason] of [
    [
      "fails",
      () => ({ text: "No." }),
      { criteria: { toolExecuted: ["none"], failureAction: { retryTimes: 0 } } },
      /criteria not met/,
    ],
    ["crashes", () => ({ crash: sessionCrash }), {}, /Gave up after 5 attempts/],
    [
      "is not available",
      () => ({}),
      { availability: { previousTasks: ["x"] } },
      /"ship", which is not/,
    ],
    [
      "exceeds a limit",
      () => ({ acts: Array.from({ length: 4 }, () => modelUsed()) }),
      {},
      /limits\.modelCalls/,
    ],
  ] as const) {
    it(`is a failed action if the task ${name}`, async () => {
      const { outcome, prompts, endedActions } = await delegating({
        tasks: { help: { ...helper, ...tasks }, x: helper },
        others,
        limits: { modelCalls: 3 },
      });
      assert.deepEqual(outcome, { kind: "succeeded" });
      assert.deepEqual(endedActions, ["d failed"]);
      assert.match(prompts[1] ?? "", reason);
    });
  }

  it("is available for a task that names the delegating task", async () => {
    const { endedActions } = await delegating({
      tasks: { help: { ...helper, availability: { previousTasks: ["ship"] } } },
    });
    assert.deepEqual(endedActions, ["d succeeded"]);
  });

  it("ends with the action, and with the job", async () => {
    const canceled = await delegating({
      answers: [
        documentOf([delegate({ execution: "ASYNC" })]),
        documentOf([internal("task_manager", { operation: "cancel", ids: ["d"] })]),
        stopped(),
      ],
      others: () => ({ hang: true }),
    });
    assert.deepEqual(canceled.outcome, { kind: "succeeded" });
    assert.ok(canceled.endedActions.includes("d cancelled"));
    assert.ok(canceled.clock.now() < 5_000, "the task went on");
    assert.deepEqual(canceled.sessions.closed.toSorted(), ["s1", "s2"]);
    const stop = new AbortController();
    const { outcome, endedActions, sessions } = await delegating({
      signal: stop.signal,
      others: () => {
        stop.abort("enough");
        return { hang: true };
      },
    });
    assert.deepEqual(outcome, { kind: "canceled", reason: "enough" });
    assert.deepEqual(endedActions, ["d cancelled"]);
    assert.deepEqual(sessions.closed.toSorted(), ["s1", "s2"]);
  });

  it("has model calls of its own, and spends the tokens of the job", async () => {
    const act = { acts: [modelUsed(60)] };
    const calls = await delegating({
      limits: { modelCalls: 2 },
      answers: [
        { ...act, text: documentOf([delegate()]) },
        { ...act, text: stopped() },
      ],
      others: () => ({ ...act, text: "Helped." }),
    });
    assert.deepEqual(calls.outcome, { kind: "succeeded" });
    const { outcome } = await delegating({
      limits: { tokens: 100 },
      answers: [
        { ...act, text: documentOf([delegate()]) },
        { ...act, text: stopped() },
      ],
      others: () => ({ ...act, text: "Helped." }),
    });
    assert.match(outcome.kind === "failed" ? outcome.reason : "", /limits\.tokens/);
  });

  it("leaves its last error to the limit that ends the job", async () => {
    const refusal = { statusCode: 429, message: "slow down", subAgent: false } as const;
    const { outcome } = await delegating({
      limits: { jobMinutes: 1 },
      others: () => ({ takes: 120_000, acts: [{ kind: "model.failed", ...refusal }] }),
    });
    assert.match(
      outcome.kind === "failed" ? outcome.reason : "",
      /jobMinutes.*The last error was: the model server answered 429: "slow down"/,
    );
  });

  it("may delegate again, and knows how deep it is", async () => {
    const depths: number[] = [];
    const { outcome } = await delegating({
      dialogues: Object.fromEntries(
        ["ship", "help"].map((name) => [
          name,
          {
            start: (context) => {
              depths.push(context.depth);
              const delegates = context.depth < 3 ? ["help"] : [];
              const make = createActionDialogue({ tools: [], iterations: 20, delegates });
              return Promise.resolve(make(context));
            },
          },
        ]),
      ),
      others: ({ label, prompt }) => ({
        text:
          label.taskId === "help" && prompt.startsWith("Help")
            ? documentOf([delegate()])
            : stopped(),
      }),
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.deepEqual(depths, [0, 1, 2, 3]);
  });
});
