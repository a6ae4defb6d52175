import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Tool, ToolOutcome } from "../../src/tools/tool.ts";
import { collectOutputs } from "../../src/outputs/collect.ts";
import { modelUsed } from "../rig/fake-sessions.ts";
import { stopped, talk } from "./dialogue-rig.ts";
import { action, documentOf, internal, tool } from "./rig.ts";
import { viewOf } from "../rig/tell.ts";

const never: Tool = tool("never", {
  parallelSafe: true,
  run: (_call, { signal }) =>
    new Promise((resolve) =>
      signal.addEventListener("abort", () => resolve({ kind: "failed", reason: "told to stop" })),
    ),
});

const full: ToolOutcome = { kind: "failed", reason: "No space left" };

function reasonOf(outcome: Awaited<ReturnType<typeof talk>>["outcome"]): string {
  return outcome.kind === "failed" ? outcome.reason : `it ${outcome.kind}`;
}

describe("a task with the action protocol", () => {
  it("goes on until the model stops, in one session, and reports the response", async () => {
    const { outcome, prompts, sessions, report } = await talk({
      task: {
        prompt: ["Ship $user-input."],
        requireUserInput: true,
        // Asked first, in the same session.
        availability: { condition: ["CONDITION job_boolean_true"] },
      },
      userInput: "$user-input",
      tools: [tool("build", { returns: { id: "$task-model" } })],
      answers: [documentOf([action("build", { action_id: "b" })]), stopped("It is built.")],
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.equal(prompts[0], "Ship $user-input.");
    assert.match(
      prompts[1] ?? "",
      /^Action "b"|\n\nAction "b" \(build\) succeeded:\n```\n\{"id":"\$task-model"\}\n```$/,
    );
    assert.equal(report, "It is built.");
    assert.equal(sessions.opened.length, 1);
    assert.match(sessions.opened[0]?.systemPrompt?.text ?? "", /"name":"build"/);
    assert.equal(sessions.opened[0]?.systemPrompt?.mode, "append");
  });

  it("fails at its cap, whatever the last answer says, without a retry", async () => {
    const { outcome, prompts, report, endedActions } = await talk({
      task: {
        criteria: { toolExecuted: ["none"], failureAction: { retryTimes: 2 } },
      },
      tools: [tool("build")],
      options: { iterations: 2 },
      answers: [
        documentOf([action("build", { action_id: "a" })]),
        documentOf([action("build", { action_id: "b" })]),
        stopped("All done.", { actions: [action("build", { action_id: "c" })] }),
      ],
    });
    assert.equal(outcome.kind, "failed");
    assert.match(outcome.kind === "failed" ? outcome.reason : "", /cap reached: .* 2 documents/);
    assert.equal(prompts.length, 3);
    assert.match(prompts[2] ?? "", /last answer/);
    assert.deepEqual(endedActions, ["a succeeded", "b succeeded"]);
    assert.equal(report, "All done.");
  });

  it("is not retried again if a retry fails at its cap", async () => {
    const { outcome, prompts } = await talk({
      task: {
        criteria: { toolExecuted: ["none"], failureAction: { retryTimes: 3 } },
      },
      tools: [tool("build")],
      options: { iterations: 1 },
      answers: [stopped(), documentOf([action("build")])],
    });
    assert.match(outcome.kind === "failed" ? outcome.reason : "", /failed: cap reached/);
    assert.equal(prompts.length, 3);
  });

  it("fails after two repairs, and says what was wrong", async () => {
    const { outcome, prompts, endedActions } = await talk({
      tools: [tool("build")],
      answers: ["Sure!", documentOf([action("bild")]), { text: stopped(), cut: true }],
    });
    assert.match(outcome.kind === "failed" ? outcome.reason : "", /protocol failure: .*cut: /);
    assert.match(prompts[1] ?? "", /"code": "not_json"/);
    assert.match(prompts[2] ?? "", /did you mean .*build/);
    assert.equal(prompts.length, 3);
    assert.deepEqual(endedActions, []);
  });

  it("may repair each document twice, is asked once to act, and then fails", async () => {
    const idle = documentOf([]);
    const build = (id: string): string => documentOf([action("build", { action_id: id })]);
    const { outcome, prompts } = await talk({
      tools: [tool("build")],
      answers: ["no", "no", build("a"), "no", "no", idle, build("b"), idle, idle],
    });
    assert.match(reasonOf(outcome), /nothing to do: the model neither acted nor stopped/);
    assert.equal(prompts.filter((text) => text.includes("was rejected")).length, 4);
    assert.equal(prompts.filter((text) => text.includes("has no actions and does not")).length, 2);
    assert.equal(prompts.length, 9);
  });

  it("goes on in a new session after an answer that was too long", async () => {
    const crash = { cause: "answer-too-long", message: "The answer has more than 4 MB." } as const;
    const { outcome, prompts, sessions, decisions } = await talk({
      answers: [{ crash }, stopped()],
    });
    assert.equal(outcome.kind, "succeeded");
    assert.match(prompts[1] ?? "", /"code": "cut"/);
    assert.equal(sessions.opened[1]?.history?.[0]?.text, "Ship it.");
    assert.ok(!decisions.some((text) => text.includes("Giving up")), decisions.join("\n"));
  });

  it("keeps what it found before an answer that was too long", async () => {
    const crash = { cause: "answer-too-long", message: "The answer has more than 4 MB." } as const;
    const found = (message: string): readonly [string, unknown] => ["job_annotate", { message }];
    const { events } = await talk({
      task: { prompt: ["Ship it, and use job_annotate."] },
      tools: [tool("build")],
      outputChecks: {
        finding: (value, task) => {
          const message = String(Object(value).message);
          const common = { path: "a.ts", line: 1, severity: "warning", rule: task, task } as const;
          return Promise.resolve({
            kind: "accepted",
            value: { ...common, message, fingerprint: message },
          });
        },
        proposal: () => Promise.reject(new Error()),
      },
      answers: [
        { calls: [found("first")], text: documentOf([action("build")]) },
        { crash },
        { calls: [found("second")], text: stopped() },
      ],
    });
    const view = viewOf(events);
    assert.deepEqual(
      collectOutputs(view).findings.map(({ message }) => message),
      ["first", "second"],
    );
  });

  it("thinks first if it may, with actions that only read", async () => {
    const { outcome, prompts, endedActions } = await talk({
      tools: [tool("build"), tool("read", { readOnly: true })],
      options: { preThinking: 3 },
      answers: [
        documentOf([action("build")]),
        documentOf([action("read", { action_id: "r" })]),
        documentOf(null, { stop: true }),
        documentOf([action("build", { action_id: "b" })]),
        stopped(),
      ],
    });
    assert.equal(outcome.kind, "succeeded");
    assert.match(prompts[0] ?? "", /^Ship it\.\n\nThink first, in at most 3 documents/);
    assert.match(prompts[1] ?? "", /not_read_only/);
    assert.match(prompts[3] ?? "", /Now do the task/);
    assert.deepEqual(endedActions, ["r succeeded", "b succeeded"]);
  });

  it("retries with the results of background actions that ended meanwhile", async () => {
    const slow = { ...never, name: "slow", timeoutSeconds: 5 };
    const { outcome, prompts, decisions } = await talk({
      task: {
        criteria: { toolExecuted: ["build"], failureAction: { retryTimes: 1 } },
      },
      tools: [slow, tool("build")],
      answers: [
        documentOf([action("slow", { action_id: "bg", execution: "ASYNC" })], {
          status: "TASK_STARTED",
          stop: true,
          response: "Started.",
        }),
        documentOf([
          internal("task_manager", { operation: "get_status", ids: ["bg"] }, { action_id: "ask" }),
          action("build"),
        ]),
        stopped(),
      ],
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.match(
      prompts[1] ?? "",
      /^Ship it\.\n\n## Required Tool Not Called: build\nCall build as a tool\.\n\nActions of earlier rounds/,
    );
    assert.match(prompts[1] ?? "", /Action "bg" \(slow\) timed out/);
    assert.match(prompts[2] ?? "", /"ask".*\n```\n.*"timed_out"/);
    assert.ok(decisions.some((text) => text.includes('"bg" (slow) timed out')));
  });

  it("counts the calls of all its turns for toolExecuted, members of monuments included", async () => {
    const criteria = {
      toolExecuted: ["job_prepare_document", "build"],
      failureAction: { retryTimes: 0 },
    } as const;
    const options = { monuments: [{ name: "release", tools: ["build"], relics: [] }] };
    const build = action("release.build", { type: "monument" });
    const answers = [
      { tools: [["job_prepare_document", "report.md"]], text: documentOf([build]) },
      stopped(),
    ] as const;
    const done = await talk({ task: { criteria }, tools: [tool("build")], options, answers });
    assert.deepEqual(done.outcome, { kind: "succeeded" });
    const fails = tool("build", { run: () => Promise.resolve({ kind: "failed", reason: "no" }) });
    const { outcome } = await talk({ task: { criteria }, tools: [fails], options, answers });
    assert.match(outcome.kind === "failed" ? outcome.reason : "", /since the last retry: build/);
  });

  it("answers a document that equals the last one without running it, until an id or a function call differs", async () => {
    let runs = 0;
    const build = tool("build", {
      run: async () => ({ kind: "succeeded", value: (runs += 1) }),
    });
    const again = documentOf([action("build")]);
    const { outcome, prompts } = await talk({
      tools: [build],
      answers: [
        again,
        again,
        documentOf([action("build", { action_id: "b" })]),
        again,
        { tools: ["job_boolean_true"], text: again },
        documentOf([action("build")], { stop: true, response: "Done." }),
      ],
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.equal(runs, 4);
    assert.match(
      prompts[2] ?? "",
      /^You have asked this already; the result is the same\. End with \{/,
    );
    assert.equal(prompts.length, 6);
  });

  it("may ask the same again while something runs, and of internal functions", async () => {
    const list = documentOf([internal("task_manager", { operation: "list" })]);
    const { prompts } = await talk({ answers: [list, list, stopped()] });
    assert.match(prompts[2] ?? "", /^The texts in fences/);
  });

  it("counts no call that failed because its id belongs to an action that still runs", async () => {
    const criteria = { toolExecuted: ["build"], failureAction: { retryTimes: 0 } };
    let end = (): void => {};
    const ended = new Promise<ToolOutcome>((resolve) => {
      end = () => resolve({ kind: "succeeded", value: "done" });
    });
    const { outcome, endedActions } = await talk({
      task: { criteria },
      tools: [tool("build"), tool("slow", { run: () => ended })],
      answers: [
        documentOf([action("slow", { action_id: "a", execution: "ASYNC" })]),
        documentOf([action("build", { action_id: "a" })]),
        () => {
          end();
          return stopped();
        },
      ],
    });
    assert.deepEqual(endedActions, ["a failed", "a succeeded"]);
    assert.match(outcome.kind === "failed" ? outcome.reason : "", /since the last retry: build/);
  });

  it("has one session for a round of a task with multiple models", async () => {
    const { outcome, sessions } = await talk({
      task: {
        availability: { condition: ["CONDITION job_boolean_true one"] },
        criteria: {
          condition: ["CONDITION job_boolean_true two"],
          runConditionInSameSession: false,
          failureAction: { retryTimes: 1 },
        },
      },
      tools: [tool("build")],
      answers: [documentOf([action("build")]), stopped(), documentOf([action("build")]), stopped()],
      others: ({ prompt, label }) => ({
        tools: [
          prompt.includes("two") && label.retry === 0 ? "job_boolean_false" : "job_boolean_true",
        ],
      }),
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    const labels = sessions.turns.map(({ sessionId, label }) => `${sessionId} ${label.role}`);
    assert.deepEqual(labels, [
      "s1 driving",
      "s2 task",
      "s2 task",
      "s3 driving",
      "s4 task",
      "s4 task",
      "s5 driving",
    ]);
    assert.deepEqual(
      sessions.opened.map(({ systemPrompt }) => systemPrompt !== undefined),
      [false, true, false, true, false],
    );
    // The session of a retry begins anew, as in any task with multiple models.
    assert.equal(sessions.opened[3]?.history, undefined);
  });

  it("is taught in front of the first prompt in a session that was lent", async () => {
    const { clock } = await talk({ answers: [stopped()] });
    const { FakeSessions } = await import("../rig/fake-sessions.ts");
    const lent: string[] = [];
    const session = new FakeSessions(clock, ({ prompt }) => {
      lent.push(prompt);
      return { text: lent.length === 2 ? documentOf([action("build")]) : stopped() };
    }).session({ modelId: "m", label: undefined }, "lent");
    const { outcome } = await talk({
      task: { criteria: { toolExecuted: ["build"], failureAction: { retryTimes: 1 } } },
      tools: [tool("build")],
      answers: [],
      single: { taskName: "ship", borrowed: session },
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.match(lent[0] ?? "", /^# Action protocol[^]*\n\nShip it\.$/);
    assert.match(lent[1] ?? "", /^Ship it\.\n\n## Required Tool/);
    assert.equal(lent.length, 3);
  });

  it("ends with a limit of the task, and cancels what runs", async () => {
    const { outcome, endedActions, clock, ended } = await talk({
      limits: { taskMinutes: 1 },
      tools: [never],
      answers: [
        documentOf([
          action("never", { action_id: "bg", execution: "ASYNC" }),
          action("never", { action_id: "fg" }),
        ]),
      ],
    });
    assert.match(reasonOf(outcome), /limits\.taskMinutes/);
    assert.deepEqual(endedActions.toSorted(), ["bg cancelled", "fg cancelled"]);
    assert.ok(clock.now() < 65_000, String(clock.now()));
    assert.equal(ended.length, 1);
  });

  it("counts each of its turns as a model call of the task", async () => {
    const { outcome, prompts } = await talk({
      limits: { modelCalls: 3 },
      tools: [tool("build")],
      answers: [{ acts: [modelUsed()], text: documentOf([action("build")]) }],
    });
    assert.match(outcome.kind === "failed" ? outcome.reason : "", /limits\.modelCalls/);
    assert.equal(prompts.length, 3);
  });

  it("fails if the model stops with the status ERROR, unless a retry of its criteria succeeds", async () => {
    const error = stopped("I can't.", { status: "ERROR" });
    const { outcome, report } = await talk({ answers: [error] });
    assert.match(reasonOf(outcome), /The model stopped with the status ERROR\. I can't\.$/);
    assert.equal(report, "I can't.");
    const criteria = {
      condition: ["CONDITION job_boolean_true"],
      failureAction: { retryTimes: 1 },
    };
    const retried = await talk({ task: { criteria }, answers: [error, stopped()] });
    assert.deepEqual(retried.outcome, { kind: "succeeded" });
    assert.equal(retried.prompts.length, 2);
    assert.match(reasonOf((await talk({ task: { criteria }, answers: [error] })).outcome), /ERROR/);
  });

  it("fails if an action in the background fails after the model has stopped", async () => {
    const { outcome } = await talk({
      tools: [{ ...never, timeoutSeconds: 5 }],
      answers: [documentOf([action("never", { action_id: "d", execution: "ASYNC" })]), stopped()],
    });
    assert.match(reasonOf(outcome), /"d" \(never\) timed out: It did not end within 5 seconds/);
  });

  it("fails if an action in the background fails before the model has stopped, unseen", async () => {
    let fail = (): void => {};
    const failed = new Promise<ToolOutcome>((resolve) => (fail = () => resolve(full)));
    const { outcome } = await talk({
      tools: [tool("deploy", { run: () => failed })],
      answers: [
        documentOf([action("deploy", { action_id: "d", execution: "ASYNC" })]),
        () => {
          fail();
          return stopped();
        },
      ],
    });
    assert.match(reasonOf(outcome), /"d" \(deploy\) failed: No space left/);
  });

  it("succeeds if the model has canceled what runs in the background, or knows of its failure", async () => {
    const cancel = internal(
      "task_manager",
      { operation: "cancel", ids: ["bg"] },
      { execution: "ASYNC" },
    );
    const background = action("never", { action_id: "bg", execution: "ASYNC" });
    const canceled = await talk({
      tools: [never],
      answers: [documentOf([background]), stopped("Canceled.", { actions: [cancel] })],
    });
    assert.deepEqual(canceled.outcome, { kind: "succeeded" });
    const known = await talk({
      tools: [tool("deploy", { run: () => Promise.resolve(full) }), tool("build")],
      answers: [
        documentOf([action("deploy", { execution: "ASYNC" })]),
        documentOf([action("build")]),
        stopped("It could not be deployed."),
      ],
    });
    assert.deepEqual(known.outcome, { kind: "succeeded" });
  });
});

describe("the tools of a task with the action protocol", () => {
  it("are those that can be called; the task goes on without the others", async () => {
    const { outcome, decisions, endedActions } = await talk({
      tools: [
        tool("srv/bad", { parameters: { type: "nonsense" } }),
        tool("task_manager"),
        tool("build", { returns: "first" }),
        tool("build", { returns: "second" }),
      ],
      answers: [documentOf([action("build", { action_id: "b" })]), stopped()],
    });
    assert.deepEqual(outcome, { kind: "succeeded" });
    assert.deepEqual(endedActions, ["b succeeded"]);
    const notes = decisions.filter((text) => text.startsWith("[OPERATION] A tool is left out: "));
    assert.equal(notes.length, 3, notes.join("\n"));
    assert.match(notes[0] ?? "", /"srv\/bad" are not a valid JSON Schema/);
  });
});
