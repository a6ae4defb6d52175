/** The requests of a session with a history, on the real runtime, over its three wire APIs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PastMessage } from "../../src/engine/ports.ts";
import { type WireRequest, withHistory } from "../../src/sessions/model-response.ts";
import type { RecordedRequest } from "../rig/model-server.ts";
import { completed, crashOf, makeRig, scriptedTransport, sharedRig, turn } from "./rig.ts";

const wires = ["completions", "responses", "messages"] as const;

const system = { mode: "replace", text: "You are a clerk." } as const;

const past: readonly PastMessage[] = [
  { role: "user", text: "Where are you?" },
  { role: "assistant", text: "In the archive." },
];

/** Roles and texts in order, without the date that the runtime puts before a prompt; calls by their name. */
function seen(request: RecordedRequest | undefined): string[] {
  return (request?.messages ?? []).map(({ role, content, toolCalls }) => {
    const text = content.replace(/^<current_datetime>[^<]*<\/current_datetime>\n\n/, "");
    return [`${role}: ${text}`, ...toolCalls.map(({ name }) => `${name}()`)].join(" ");
  });
}

for (const wire of wires) {
  test(`${wire}: the history is between the system prompt and the first prompt, in every request of every turn`, async (t) => {
    const rig = await sharedRig(
      t,
      ({ prompt, messages }) => {
        if (prompt !== "Look" || messages.at(-1)?.role === "tool") return { text: `So: ${prompt}` };
        return { toolCalls: [{ name: "job_boolean_true", arguments: { argument: "yes" } }] };
      },
      { wire },
    );
    const session = await rig.open({ history: past, systemPrompt: system });
    const before = [
      "system: You are a clerk.",
      "user: Where are you?",
      "assistant: In the archive.",
    ];
    const called = [
      "user: Look",
      "assistant:  job_boolean_true()",
      "tool: Reported. Nothing else is needed for the verdict.",
    ];
    assert.equal(completed(await turn(session, "Look")).text, "So: Look");
    assert.equal(completed(await turn(session, "Go on")).text, "So: Go on");
    assert.deepEqual(rig.server.requests.map(seen), [
      [...before, "user: Look"],
      [...before, ...called],
      [...before, ...called, "assistant: So: Look", "user: Go on"],
    ]);
    const other = await rig.open({ systemPrompt: system });
    await turn(other, "Hello");
    assert.deepEqual(seen(rig.server.requests.at(-1)), ["system: You are a clerk.", "user: Hello"]);
  });

  test(`${wire}: odd histories reach the model in order, each in a form that the API takes`, async (t) => {
    const rig = await sharedRig(t, () => ({ text: "Yes" }), { wire });
    const long = "x".repeat(1_000_000);
    const history: readonly PastMessage[] = [
      { role: "assistant", text: "First" },
      { role: "assistant", text: `Second \ud800 "\\u0000" \u0000 😀` },
      { role: "user", text: " \n" },
      { role: "assistant", text: "" },
      { role: "user", text: long },
    ];
    const session = await rig.open({ history, systemPrompt: system });
    completed(await turn(session, "Third"));
    completed(await turn(session, "Fourth"));
    const begun = wire === "messages" ? ["user: (The conversation begins.)"] : [];
    assert.deepEqual(seen(rig.server.requests.at(-1)), [
      "system: You are a clerk.",
      ...begun,
      "assistant: First",
      `assistant: Second \ufffd "\\u0000" \u0000 😀`,
      `user: ${long}`,
      "user: Third",
      "assistant: Yes",
      "user: Fourth",
    ]);
    if (wire !== "messages") return;
    const body = JSON.stringify(rig.server.requests.at(-1)?.body);
    assert.deepEqual(
      [...body.matchAll(/"role":"(\w+)"/g)].map(([, role]) => role),
      ["user", "assistant", "user", "assistant", "user"],
    );
  });
}

test("a sub-agent of the session gets neither the history nor the format of the answer", async (t) => {
  const args = { name: "helper", description: "d", prompt: "Help", agent_type: "explore" };
  const task = { name: "task", arguments: { ...args, mode: "sync" } };
  const rig = await sharedRig(t, ({ prompt, messages }) => {
    if (prompt !== "Delegate") return { text: "Helped" };
    return messages.at(-1)?.role === "tool" ? { text: "Done" } : { toolCalls: [task] };
  });
  const more = { permissions: "all", availableTools: ["task"], answersFormatted: true } as const;
  const session = await rig.open({ history: past, ...more });
  const answerFormat = { name: "document", schema: { type: "object" } };
  assert.equal(completed(await turn(session, "Delegate", { answerFormat })).text, "Done");
  const seenBy = rig.server.requests.map((one) => [
    /Help|Delegate/.exec(one.prompt)?.[0],
    seen(one).includes("assistant: In the archive."),
    JSON.stringify(one.body).includes("json_schema"),
  ]);
  const own = ["Delegate", true, true];
  assert.deepEqual(seenBy, [own, ["Help", false, false], own]);
});

test("without a transport, only sessions with a history have their requests handled in this process", async (t) => {
  const rig = await makeRig(t, () => ({ text: "Yes" }));
  const direct = await rig.open();
  completed(await turn(direct, "One"));
  assert.equal(rig.sessions.runtimePids.length, 1);
  const empty = await rig.open({ history: [] });
  completed(await turn(empty, "Two"));
  assert.equal(rig.sessions.runtimePids.length, 1);
  const handled = await rig.open({ history: past });
  completed(await turn(handled, "Three"));
  assert.equal(rig.sessions.runtimePids.length, 2);
});

test("a transport sees the history, and the activity of the turn in the label", async (t) => {
  const roles: string[][] = [];
  const transport = scriptedTransport(({ messages }) => {
    roles.push(messages.map(({ role }) => role));
    return { text: "Yes" };
  });
  const rig = await makeRig(t, () => ({}), { provider: undefined, transport });
  const session = await rig.open({ history: past });
  const activity = { id: "Ask", file: "flow.wf.md", hit: 2 };
  completed(await turn(session, "One", { activity }));
  completed(await turn(session, "Two"));
  const before = ["system", "user", "assistant", "user"];
  assert.deepEqual(roles, [before, [...before, "assistant", "user"]]);
  assert.deepEqual(
    transport.asked.map(({ label, history }) => [label?.activity, history]),
    [
      [activity, 2],
      [undefined, 2],
    ],
  );
});

test("where the history can't be put into a request, the model is not asked", async (t) => {
  const rig = await sharedRig(t, () => ({ text: "Yes" }));
  const { baseUrl } = rig.server;
  const odd = { type: "openai", baseUrl: `${baseUrl}/?chat=`, apiKey: "a-key" } as const;
  const other = await makeRig(t, () => ({}), { provider: odd });
  const session = await other.open({ history: past });
  const crash = crashOf(await turn(session, "Hello"));
  assert.equal(crash.cause, "configuration");
  assert.match(crash.message, /conversation so far can't be put into a model request to \/v1:/);
  assert.deepEqual(rig.server.requests, []);
});

const history = [{ role: "assistant", text: "Before" }] as const;

function written(request: Partial<WireRequest>): ReturnType<typeof withHistory> {
  const url = "https://models.example/v1/chat/completions";
  const body = '{"messages":[]}';
  return withHistory({ url, method: "POST", body, ...request }, history);
}

test("what is no conversation stays as it is", () => {
  const chat = '{"messages": []}';
  for (const request of [
    { method: "GET", url: "https://models.example/v1/models", body: "" },
    { method: "GET", body: chat },
    { method: "POST", body: "" },
    { url: "https://models.example/v1/embeddings", body: '{"input": ["a"]}' },
    { url: "https://models.example/models/session", body: '{"auto_mode": {}}' },
  ]) {
    assert.deepEqual(written(request), { body: request.body, added: 0 }, request.url);
  }
  const request = { url: "https://models.example/v1/other", method: "POST", body: chat };
  assert.deepEqual(withHistory(request, []), { body: chat, added: 0 });
  assert.deepEqual(withHistory(request, [{ role: "user", text: " \t" }]), {
    body: chat,
    added: 0,
  });
});

test("a conversation in a form that is not understood is not sent", () => {
  const responses = "https://models.example/v1/responses";
  for (const request of [
    { body: "no JSON" },
    { body: "[]" },
    { body: '{"messages": "Hello"}' },
    { body: '{"messages": ["Hello"]}' },
    { body: "{}" },
    { url: responses, body: '{"input": {}}' },
    { url: responses, body: '{"input": [], "previous_response_id": "r1"}' },
    { url: "https://models.example/v1/messages", body: '{"input": []}' },
    { url: "https://models.example/v1/other", body: '{"messages": []}' },
    { url: "https://models.example/v1/completions", body: '{"prompt": "Hello"}' },
    { url: "https://models.example/v1/other", body: "no JSON" },
  ]) {
    const result = written(request);
    if (typeof result !== "string") assert.fail(JSON.stringify(request));
    assert.match(result, /^The conversation so far can't be put into a model request to \/v1\/\w+/);
  }
});

test("all instructions come first, and the rest of the body is not changed", () => {
  const result = written({
    url: "https://azure.example/openai/deployments/d/chat/completions?api-version=1",
    body: '{"n":1,"messages":[{"role":"system","content":"a"},{"role":"developer","content":"b"},{"role":"user","content":"c"},{"role":"system","content":"d"}],"x":[]}',
  });
  assert.deepEqual(result, {
    body: '{"n":1,"messages":[{"role":"system","content":"a"},{"role":"developer","content":"b"},{"role":"assistant","content":"Before"},{"role":"user","content":"c"},{"role":"system","content":"d"}],"x":[]}',
    added: 1,
  });
});

test("the input of the responses API may be a text", () => {
  const url = "https://models.example/v1/responses";
  assert.deepEqual(written({ url, body: '{"input":"Hello"}' }), {
    body: '{"input":[{"type":"message","role":"assistant","content":"Before"},{"type":"message","role":"user","content":"Hello"}]}',
    added: 1,
  });
});
