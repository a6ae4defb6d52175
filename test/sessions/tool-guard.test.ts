import assert from "node:assert/strict";
import { test } from "node:test";
import type { Tool } from "@github/copilot-sdk";
import { guarded } from "../../src/sessions/tool-guard.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { completed, makeRig, turn } from "./rig.ts";

const tool = (name: string, handler: Tool["handler"]): Tool => ({
  name,
  description: "A tool of the test.",
  parameters: { type: "object", properties: {} },
  skipPermission: true,
  ...(handler === undefined ? {} : { handler }),
});

const tools = [
  tool("throws", () => {
    throw new Error("out of paper");
  }),
  tool("floods", () => "x".repeat(60_000_000)),
];

for (const [name, told] of [
  ["throws", /throws failed: out of paper/],
  ["floods", /cut, 60000000 characters|Output too large/i],
] as const) {
  test(`a handler that ${name} is a result for the model, and the turn goes on`, async (t) => {
    const seen: string[] = [];
    const rig = await makeRig(
      t,
      ({ toolResults }) => {
        seen.push(...toolResults);
        return toolResults.length === 0 ? { toolCalls: [{ name }] } : { text: "I see." };
      },
      { tools },
    );
    const { text, toolCalls } = completed(await turn(await rig.open(), "Go"));
    assert.equal(text, "I see.");
    assert.deepEqual(
      toolCalls.map((call) => call.succeeded),
      [name === "floods"],
    );
    assert.match(seen.join("\n").slice(-2_000), told);
    assert.ok(seen.join("").length < 1_000_000, `${seen.join("").length} characters`);
  });
}

test("a result, as a text or as an object with one, is cut before it leaves the process", async () => {
  const long = "x".repeat(60_000_000);
  const invocation = { sessionId: "s", toolCallId: "1", toolName: "floods", arguments: {} };
  for (const result of [long, { resultType: "success" as const, textResultForLlm: long }]) {
    const { handler } = guarded(
      tool("floods", () => result),
      new FakeClock(),
    );
    const told: unknown = await handler?.({}, invocation);
    const text = JSON.stringify(told);
    assert.match(text.slice(-60), /cut, 60000000 characters in total\./);
    assert.ok(text.length < 201_000, `${text.length} characters`);
  }
});

test("a handler that never returns is a failure after a minute", async () => {
  const clock = new FakeClock();
  const { handler } = guarded(
    tool("hangs", () => new Promise(() => {})),
    clock,
  );
  assert.ok(handler !== undefined);
  const invocation = { sessionId: "s", toolCallId: "1", toolName: "hangs", arguments: {} };
  const result = await clock.runUntil(Promise.resolve(handler({}, invocation)));
  assert.deepEqual(result, {
    resultType: "failure",
    textResultForLlm: "hangs did not answer within 60 s.",
  });
  assert.equal(clock.now(), 60_000);
});
