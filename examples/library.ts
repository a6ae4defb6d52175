/**
 * The runner inside an application: an entry made in code, a model made in code, one job.
 * Needs no token and no network. After `npm run build`: node build/examples/library.js
 */
import {
  JobHost,
  decisionText,
  type Entry,
  type ModelTransport,
  type Reporter,
} from "../src/index.ts";

const entry: Entry = {
  models: { driving: "small-model", writing: "large-model" },
  tasks: {
    draft: {
      model: { category: "writing" },
      requireUserInput: true,
      prompt: ["Write a title for $user-input.", "Then call job_prepare_document with the title."],
      criteria: { toolExecuted: ["job_prepare_document"], failureAction: { retryTimes: 1 } },
    },
    check: {
      model: { category: "driving" },
      availability: { previousTasks: ["draft"] },
      prompt: "Say in one sentence whether the title is short.",
    },
  },
  jobs: {
    title: {
      work: {
        kind: "Seq",
        works: [
          { kind: "Ref", taskId: "draft" },
          { kind: "Ref", taskId: "check" },
        ],
      },
    },
  },
};

interface Message {
  readonly role: string;
  readonly content?: unknown;
}

/** What the "model" does next, given the conversation so far. */
function answer(messages: readonly Message[]): { text: string; title?: string } {
  const asked = JSON.stringify(messages.findLast(({ role }) => role === "user")?.content);
  const toolHasRun = messages.at(-1)?.role === "tool";
  if (toolHasRun) return { text: "The title is ready." };
  if (!asked.includes("Write a title")) return { text: "It is short enough." };
  // The first time it forgets the tool. The runner notices, and says so in the prompt of the retry.
  return asked.includes("## Required Tool Not Called")
    ? { text: "", title: "Tests for agents" }
    : { text: "How about: Tests for agents?" };
}

/** Stands in for a model server: gets each chat-completions request, returns a streamed answer. */
const transport: ModelTransport = {
  async send(request) {
    const { model, messages }: { model: string; messages: Message[] } = JSON.parse(request.body);
    const { text, title } = answer(messages);
    const call = {
      index: 0,
      id: `call-${messages.length}`,
      type: "function",
      function: { name: "job_prepare_document", arguments: JSON.stringify({ argument: title }) },
    };
    const delta = title === undefined ? { content: text } : { tool_calls: [call] };
    const finish_reason = title === undefined ? "stop" : "tool_calls";
    const chunk = (choice: object): string =>
      `data: ${JSON.stringify({ id: "answer", object: "chat.completion.chunk", created: 0, model, choices: [{ index: 0, ...choice }] })}\n\n`;
    return new Response(
      `${chunk({ delta: { role: "assistant", ...delta } })}${chunk({ delta: {}, finish_reason })}data: [DONE]\n\n`,
      { headers: { "content-type": "text/event-stream" } },
    );
  },
};

/** Reporters see every event of every run; this one prints what starts, what ends, and what the runner decided. */
const progress: Reporter = {
  report(event) {
    if (event.type === "work.started")
      console.log(`#${event.work.workId} ${event.work.taskId} started`);
    if (event.type === "decision") console.log(`  ${decisionText(event.decision)}`);
    if (event.type === "work.ended") console.log(`#${event.work.workId} ${event.outcome.kind}`);
  },
};

const host = new JobHost({ transport, reporters: [progress] });
await host.installJobsEntry(entry);

const { outcome, works, view } = await host.runJob("title", {
  userInput: "a talk about rehearsing agents",
});

console.log(outcome.kind === "succeeded" ? "The job succeeded." : `Not done: ${outcome.reason}`);
console.log(`${works.length} works, ${view.totals.modelCalls} model calls.`);
process.exitCode = outcome.kind === "succeeded" ? 0 : 1;
