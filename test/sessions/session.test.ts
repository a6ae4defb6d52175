import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { test } from "node:test";
import type { SessionLabel } from "../../src/engine/ports.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { createSessions } from "../../src/sessions/sessions.ts";
import type { ModelRequest } from "../../src/sessions/transport.ts";
import { parseRequest, streamedBody } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { completed, crashOf, label, makeRig, neverAborted, sharedRig, turn } from "./rig.ts";

test("a turn ends with the model's text, told as it came", async (t) => {
  const rig = await sharedRig(t, () => ({ reasoning: "Let me see.", text: "Hello to you." }));
  const session = await rig.open();
  const run = await turn(session, "Hello");
  assert.deepEqual(run.outcome, { kind: "completed", toolCalls: [], text: "Hello to you." });
  const kinds = run.activities
    .map(({ kind }) => kind)
    .filter((kind, i, all) => kind !== all[i - 1]);
  assert.deepEqual(kinds, [
    "agent.started",
    "reasoning.started",
    "reasoning.delta",
    "reasoning.ended",
    "message.started",
    "message.delta",
    "model.used",
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
  assert.equal(rig.server.requests[0]?.headers["authorization"], "Bearer a-key");
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
  const started = run.activities.filter(({ kind }) => kind === "tool.started").length;
  const ended = run.activities.filter(({ kind }) => kind === "tool.ended").length;
  assert.deepEqual([started, ended], [6, 6]);
});

test("an answer that is a tool call and then nothing is a crash, and keeps the call", async (t) => {
  const rig = await sharedRig(t, ({ toolResults }) =>
    toolResults.length > 0
      ? { text: "" }
      : { toolCalls: [{ name: "job_boolean_true", arguments: { argument: "it holds" } }] },
  );
  const { outcome } = await turn(await rig.open(), "Check it");
  assert.deepEqual(outcome.toolCalls, [
    { name: "job_boolean_true", arguments: { argument: "it holds" }, succeeded: true },
  ]);
  if (outcome.kind !== "crashed") assert.fail(outcome.kind);
  assert.equal(outcome.crash.cause, "empty-answer");
  assert.match(outcome.crash.message, /answered with nothing/);
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
  const workspace = await makeWorkspace(t);
  const asked: ModelRequest[] = [];
  const sessions = createSessions({
    clock: systemClock,
    environment: process.env,
    transport: {
      send(request) {
        asked.push(request);
        const { model, toolResults } = parseRequest(0, request.url, {}, request.body);
        const task = {
          name: "task",
          arguments: {
            name: "helper",
            description: "d",
            prompt: "Help",
            agent_type: "explore",
            mode: "sync",
          },
        };
        const reply = request.subAgent
          ? { text: "The sub-agent's answer" }
          : toolResults.length > 0
            ? { text: `The end: ${toolResults.join()}` }
            : { toolCalls: [task] };
        return Promise.resolve(
          new Response(streamedBody(model, reply), {
            headers: { "content-type": "text/event-stream" },
          }),
        );
      },
    },
  });
  t.after(() => sessions.stop());
  const opened = await sessions.factory.open(
    {
      label: label("claude-test"),
      modelId: "claude-test",
      workingDirectory: workspace.path,
      permissions: "all",
    },
    neverAborted,
  );
  assert.ok(opened.kind === "opened");
  const run = await turn(opened.session, "Delegate");
  assert.match(completed(run).text, /The sub-agent's answer/);
  assert.deepEqual(
    completed(run).toolCalls.map(({ name, succeeded }) => [name, succeeded]),
    [["task", true]],
  );
  assert.deepEqual(
    asked.map(({ subAgent, label: of }) => [subAgent, of?.taskId]),
    [
      [false, "task"],
      [true, "task"],
      [false, "task"],
    ],
  );
  const used = run.activities.filter((activity) => activity.kind === "model.used");
  assert.deepEqual(
    used.map(({ subAgent }) => subAgent),
    [false, true, false],
  );
  await opened.session.close();
});

test("with a transport nothing is sent anywhere, and no provider or token is needed", async (t) => {
  const asked: { readonly request: ModelRequest; readonly label: SessionLabel | undefined }[] = [];
  const workspace = await makeWorkspace(t);
  const sessions = createSessions({
    clock: systemClock,
    environment: {},
    transport: {
      async send(request) {
        asked.push({ request, label: request.label });
        const { prompt, model } = parseRequest(0, request.url, request.headers, request.body);
        return new Response(streamedBody(model, { text: `You said: ${prompt}` }), {
          headers: { "content-type": "text/event-stream" },
        });
      },
    },
  });
  t.after(() => sessions.stop());
  const opened = await sessions.factory.open(
    {
      label: label("gpt-test"),
      modelId: "gpt-test",
      workingDirectory: workspace.path,
      permissions: "read-only",
    },
    neverAborted,
  );
  assert.equal(opened.kind, "opened");
  if (opened.kind !== "opened") return;
  const run = await turn(opened.session, "ping");
  assert.equal(completed(run).text, "You said: ping");
  assert.equal(asked.length, 1);
  assert.deepEqual(asked[0]?.label, label("gpt-test"));
  assert.equal(asked[0]?.request.subAgent, false);
  assert.equal(asked[0]?.request.sessionId, opened.session.id);
  assert.match(asked[0]?.request.url ?? "", /transport\.invalid/);
  const ofNoTask = await sessions.factory.open(
    { modelId: "gpt-test", workingDirectory: workspace.path, permissions: "read-only" },
    neverAborted,
  );
  assert.ok(ofNoTask.kind === "opened");
  assert.equal(completed(await turn(ofNoTask.session, "pong")).text, "You said: pong");
  assert.equal(asked[1]?.label, undefined);
  assert.equal(asked[1]?.request.sessionId, ofNoTask.session.id);
});

test("without a model to talk to, opening names the three ways to get one", async () => {
  const sessions = createSessions({ clock: systemClock, environment: {} });
  const opened = await sessions.factory.open(
    { label: label("m"), modelId: "m", workingDirectory: tmpdir(), permissions: "read-only" },
    neverAborted,
  );
  assert.equal(opened.kind, "crashed");
  if (opened.kind !== "crashed") return;
  assert.equal(opened.crash.cause, "configuration");
  for (const way of [/GitHub token/, /`provider`/, /`rehearsal`/]) {
    assert.match(opened.crash.message, way);
  }
  await sessions.stop();
});

test("a closed session takes no more turns, and closing twice is closing once", async (t) => {
  const rig = await sharedRig(t, () => ({ text: "ok" }));
  const session = await rig.open();
  await Promise.all([session.close(), session.close()]);
  await session.close();
  assert.equal(crashOf(await turn(session, "Hello")).cause, "internal");
});

test("sessions at once each get their own answer", async (t) => {
  const rig = await makeRig(t, ({ prompt, toolResults }) =>
    toolResults.length > 0
      ? { text: `done ${prompt}` }
      : { toolCalls: [{ name: "job_prepare_document", arguments: { argument: prompt } }] },
  );
  const sessions = await Promise.all(Array.from({ length: 10 }, () => rig.open()));
  const runs = await Promise.all(sessions.map((session, i) => turn(session, `prompt ${i}`)));
  runs.forEach((run, i) => {
    assert.deepEqual(completed(run), {
      kind: "completed",
      toolCalls: [
        { name: "job_prepare_document", arguments: { argument: `prompt ${i}` }, succeeded: true },
      ],
      text: `done prompt ${i}`,
    });
  });
  await Promise.all(sessions.map((session) => session.close()));
  assert.equal(rig.sessions.runtimePids.length, 1);
  await rig.sessions.stop();
  assert.deepEqual(rig.sessions.runtimePids, []);
});
