/** A session as people read it: a fold over the responses of its feed. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import {
  converse,
  emptyConversation,
  type Conversation,
  type Note,
  type SessionResponse,
} from "../../web/portal/conversation.ts";
import { holds } from "../rig/fuzz.ts";

const hello: readonly SessionResponse[] = [
  { callback: "onAgentStart", turnId: "0" },
  { callback: "onStartReasoning", reasoningId: "r" },
  { callback: "onReasoning", reasoningId: "r", delta: "They greet" },
  { callback: "onEndReasoning", reasoningId: "r", completeContent: "They greet me." },
  {
    callback: "onStartToolExecution",
    toolCallId: "t",
    toolName: "shell",
    toolArguments: '{"command":"ls"}',
  },
  { callback: "onToolExecution", toolCallId: "t", delta: "a.txt" },
  { callback: "onEndToolExecution", toolCallId: "t", result: { content: "a.txt\nb.txt" } },
  { callback: "onStartMessage", messageId: "m" },
  { callback: "onMessage", messageId: "m", delta: "Hel" },
  { callback: "onMessage", messageId: "m", delta: "lo" },
  { callback: "onEndMessage", messageId: "m", completeContent: "Hello!" },
  { callback: "onAgentEnd", turnId: "0" },
  { callback: "onIdle" },
];

const after = (responses: readonly SessionResponse[], notes: readonly Note[] = []): Conversation =>
  converse(emptyConversation, responses, notes);

/** One line per entry. */
const lines = ({ entries }: Conversation): readonly string[] =>
  entries.map((entry) => {
    switch (entry.kind) {
      case "prompt":
        return `${entry.by}: ${entry.text}`;
      case "task":
        return `task ${entry.taskName}`;
      case "reasoning":
      case "message":
        return `${entry.kind}: ${entry.text}${entry.done ? "" : " …"}`;
      case "tool":
        return `tool ${entry.name} ${entry.state.kind}: ${entry.output}`;
      case "error":
        return `error: ${entry.text}`;
      case "dropped":
        return `dropped ${entry.count}`;
    }
  });

describe("a conversation", () => {
  it("has every entry at the place where it began, with all of its text", () => {
    assert.deepEqual(lines(after(hello)), [
      "reasoning: They greet me.",
      "tool shell succeeded: a.txt\nb.txt",
      "message: Hello!",
    ]);
  });

  it("shows a text while it is written", () => {
    const conversation = after(hello.slice(0, 9));
    assert.equal(lines(conversation).at(-1), "message: Hel …");
    assert.equal(conversation.working, true);
  });

  it("is working from a prompt until the session is idle or reports an error", () => {
    const prompt: Note = { after: 0, kind: "prompt", text: "Hello" };
    assert.equal(after([], [prompt]).working, true);
    assert.equal(after(hello, [prompt]).working, false);
    const failed = after([{ sessionError: "The model is gone." }], [prompt]);
    assert.equal(failed.working, false);
    assert.deepEqual(lines(failed), ["you: Hello", "error: The model is gone."]);
  });

  it("tells a denied call from a failed one", () => {
    const ended = (error: { message: string; code?: string }) =>
      after([...hello.slice(0, 6), { callback: "onEndToolExecution", toolCallId: "t", error }]);
    const kindOf = ({ entries }: Conversation) => {
      const last = entries.at(-1);
      return last?.kind === "tool" ? last.state : undefined;
    };
    assert.deepEqual(kindOf(ended({ message: "No.", code: "denied" })), {
      kind: "denied",
      message: "No.",
    });
    assert.deepEqual(kindOf(ended({ message: "No." })), { kind: "failed", message: "No." });
  });

  it("leaves out a message that turns out to be empty", () => {
    const empty = after([
      { callback: "onStartMessage", messageId: "m" },
      { callback: "onEndMessage", messageId: "m", completeContent: " " },
    ]);
    assert.deepEqual(empty.entries, []);
  });

  it("keeps apart two messages with the same id", () => {
    const message = hello.slice(7, 11);
    assert.deepEqual(lines(after([...message, ...message])), [
      "message: Hello!",
      "message: Hello!",
    ]);
  });

  it("ignores what it doesn't know", () => {
    const strange: readonly SessionResponse[] = JSON.parse(
      '[{"callback":"onSomethingNew"},{},{"sessionError":1},{"callback":"onToolExecution","toolCallId":"?","delta":"x"}]',
    );
    assert.deepEqual(after(strange).entries, []);
  });

  it("has the reader's prompts and tasks where they were sent", () => {
    const notes: readonly Note[] = [
      { after: 0, kind: "prompt", text: "Hello" },
      { after: hello.length, kind: "task", taskId: "task-1", taskName: "greet" },
    ];
    const generated: SessionResponse = { callback: "onGeneratedUserPrompt", prompt: "Greet." };
    assert.deepEqual(
      lines(after([...hello, generated], notes)).filter((line) => !/^(tool|reas)/.test(line)),
      ["you: Hello", "message: Hello!", "task greet", "task: Greet."],
    );
  });
});

it("a conversation is the same, in whatever batches the responses come", async (t) => {
  const notes: readonly Note[] = [
    { after: 0, kind: "prompt", text: "Hello" },
    { after: 13, kind: "prompt", text: "Again" },
  ];
  const all = [...hello, ...hello];
  const whole = after(all, notes);
  const sizes = fc.array(fc.nat({ max: 5 }), { maxLength: 30 });
  await holds(
    t,
    fc.property(sizes, (lengths) => {
      let conversation = emptyConversation;
      let at = 0;
      for (const length of [...lengths, all.length]) {
        conversation = converse(conversation, all.slice(at, at + length), notes);
        at += length;
      }
      assert.deepEqual(conversation, whole);
    }),
    200,
  );
});
