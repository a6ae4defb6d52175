import assert from "node:assert/strict";
import { test } from "node:test";
import { crashOf, sharedRig, turn } from "./rig.ts";

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
        refusal: "filtered",
        error: "session-error",
        insufficient_system_resource: "session-error",
      },
    ],
    [
      "messages",
      {
        max_tokens: "cut",
        model_context_window_exceeded: "cut",
        refusal: "filtered",
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
