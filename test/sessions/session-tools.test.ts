import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import type { SessionTool, ToolAnswer } from "../../src/engine/ports.ts";
import { guarded } from "../../src/sessions/session-tools.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import type { RecordedRequest } from "../rig/model-server.ts";
import { completed, sharedRig, successes, turn } from "./rig.ts";

const parameters = {
  type: "object",
  properties: { path: { type: "string" }, depth: { type: "number" } },
  required: ["path"],
};

/** A tool that writes down how it was called. */
function counting(
  calls: unknown[],
  answer: (given: unknown) => ToolAnswer,
  changed: Partial<SessionTool> = {},
): SessionTool {
  return {
    name: "count_lines",
    description: "Counts the lines of a file.",
    parameters,
    allowed: "always",
    run: (given, { toolCallId, sessionId }) => {
      calls.push({ given, toolCallId, sessionId });
      return answer(given);
    },
    ...changed,
  };
}

const systemText = (request: RecordedRequest | undefined): string =>
  (request?.messages ?? [])
    .filter(({ role }) => role === "system")
    .map(({ content }) => content)
    .join("\n");

const callOnce = ({ toolResults }: { readonly toolResults: readonly string[] }) =>
  toolResults.length > 0
    ? { text: `It said: ${toolResults[0]}` }
    : {
        toolCalls: [
          { id: "call-1", name: "count_lines", arguments: { path: "a.txt", depth: { of: [1] } } },
        ],
      };

describe("a session with tools of its front-end", () => {
  it("offers them to the model, and calls them with their arguments as values", async (t) => {
    const rig = await sharedRig(t, callOnce);
    const calls: unknown[] = [];
    const tools = [counting(calls, () => ({ succeeded: true, text: "42 lines" }))];
    const session = await rig.open({ tools });
    const outcome = completed(await turn(session, "Count"));
    const given = { path: "a.txt", depth: { of: [1] } };
    assert.deepEqual(calls, [{ given, toolCallId: "call-1", sessionId: session.id }]);
    assert.deepEqual(outcome.toolCalls, [
      { name: "count_lines", arguments: given, succeeded: true },
    ]);
    assert.equal(outcome.text, "It said: 42 lines");
    const [request] = rig.server.requests;
    assert.ok(request?.tools.includes("count_lines"));
    // The job tools are still there.
    assert.ok(request?.tools.includes("job_boolean_true"));
    assert.match(JSON.stringify(request?.body), /Counts the lines of a file\..*"depth"/);
    const other = await rig.open();
    await turn(other, "Count");
    assert.ok(!rig.server.requests.at(-1)?.tools.includes("count_lines"));
  });

  it("is not stopped by half a character in what it is given", async (t) => {
    const rig = await sharedRig(t, callOnce);
    const half = "a \ud83d b";
    const properties = { path: { type: "string", description: half } };
    const tools = [
      counting([], () => ({ succeeded: true, text: half }), {
        description: half,
        parameters: { ...parameters, properties },
      }),
    ];
    const session = await rig.open({ tools, systemPrompt: { mode: "append", text: half } });
    assert.equal(completed(await turn(session, half)).text, "It said: a \ufffd b");
    const body = JSON.stringify(rig.server.requests[0]?.body);
    assert.equal(body.match(/a \ufffd b/g)?.length, 4, body);
  });

  it("tells the model about a call that failed or threw", async (t) => {
    const rig = await sharedRig(t, callOnce);
    const throws = (): ToolAnswer => {
      throw new Error("the disk is gone");
    };
    for (const [answer, said] of [
      [() => ({ succeeded: false, text: "no such file" }), /no such file/],
      [throws, /the disk is gone/],
    ] as const) {
      const run = await turn(await rig.open({ tools: [counting([], answer)] }), "Count");
      assert.deepEqual(successes(run), [false]);
      assert.match(completed(run).text, said);
    }
  });
});

describe("a system prompt", () => {
  it("is put after the one of the runtime, or in its place", async (t) => {
    const rig = await sharedRig(t, () => ({ text: "ok" }));
    const systems: string[] = [];
    for (const systemPrompt of [
      undefined,
      { mode: "append", text: "Speak in verse." },
      { mode: "replace", text: "You are a metronome." },
    ] as const) {
      const session = await rig.open(systemPrompt === undefined ? {} : { systemPrompt });
      await turn(session, "Hello");
      systems.push(systemText(rig.server.requests.at(-1)));
    }
    const [own = "", appended = "", replaced = ""] = systems;
    assert.ok(!own.includes("verse"));
    assert.ok(appended.includes("Speak in verse."));
    assert.ok(appended.length > own.length);
    assert.ok(replaced.includes("You are a metronome."));
    assert.ok(replaced.length < 500, replaced);
  });
});

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
    const { handler } = guarded({ name: "floods", handler: () => result }, new FakeClock());
    const call = { sessionId: "s", toolCallId: "1", toolName: "floods", arguments: {} };
    const text = JSON.stringify(await handler?.({}, call));
    assert.match(text.slice(-60), /cut, 60000000 characters in total\./);
    assert.ok(text.length < 201_000, `${text.length} characters`);
  }
});
