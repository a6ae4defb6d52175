/**
 * A session as people read it: a fold over the responses of its feed, and what it was asked, which the feed doesn't
 * have, in its place between them. Pure; the session page shows it.
 *
 * Invariant: the same responses and notes give the same conversation, in whatever batches the responses come, and
 * whenever the notes do.
 */
import type { SessionListItem } from "../data/api-types.ts";

/** A response of a session's feed (docs/server.md). Others are ignored. */
export type SessionResponse =
  | { readonly callback: "onStartReasoning"; readonly reasoningId: string }
  | { readonly callback: "onReasoning"; readonly reasoningId: string; readonly delta: string }
  | {
      readonly callback: "onEndReasoning";
      readonly reasoningId: string;
      readonly completeContent: string;
    }
  | { readonly callback: "onStartMessage"; readonly messageId: string }
  | { readonly callback: "onMessage"; readonly messageId: string; readonly delta: string }
  | {
      readonly callback: "onEndMessage";
      readonly messageId: string;
      readonly completeContent: string;
    }
  | {
      readonly callback: "onStartToolExecution";
      readonly toolCallId: string;
      readonly parentToolCallId?: string;
      readonly toolName: string;
      /** JSON. */
      readonly toolArguments: string;
    }
  | { readonly callback: "onToolExecution"; readonly toolCallId: string; readonly delta: string }
  | {
      readonly callback: "onEndToolExecution";
      readonly toolCallId: string;
      readonly result?: { readonly content: string; readonly detailedContent?: string };
      readonly error?: { readonly message: string; readonly code?: string };
    }
  | { readonly callback: "onAgentStart" | "onAgentEnd"; readonly turnId: string }
  | { readonly callback: "onIdle" }
  | { readonly callback: "onResponsesDropped"; readonly count: number }
  | { readonly callback: "onGeneratedUserPrompt"; readonly prompt: string }
  | { readonly callback?: undefined; readonly sessionError: string };

/** Something that the session was asked, after so many responses. */
export type Note = { readonly after: number } & (
  | { readonly kind: "prompt"; readonly text: string }
  | { readonly kind: "task"; readonly taskId: string; readonly taskName: string }
);

/** `at`: the number of the response with which it began. */
export type Entry = { readonly at: number; readonly key: string } & EntryBody;

type EntryBody =
  | { readonly kind: "prompt"; readonly text: string; readonly by: "you" | "task" }
  | { readonly kind: "task"; readonly taskId: string; readonly taskName: string }
  | Streamed
  | ToolCall
  | { readonly kind: "error"; readonly text: string }
  /** The server forgot so many responses here. */
  | { readonly kind: "dropped"; readonly count: number };

/** `done`: nothing is added to it any more. */
export interface Streamed {
  readonly kind: "reasoning" | "message";
  readonly id: string;
  readonly text: string;
  readonly done: boolean;
}

export interface ToolCall {
  readonly kind: "tool";
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
  /** A sub-agent made the call. */
  readonly nested: boolean;
  /** The output so far, then the result. */
  readonly output: string;
  readonly state:
    | { readonly kind: "running" }
    | { readonly kind: "succeeded" }
    | { readonly kind: "failed" | "denied"; readonly message: string };
}

export interface Conversation {
  readonly entries: readonly Entry[];
  /** The model has been asked, and is not done. */
  readonly working: boolean;
  /** How many responses are in it. */
  readonly responses: number;
}

export const emptyConversation: Conversation = { entries: [], working: false, responses: 0 };

/** With further responses. */
export function converse(
  conversation: Conversation,
  further: readonly SessionResponse[],
): Conversation {
  const entries = [...conversation.entries];
  let { working, responses } = conversation;
  const add = (body: EntryBody): void =>
    void entries.push({ ...body, at: responses, key: `response-${responses}` });
  /** Ids of ended texts may come again. */
  const stream = (kind: Streamed["kind"], id: string, change: (text: string) => string): void => {
    const index = entries.findLastIndex((one) => one.kind === kind && one.id === id && !one.done);
    const before = entries[index];
    if (before?.kind === kind) entries[index] = { ...before, text: change(before.text) };
    else add({ kind, id, text: change(""), done: false });
  };
  const endStream = (kind: Streamed["kind"], id: string, text: string): void => {
    stream(kind, id, () => text);
    const index = entries.findLastIndex((one) => one.kind === kind && one.id === id);
    const ended = entries[index];
    // A text that turns out to be empty was the start of something else, such as a tool call.
    if (text.trim() === "") entries.splice(index, 1);
    else if (ended?.kind === kind) entries[index] = { ...ended, done: true };
  };
  const changeTool = (id: string, change: (tool: ToolCall) => Partial<ToolCall>): void => {
    const index = entries.findLastIndex((one) => one.kind === "tool" && one.id === id);
    const before = entries[index];
    if (before?.kind === "tool") entries[index] = { ...before, ...change(before) };
  };
  for (const response of further) {
    responses += 1;
    if (response.callback === undefined) {
      if (typeof response.sessionError !== "string") continue;
      working = false;
      add({ kind: "error", text: response.sessionError });
      continue;
    }
    switch (response.callback) {
      case "onGeneratedUserPrompt":
        working = true;
        add({ kind: "prompt", text: response.prompt, by: "task" });
        break;
      case "onStartReasoning":
        stream("reasoning", response.reasoningId, (text) => text);
        break;
      case "onReasoning":
        stream("reasoning", response.reasoningId, (text) => text + response.delta);
        break;
      case "onEndReasoning":
        endStream("reasoning", response.reasoningId, response.completeContent);
        break;
      case "onStartMessage":
        stream("message", response.messageId, (text) => text);
        break;
      case "onMessage":
        stream("message", response.messageId, (text) => text + response.delta);
        break;
      case "onEndMessage":
        endStream("message", response.messageId, response.completeContent);
        break;
      case "onStartToolExecution":
        add({
          kind: "tool",
          id: response.toolCallId,
          name: response.toolName,
          arguments: response.toolArguments,
          nested: response.parentToolCallId !== undefined,
          output: "",
          state: { kind: "running" },
        });
        break;
      case "onToolExecution":
        changeTool(response.toolCallId, ({ output }) => ({ output: output + response.delta }));
        break;
      case "onEndToolExecution": {
        const { result } = response;
        changeTool(response.toolCallId, ({ output }) => ({
          output: result?.detailedContent ?? result?.content ?? output,
          state: stateOf(response),
        }));
        break;
      }
      case "onAgentStart":
        working = true;
        break;
      case "onIdle":
        working = false;
        break;
      case "onResponsesDropped":
        // It has the number of the last one of them.
        responses += Math.max(0, response.count - 1);
        add({ kind: "dropped", count: response.count });
        break;
      case "onAgentEnd":
        break;
    }
  }
  return { entries, working, responses };
}

/** `notes`: all of the session, in order. Those that are after responses yet to come wait for them. */
export function withNotes(conversation: Conversation, notes: readonly Note[]): Conversation {
  const { responses } = conversation;
  const due = notes.filter(({ after }) => after <= responses);
  if (due.length === 0) return conversation;
  const entries: Entry[] = [];
  let next = 0;
  const addUntil = (at: number): void => {
    for (let note = due[next]; note !== undefined && note.after < at; note = due[next])
      entries.push(entryOf(note, ++next));
  };
  for (const entry of conversation.entries) {
    addUntil(entry.at);
    entries.push(entry);
  }
  addUntil(Infinity);
  const unanswered = due.at(-1)?.after === responses;
  return { entries, working: conversation.working || unanswered, responses };
}

/** Prompts and tasks that the session was asked, in order. */
export function notesOf({ prompts, tasks }: SessionListItem): readonly Note[] {
  const notes: readonly Note[] = [
    ...prompts.map((prompt) => ({ kind: "prompt" as const, ...prompt })),
    ...tasks.map((task) => ({ kind: "task" as const, ...task })),
  ];
  return notes.toSorted((a, b) => a.after - b.after);
}

function entryOf(note: Note, number: number): Entry {
  const place = { at: note.after, key: `note-${number}` };
  if (note.kind === "prompt") return { kind: "prompt", ...place, text: note.text, by: "you" };
  const { taskId, taskName } = note;
  return { kind: "task", ...place, taskId, taskName };
}

function stateOf({
  error,
}: {
  readonly error?: { readonly message: string; readonly code?: string };
}): ToolCall["state"] {
  if (error === undefined) return { kind: "succeeded" };
  return { kind: error.code === "denied" ? "denied" : "failed", message: error.message };
}
