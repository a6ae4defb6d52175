/** Answers without an end, and what a model server may do to a stream, on the real runtime. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "../../src/platform/system-clock.ts";
import { MAX_ANSWER_BYTES } from "../../src/sessions/turn-state.ts";
import { streamedBody } from "../rig/model-server.ts";
import { completed, crashOf, makeRig, turn } from "./rig.ts";

const sse = { "content-type": "text/event-stream" };

describe("an answer without an end", () => {
  for (const of of ["text", "reasoning", "arguments"] as const) {
    it(`is cut off at 4 MB (${of})`, async (t) => {
      const rig = await makeRig(t, () => ({ flood: { of, chunk: 64 * 1024 } }));
      const session = await rig.open();
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
  }

  it("is cut off when it comes in one piece, too", async (t) => {
    const rig = await makeRig(t, () => ({ text: "x".repeat(MAX_ANSWER_BYTES + 1) }));
    assert.equal(crashOf(await turn(await rig.open(), "go")).cause, "answer-too-long");
  });

  it("may be nearly as long as that", async (t) => {
    const text = "lorem ipsum ".repeat(300_000);
    const rig = await makeRig(t, ({ model }) => ({
      raw: streamedBody(model, {}).replace('"delta":{}', () => `"delta":{"content":"${text}"}`),
      headers: sse,
    }));
    assert.equal(completed(await turn(await rig.open(), "go")).text.length, text.length);
  });

  it("is aborted by a cancel within five seconds, at any speed", async (t) => {
    const rig = await makeRig(t, () => ({ flood: { chunk: 8, bytesPerSecond: 200_000 } }));
    const session = await rig.open();
    const cancel = new AbortController();
    const running = turn(session, "go", { signal: cancel.signal });
    await systemClock.sleep(700);
    const began = performance.now();
    cancel.abort();
    assert.equal((await running).outcome.kind, "canceled");
    await session.close();
    assert.ok(performance.now() - began < 20_000);
  });

  it("in tiny pieces ends with the turn's own limit", async (t) => {
    const rig = await makeRig(t, () => ({ flood: { chunk: 1 } }));
    const run = await turn(await rig.open(), "go", { turnMs: 2_000 });
    assert.equal(crashOf(run).cause, "deadline");
    assert.ok(run.milliseconds < 30_000, `${run.milliseconds} ms`);
    const deltas = run.activities.filter((one) => one.kind === "message.delta").length;
    assert.ok(deltas < 100, `${deltas} deltas were passed on`);
  });
});

it("deltas are joined, and nothing of them is lost", async (t) => {
  const text = Array.from({ length: 3_000 }, (_, index) => `word${index} `).join("");
  const rig = await makeRig(t, () => ({ text }));
  const run = await turn(await rig.open(), "go");
  const deltas = run.activities.filter((one) => one.kind === "message.delta");
  assert.ok(deltas.map((one) => one.text).join("") === text);
  assert.ok(completed(run).text === text);
  assert.ok(deltas.length < 500, `${deltas.length} deltas for 3000 pieces`);
});

it("a redirect loop is followed once, and is not worth a retry", async (t) => {
  const rig = await makeRig(t, ({ index }) => ({
    status: 307,
    headers: { location: `/v1/again/${index}` },
    raw: "",
  }));
  const crash = crashOf(await turn(await rig.open(), "go"));
  assert.match(crash.message, /redirects every request/);
  assert.equal(crash.cause, "redirect");
  assert.ok(rig.server.requests.length <= 21, `${rig.server.requests.length} requests`);
});
