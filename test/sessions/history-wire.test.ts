import assert from "node:assert/strict";
import { test } from "node:test";
import { withHistory } from "../../src/sessions/request-bodies.ts";
import type { WireRequest } from "../../src/sessions/request-bodies.ts";

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
