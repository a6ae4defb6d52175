/** A session as people read it: a fold over the responses of its feed. */
import assert from "node:assert/strict";
import { it } from "node:test";
import * as fc from "fast-check";
import {
  converse,
  emptyConversation,
  withNotes,
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
  withNotes(converse(emptyConversation, responses), notes);

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

const prompt = (after: number, text: string): Note => ({ after, kind: "prompt", text });
const message = hello.slice(7, 11);
const answered = [
  "reasoning: They greet me.",
  "tool shell succeeded: a.txt\nb.txt",
  "message: Hello!",
];
const ended = (error: { message: string; code?: string }): readonly SessionResponse[] => [
  ...hello.slice(4, 6),
  { callback: "onEndToolExecution", toolCallId: "t", error },
];

for (const [what, responses, notes, expected] of [
  ["has every entry at the place where it began, with all of its text", hello, [], answered],
  ["shows a text while it is written", hello.slice(7, 9), [], ["message: Hel …"]],
  [
    "has a prompt that it learns of later in its place",
    [...hello, ...hello],
    [prompt(hello.length, "Again")],
    [...answered, "you: Again", ...answered],
  ],
  ["has no prompt before its time", hello.slice(7, -1), [prompt(9, "Again")], ["message: Hello!"]],
  [
    "counts the responses that the server has forgotten",
    [{ callback: "onResponsesDropped", count: 5 }, { sessionError: "Busy." }],
    [prompt(3, "Hello"), prompt(6, "Again")],
    ["you: Hello", "dropped 5", "error: Busy.", "you: Again"],
  ],
  [
    "names a denied call",
    ended({ message: "No.", code: "denied" }),
    [],
    ["tool shell denied: a.txt"],
  ],
  ["names a failed call", ended({ message: "No." }), [], ["tool shell failed: a.txt"]],
  [
    "leaves out a message that turns out to be empty",
    [message[0], { callback: "onEndMessage", messageId: "m", completeContent: " " }],
    [],
    [],
  ],
  [
    "keeps apart two messages with the same id",
    [...message, ...message],
    [],
    ["message: Hello!", "message: Hello!"],
  ],
  [
    "ignores what it doesn't know",
    JSON.parse(
      '[{"callback":"onSomethingNew"},{},{"sessionError":1},{"callback":"onToolExecution","toolCallId":"?","delta":"x"}]',
    ),
    [],
    [],
  ],
  [
    "has the reader's prompts and tasks where they were sent",
    [...message, { callback: "onGeneratedUserPrompt", prompt: "Greet." }],
    [prompt(0, "Hello"), { after: 4, kind: "task", taskId: "task-1", taskName: "greet" }],
    ["you: Hello", "message: Hello!", "task greet", "task: Greet."],
  ],
] as readonly (readonly [string, readonly SessionResponse[], readonly Note[], readonly string[]])[])
  it(`a conversation ${what}`, () => assert.deepEqual(lines(after(responses, notes)), expected));

it("a conversation is working from a prompt until the session is idle or reports an error", () => {
  const hi = prompt(0, "Hello");
  assert.equal(after([], [hi]).working, true);
  assert.equal(after(hello.slice(0, 9)).working, true);
  assert.equal(after(hello, [hi]).working, false);
  assert.equal(after([{ sessionError: "The model is gone." }], [hi]).working, false);
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
        conversation = converse(conversation, all.slice(at, at + length));
        at += length;
      }
      assert.deepEqual(withNotes(conversation, notes), whole);
    }),
    200,
  );
});
