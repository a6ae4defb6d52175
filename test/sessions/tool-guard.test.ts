import assert from "node:assert/strict";
import { test } from "node:test";
import type { Tool } from "@github/copilot-sdk";
import { guarded } from "../../src/sessions/session-tools.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { completed, sharedRig, turn } from "./rig.ts";

const tool = (name: string, handler: NonNullable<Tool["handler"]>): Tool => ({
  name,
  description: "A tool of the test.",
  parameters: { type: "object", properties: {} },
  skipPermission: true,
  handler,
});
const invocation = { sessionId: "s", toolCallId: "1", toolName: "t", arguments: {} };

test("a job tool that is called wrongly says what follows, and only asks again where a second call helps", async (t) => {
  const names = ["job_boolean_true", "job_prerequisite_failed", "job_prepare_document"];
  const rig = await sharedRig(t, ({ toolResults }) =>
    toolResults.length === 0
      ? { toolCalls: names.map((name) => ({ name, arguments: { argument: 1 } })) }
      : { text: "I see." },
  );
  completed(await turn(await rig.open(), "Go"));
  const told = rig.server.requests[1]?.toolResults ?? [];
  assert.deepEqual(
    told.map((text) => /must be a string\. (.*\.)/.exec(text)?.[1]),
    [
      "A call that fails leaves the check of this turn without a verdict.",
      "A call that fails leaves the check of this turn without a verdict.",
      "Call it again, with the path or the title in the first line.",
    ],
  );
});

test("a result, as a text or as an object with one, is cut before it leaves the process", async () => {
  const long = "x".repeat(60_000_000);
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
