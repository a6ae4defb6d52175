import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SessionEvent } from "@github/copilot-sdk";
import * as fc from "fast-check";
import type { SessionActivity } from "../../src/events/session-activity.ts";
import { Translator } from "../../src/sessions/translate.ts";
import { event, idle, message, toolEnd, toolStart } from "./events.ts";
import { rounds } from "../rig/nightly.ts";

function translate(...events: readonly SessionEvent[]): string[] {
  const translator = new Translator();
  return events.flatMap((one) => translator.translate(one)).map(short);
}

function short(activity: SessionActivity): string {
  const of = "subAgent" in activity && activity.subAgent ? " (sub-agent)" : "";
  switch (activity.kind) {
    case "reasoning.started":
      return `reasoning ${activity.reasoningId} {`;
    case "reasoning.delta":
    case "message.delta":
    case "tool.delta":
      return `+${activity.text}`;
    case "reasoning.ended":
      return `} reasoning ${activity.reasoningId} ${activity.text}`;
    case "message.started":
      return `message ${activity.messageId} {`;
    case "message.ended":
      return `} message ${activity.messageId} ${activity.text}`;
    case "tool.announced":
      return `tool ${activity.toolCallId}…`;
    case "tool.started":
      return `tool ${activity.toolCallId} ${activity.toolName}${JSON.stringify(activity.arguments)} {`;
    case "tool.ended":
      return `} tool ${activity.toolCallId} ${activity.succeeded ? "ok" : "failed"}`;
    case "sub-agent.tool.failed":
      return `tool ${activity.toolCallId} failed (sub-agent)`;
    case "agent.started":
      return `agent ${activity.agentTurnId} {`;
    case "agent.ended":
      return `} agent ${activity.agentTurnId}`;
    case "model.replied":
      return `replied${of}`;
    case "model.used":
      return `used ${activity.inputTokens}+${activity.outputTokens}${of}`;
    case "model.failed":
      return `failed ${activity.statusCode ?? "?"}${of}`;
    case "permission.denied":
      return "denied";
    case "idle":
      return "idle";
  }
}

const thought = (reasoningId: string, deltaContent: string): SessionEvent =>
  event("assistant.reasoning_delta", { reasoningId, deltaContent });
const start = (messageId: string): SessionEvent => event("assistant.message_start", { messageId });
const delta = (messageId: string, deltaContent: string): SessionEvent =>
  event("assistant.message_delta", { messageId, deltaContent });
const output = (toolCallId: string, partialOutput: string): SessionEvent =>
  event("tool.execution_partial_result", { toolCallId, partialOutput });

describe("the order of the runtime", () => {
  it("a whole model call, with the reasoning's text after the message", () => {
    assert.deepEqual(
      translate(
        event("assistant.turn_start", { turnId: "0" }),
        thought("r1", "Let "),
        thought("r1", "me"),
        start("m1"),
        delta("m1", "Hi"),
        event("assistant.usage", { model: "m", inputTokens: 3, outputTokens: 4 }),
        message("Hi", "m1"),
        event("assistant.reasoning", { reasoningId: "r1", content: "Let me" }),
        toolStart("t1", "bash", { command: "ls" }),
        output("t1", "a\n"),
        output("t1", "a\nb\n"),
        toolEnd("t1"),
        event("assistant.turn_end", { turnId: "0" }),
        idle(),
      ),
      [
        "agent 0 {",
        "reasoning r1 {",
        "+Let ",
        "+me",
        "} reasoning r1 Let me",
        "message m1 {",
        "+Hi",
        "used 3+4",
        "} message m1 Hi",
        "replied",
        'tool t1 bash{"command":"ls"} {',
        "+a\n",
        "+b\n",
        "} tool t1 ok",
        "} agent 0",
        "idle",
      ],
    );
  });

  it("without streaming a message and a reasoning still start and end", () => {
    assert.deepEqual(
      translate(
        message("Hi", "m1"),
        event("assistant.reasoning", { reasoningId: "r1", content: "Hm" }),
      ),
      ["message m1 {", "} message m1 Hi", "replied", "reasoning r1 {", "} reasoning r1 Hm"],
    );
  });

  it("an answer that is only tool calls has no message", () => {
    assert.deepEqual(translate(message("", "m1")), ["replied"]);
  });

  it("a retry in mid-stream closes what it orphans", () => {
    assert.deepEqual(
      translate(
        thought("r1", "a"),
        thought("r2", "b"),
        start("m1"),
        delta("m1", "c"),
        start("m2"),
        delta("m2", "d"),
        message("d!", "m2"),
      ),
      [
        "reasoning r1 {",
        "+a",
        "} reasoning r1 a",
        "reasoning r2 {",
        "+b",
        "} reasoning r2 b",
        "message m1 {",
        "+c",
        "} message m1 c",
        "message m2 {",
        "+d",
        "} message m2 d!",
        "replied",
      ],
    );
  });

  it("output that starts anew is told whole", () => {
    assert.deepEqual(
      translate(toolStart("t1"), output("t1", "abc"), output("t1", "xyz"), output("t1", "xyz")),
      ["tool t1 view{} {", "+abc", "+xyz"],
    );
  });

  it("of sub-agents only what they cost and said is told", () => {
    assert.deepEqual(
      translate(
        event("assistant.turn_start", { turnId: "9" }, "sub"),
        event("assistant.message_delta", { messageId: "m", deltaContent: "x" }, "sub"),
        message("sub", "m9", "sub"),
        event("assistant.usage", { model: "m", inputTokens: 1, outputTokens: 2 }, "sub"),
        event("session.error", { message: "x", errorType: "y" }, "sub"),
      ),
      ["replied (sub-agent)", "used 1+2 (sub-agent)"],
    );
  });
});

describe("what a tool did is passed on", () => {
  it("with its result, its error and its parent", () => {
    const translator = new Translator();
    translator.translate(toolStart("t1"));
    const failed = { toolCallId: "t1", error: { message: "no", code: "denied" } };
    assert.deepEqual(
      translator.translate(event("tool.execution_complete", { ...failed, success: false })),
      [{ kind: "tool.ended", toolName: "view", arguments: {}, ...failed, succeeded: false }],
    );
    const started = { toolCallId: "t2", toolName: "x", parentToolCallId: "t0" };
    assert.deepEqual(translator.translate(event("tool.execution_start", started)), [
      { kind: "tool.started", ...started, arguments: {} },
    ]);
  });
});

it("in whatever order events come, everything that starts ends, once, and deltas lie between", () => {
  const id = fc.constantFrom("a", "b", "c");
  const text = fc.constantFrom("", "x", "y");
  const any = fc.oneof(
    fc.tuple(id, text).map(([i, t]) => thought(i, t)),
    fc
      .tuple(id, text)
      .map(([i, t]) => event("assistant.reasoning", { reasoningId: i, content: t })),
    id.map((i) => start(i)),
    fc.tuple(id, text).map(([i, t]) => delta(i, t)),
    fc.tuple(id, text).map(([i, t]) => message(t, i)),
    id.map((i) => toolStart(i)),
    fc.tuple(id, text).map(([i, t]) => output(i, t)),
    id.map((i) => toolEnd(i)),
    fc
      .tuple(id, fc.constantFrom("view", "bash"))
      .map(([i, toolName]) => event("assistant.tool_call_delta", { toolCallId: i, toolName })),
    id.map((i) => event("assistant.turn_start", { turnId: i })),
    id.map((i) => event("assistant.turn_end", { turnId: i })),
    fc.constant(idle()),
  );
  fc.assert(
    fc.property(fc.array(any, { maxLength: 40 }), (events) => {
      const translator = new Translator();
      const activities = [
        ...events.flatMap((one) => translator.translate(one)),
        ...translator.close(),
      ];
      const open = new Map<string, number>();
      for (const activity of activities) {
        const key =
          "reasoningId" in activity
            ? `reasoning ${activity.reasoningId}`
            : "messageId" in activity
              ? `message ${activity.messageId}`
              : "toolCallId" in activity
                ? `tool ${activity.toolCallId}`
                : undefined;
        if (key === undefined) continue;
        const count = open.get(key) ?? 0;
        if (activity.kind.endsWith(".started")) {
          assert.ok(count === 0 || key.startsWith("tool"), `${key} starts twice`);
          open.set(key, count + 1);
        } else {
          assert.ok(count > 0, `${activity.kind} of ${key}, which is not open`);
          if (activity.kind.endsWith(".ended")) open.set(key, count - 1);
        }
      }
      assert.ok(
        [...open.values()].every((count) => count === 0),
        JSON.stringify([...open]),
      );
    }),
    rounds(3_000),
  );
});
