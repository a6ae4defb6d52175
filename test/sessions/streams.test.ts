/** Answers without an end, and what a model server may do to a stream, on the real runtime. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { MAX_ANSWER_BYTES } from "../../src/sessions/turn-state.ts";
import { streamedBody } from "../rig/model-server.ts";
import { completed, crashOf, sharedRig, turn } from "./rig.ts";

const sse = { "content-type": "text/event-stream" };

describe("an answer without an end", () => {
  it("is cut off at 4 MB", async (t) => {
    const rig = await sharedRig(t, () => ({ flood: { chunk: 64 * 1024 } }));
    const session = await rig.open({ modelLimits: { outputTokens: 1e9 } });
    const run = await turn(session, "go");
    const { cause, message } = crashOf(run);
    assert.equal(cause, "answer-too-long");
    assert.match(message, /longer than 4 MB/);
    const characters = JSON.stringify(run.activities).length;
    assert.ok(characters < 2 * MAX_ANSWER_BYTES, `${characters} characters were passed on`);
    const texts = run.activities.filter((one) => one.kind === "message.ended");
    assert.ok(texts.every(({ text }) => text.length < 100_000));
    assert.equal(rig.server.requests.length, 1, "the runtime does not ask again");
    await session.close();
  });

  it("is cut off when it comes in one piece, too", async (t) => {
    const rig = await sharedRig(t, () => ({ text: "x".repeat(MAX_ANSWER_BYTES + 1) }));
    assert.equal(crashOf(await turn(await rig.open(), "go")).cause, "answer-too-long");
  });

  it("is not what several answers of a turn have together", async (t) => {
    const reasoning = "x".repeat(MAX_ANSWER_BYTES * 0.6);
    const toolCalls = [{ name: "job_prepare_document", arguments: { argument: "a" } }];
    const rig = await sharedRig(t, ({ index }) =>
      index < 2 ? { reasoning, toolCalls } : { text: "done" },
    );
    const session = await rig.open({ modelLimits: { outputTokens: 1e9 } });
    assert.equal(completed(await turn(session, "go")).text, "done");
  });

  it("may be nearly as long as that", async (t) => {
    const text = "lorem ipsum ".repeat(300_000);
    const rig = await sharedRig(t, ({ model }) => ({
      raw: streamedBody(model, {}).replace('"delta":{}', () => `"delta":{"content":"${text}"}`),
      headers: sse,
    }));
    const session = await rig.open({ modelLimits: { outputTokens: 1e9 } });
    assert.equal(completed(await turn(session, "go")).text.length, text.length);
  });
});

it("deltas are joined, and nothing of them is lost", async (t) => {
  const text = Array.from({ length: 3_000 }, (_, index) => `word${index} `).join("");
  const rig = await sharedRig(t, () => ({ text }));
  const run = await turn(await rig.open(), "go");
  const deltas = run.activities.filter((one) => one.kind === "message.delta");
  assert.ok(deltas.map((one) => one.text).join("") === text);
  assert.ok(completed(run).text === text);
  assert.ok(deltas.length < 500, `${deltas.length} deltas for 3000 pieces`);
});

for (const [who, history] of [
  ["the runtime", []],
  ["this process", [{ role: "assistant", text: "Before" }]],
] as const) {
  it(`a redirect loop is followed once by ${who}, and is not worth a retry`, async (t) => {
    const rig = await sharedRig(t, ({ index }) => ({
      status: 307,
      headers: { location: `/v1/again/${index}` },
      raw: "",
    }));
    const crash = crashOf(await turn(await rig.open({ history }), "go"));
    assert.match(crash.message, /redirects every request/);
    assert.equal(crash.cause, "redirect");
    assert.ok(rig.server.requests.length <= 21, `${rig.server.requests.length} requests`);
  });
}

test("an answer that a content filter blocked is no answer, although the runtime puts a sentence in its place", async (t) => {
  const rig = await sharedRig(t, () => ({ text: "", finishReason: "content_filter" }));
  const session = await rig.open();
  const crash = crashOf(await turn(session, "Hello"));
  assert.equal(crash.cause, "filtered");
  assert.match(crash.message, /answer was blocked by its content filter \(model ".+" of the /);
});

test("an answer that ended early is no whole answer, in the words of any server", async (t) => {
  let finishReason = "";
  for (const [wire, reasons] of [
    [
      "completions",
      {
        stop: "completed",
        eos: "completed",
        length: "cut",
        max_tokens: "cut",
        model_length: "cut",
        SAFETY: "filtered",
        refusal: "refused",
        error: "session-error",
        insufficient_system_resource: "session-error",
      },
    ],
    [
      "messages",
      {
        max_tokens: "cut",
        model_context_window_exceeded: "cut",
        refusal: "refused",
        stop_sequence: "completed",
      },
    ],
    ["responses", { max_output_tokens: "cut", content_filter: "filtered" }],
  ] as const) {
    const rig = await sharedRig(t, () => ({ text: "half an answer", finishReason }), { wire });
    for (const [reason, expected] of Object.entries(reasons)) {
      finishReason = reason;
      const { outcome } = await turn(await rig.open(), "Hello");
      const ended = outcome.kind === "completed" && outcome.cut === true ? "cut" : outcome.kind;
      const found = outcome.kind === "crashed" ? outcome.crash.cause : ended;
      assert.equal(found, expected, `${wire}: ${reason}`);
    }
  }
});

test("an answer of the responses API that broke off is none, although a part of it was whole", async (t) => {
  const rig = await sharedRig(t, () => ({ text: "A whole part", finishReason: "quota" }), {
    wire: "responses",
  });
  const crash = crashOf(await turn(await rig.open(), "Hello"));
  assert.equal(crash.cause, "session-error");
  assert.match(crash.message, /The model server broke off its answer/);
});
