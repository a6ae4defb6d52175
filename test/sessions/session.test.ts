import assert from "node:assert/strict";
import { test } from "node:test";
import {
  completed,
  crashOf,
  label,
  makeRig,
  neverAborted,
  scriptedTransport,
  sharedRig,
  successes,
  turn,
} from "./rig.ts";

test("a turn ends with the model's text, told as it came", async (t) => {
  const rig = await sharedRig(t, () => ({ reasoning: "Let me see.", text: "Hello to you." }));
  const session = await rig.open();
  const run = await turn(session, "Hello");
  assert.deepEqual(run.outcome, { kind: "completed", toolCalls: [], text: "Hello to you." });
  const kinds = run.activities
    .map(({ kind }) => kind)
    // The runtime reports the usage at any moment of the answer.
    .filter((kind) => kind !== "model.used")
    .filter((kind, i, all) => kind !== all[i - 1]);
  assert.ok(run.activities.some(({ kind }) => kind === "model.used"));
  assert.deepEqual(kinds, [
    "agent.started",
    "reasoning.started",
    "reasoning.delta",
    "reasoning.ended",
    "message.started",
    "message.delta",
    "message.ended",
    "model.replied",
    "agent.ended",
    "idle",
  ]);
  assert.deepEqual(
    run.activities.find(({ kind }) => kind === "model.replied"),
    {
      kind: "model.replied",
      text: "Hello to you.",
      reasoning: "Let me see.",
      toolCalls: [],
      subAgent: false,
    },
  );
});

test("the prompt reaches the model unchanged, whatever is in it", async (t) => {
  const rig = await sharedRig(t, () => ({ text: "ok" }));
  const session = await rig.open();
  const prompt =
    "# Title\n\n  indented $PATH `x` $(id) <b>&amp;</b>\t\"quotes\" 'single' \\n\r\n日本語 🙂\n/help\n@file #1";
  completed(await turn(session, prompt));
  assert.equal(rig.server.requests[0]?.prompt, prompt);
  assert.equal(rig.server.requests[0]?.model, "claude-test");
});

test("tool calls are listed in the order of the model, with what became of them", async (t) => {
  const rig = await sharedRig(t, ({ toolResults }) =>
    toolResults.length > 0
      ? { text: "Done." }
      : {
          toolCalls: [
            { name: "bash", arguments: { command: "sleep 0.3; exit 3", description: "slow" } },
            { name: "job_boolean_false", arguments: { argument: "no" } },
            { name: "no_such_tool", arguments: {} },
            { name: "job_boolean_true", arguments: { argument: "yes" } },
            { name: "job_prepare_document", arguments: { wrong: 1 } },
            { name: "view", arguments: { path: "/etc/hostname" } },
          ],
        },
  );
  const session = await rig.open({ permissions: "workspace" });
  const run = await turn(session, "Do it");
  assert.deepEqual(completed(run).toolCalls, [
    {
      name: "bash",
      arguments: { command: "sleep 0.3; exit 3", description: "slow" },
      succeeded: true,
    },
    { name: "job_boolean_false", arguments: { argument: "no" }, succeeded: true },
    { name: "no_such_tool", arguments: {}, succeeded: false },
    { name: "job_boolean_true", arguments: { argument: "yes" }, succeeded: true },
    { name: "job_prepare_document", arguments: { wrong: 1 }, succeeded: false },
    { name: "view", arguments: { path: "/etc/hostname" }, succeeded: false },
  ]);
  const results = rig.server.requests[1]?.toolResults ?? [];
  assert.match(results.join("\n"), /takes one parameter named "argument"/);
  for (const end of ["tool.started", "tool.ended"])
    assert.equal(run.activities.filter(({ kind }) => kind === end).length, 6, end);
});

test("an answer that is a tool call and then nothing is the end of the turn, and keeps the call", async (t) => {
  const rig = await sharedRig(t, ({ toolResults }) =>
    toolResults.length > 0
      ? { text: "" }
      : { toolCalls: [{ name: "job_boolean_true", arguments: { argument: "it holds" } }] },
  );
  const { outcome } = await turn(await rig.open(), "Check it");
  assert.deepEqual(outcome, {
    kind: "completed",
    toolCalls: [{ name: "job_boolean_true", arguments: { argument: "it holds" }, succeeded: true }],
    text: "",
    empty: true,
  });
});

test("each model family gets the tools of a preset under its own names", async (t) => {
  const offered = new Map<string, readonly string[]>();
  const rig = await sharedRig(t, (request) => {
    offered.set(`${request.model} ${request.prompt}`, request.tools.toSorted());
    return { text: "ok" };
  });
  const models = ["claude-test", "gpt-test"];
  await Promise.all(
    models.flatMap((modelId) =>
      (["read-only", "workspace"] as const).map(async (permissions) => {
        completed(await turn(await rig.open({ modelId, permissions }), permissions));
      }),
    ),
  );
  const job = [
    "job_boolean_false",
    "job_boolean_true",
    "job_prepare_document",
    "job_prerequisite_failed",
  ];
  const shell = ["bash", "list_bash", "read_bash", "stop_bash"];
  const expected = {
    "claude-test read-only": ["glob", "grep", "view", ...job],
    "claude-test workspace": ["glob", "grep", "view", "create", "edit", ...shell, ...job],
    "gpt-test read-only": ["glob", "rg", "view", ...job],
    "gpt-test workspace": ["glob", "rg", "view", "apply_patch", ...shell, ...job],
  };
  for (const [key, tools] of Object.entries(expected)) {
    assert.deepEqual(offered.get(key), tools.toSorted(), key);
  }
});

test("what sub-agents cost is told, and their requests are known as theirs", async (t) => {
  const args = { name: "helper", description: "d", prompt: "Help", agent_type: "explore" };
  const task = { name: "task", arguments: { ...args, mode: "sync" } };
  const transport = scriptedTransport(({ index, toolResults }) => {
    if (transport.asked[index]?.subAgent === true) return { text: "The sub-agent's answer" };
    return toolResults.length > 0
      ? { text: `The end: ${toolResults.join()}` }
      : { toolCalls: [task] };
  });
  const rig = await makeRig(t, () => ({}), { provider: undefined, transport });
  const session = await rig.open({ permissions: "all" });
  const run = await turn(session, "Delegate");
  assert.match(completed(run).text, /The sub-agent's answer/);
  assert.deepEqual(successes(run), [true]);
  assert.deepEqual(
    transport.asked.map(({ subAgent, label: of }) => `${of?.taskId} ${subAgent}`),
    ["task false", "task true", "task false"],
  );
  const used = run.activities.filter((activity) => activity.kind === "model.used");
  assert.deepEqual(
    used.map(({ subAgent }) => subAgent),
    [false, true, false],
  );
});

test("with a transport nothing is sent anywhere, and no provider or token is needed", async (t) => {
  const transport = scriptedTransport(({ prompt }) => ({ text: `You said: ${prompt}` }));
  const { asked } = transport;
  const rig = await makeRig(t, () => ({}), { provider: undefined, environment: {}, transport });
  const session = await rig.open({ modelId: "gpt-test" });
  assert.equal(completed(await turn(session, "ping")).text, "You said: ping");
  assert.equal(asked.length, 1);
  assert.deepEqual(asked[0]?.label, label("gpt-test"));
  assert.equal(asked[0]?.subAgent, false);
  assert.equal(asked[0]?.sessionId, session.id);
  assert.match(asked[0]?.url ?? "", /transport\.invalid/);
  const ofNoTask = await rig.sessions.factory.open(
    { modelId: "gpt-test", workingDirectory: rig.workspace.path, permissions: "read-only" },
    neverAborted,
  );
  assert.ok(ofNoTask.kind === "opened");
  assert.equal(completed(await turn(ofNoTask.session, "pong")).text, "You said: pong");
  assert.equal(asked[1]?.label, undefined);
  assert.equal(asked[1]?.sessionId, ofNoTask.session.id);
});

test("without a model to talk to, opening names the three ways to get one", async (t) => {
  const rig = await makeRig(t, () => ({}), { provider: undefined, environment: {} });
  const { cause, message } = await rig.refusal();
  assert.equal(cause, "configuration");
  for (const way of [/GitHub token/, /`provider`/, /`rehearsal`/]) assert.match(message, way);
});

test("a closed session takes no more turns, and closing twice is closing once", async (t) => {
  const rig = await sharedRig(t, () => ({ text: "ok" }));
  const session = await rig.open();
  await Promise.all([session.close(), session.close()]);
  await session.close();
  assert.equal(crashOf(await turn(session, "Hello")).cause, "internal");
});
