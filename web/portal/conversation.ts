/**
 * A session as people read it: a fold over the responses of its feed, and what it was asked, which the feed doesn't
 * have, in its place between them. Pure; the session page shows it.
 *
 * Invariant: the same responses and notes give the same conversation, in whatever batches the responses come, and
 * whenever the notes do.
 */
import type { SessionListItem } from "../data/api.ts";

/** What a session's feed sends (docs/server.md). Others are ignored. */
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
export type Entry = { readonly at: number } & EntryBody;

type EntryBody =
  | {
      readonly kind: "prompt";
      readonly key: string;
      readonly text: string;
      readonly by: "you" | "task";
    }
  | {
      readonly kind: "task";
      readonly key: string;
      readonly taskId: string;
      readonly taskName: string;
    }
  | Streamed
  | ToolCall
  | { readonly kind: "error"; readonly key: string; readonly text: string }
  /** The server forgot so many responses here. */
  | { readonly kind: "dropped"; readonly key: string; readonly count: number };

/** `done`: nothing is added to it any more. */
export interface Streamed {
  readonly at: number;
  readonly kind: "reasoning" | "message";
  readonly key: string;
  readonly id: string;
  readonly text: string;
  readonly done: boolean;
}

export interface ToolCall {
  readonly at: number;
  readonly kind: "tool";
  readonly key: string;
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
  /** Of a sub-agent. */
  readonly nested: boolean;
  /** What it has printed so far, then its result. */
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
  responses: readonly SessionResponse[],
): Conversation {
  const draft = new Draft(conversation);
  for (const response of responses) draft.respond(response);
  return draft.conversation();
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

/** What a session was asked, in order. */
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

class Draft {
  readonly #entries: Entry[];
  #working: boolean;
  #responses: number;

  constructor({ entries, working, responses }: Conversation) {
    this.#entries = [...entries];
    this.#working = working;
    this.#responses = responses;
  }

  conversation(): Conversation {
    return { entries: this.#entries, working: this.#working, responses: this.#responses };
  }

  respond(response: SessionResponse): void {
    this.#responses++;
    if (response.callback === undefined) {
      if (typeof response.sessionError !== "string") return;
      this.#working = false;
      this.#entries.push({ kind: "error", ...this.#place(), text: response.sessionError });
      return;
    }
    switch (response.callback) {
      case "onGeneratedUserPrompt":
        this.#working = true;
        this.#entries.push({ kind: "prompt", ...this.#place(), text: response.prompt, by: "task" });
        break;
      case "onStartReasoning":
        this.#stream("reasoning", response.reasoningId, "");
        break;
      case "onReasoning":
        this.#stream("reasoning", response.reasoningId, response.delta);
        break;
      case "onEndReasoning":
        this.#endStream("reasoning", response.reasoningId, response.completeContent);
        break;
      case "onStartMessage":
        this.#stream("message", response.messageId, "");
        break;
      case "onMessage":
        this.#stream("message", response.messageId, response.delta);
        break;
      case "onEndMessage":
        this.#endStream("message", response.messageId, response.completeContent);
        break;
      case "onStartToolExecution":
        this.#entries.push({
          kind: "tool",
          ...this.#place(),
          id: response.toolCallId,
          name: response.toolName,
          arguments: response.toolArguments,
          nested: response.parentToolCallId !== undefined,
          output: "",
          state: { kind: "running" },
        });
        break;
      case "onToolExecution":
        this.#changeTool(response.toolCallId, (tool) => ({
          ...tool,
          output: tool.output + response.delta,
        }));
        break;
      case "onEndToolExecution":
        this.#changeTool(response.toolCallId, (tool) => ({
          ...tool,
          output: response.result?.detailedContent ?? response.result?.content ?? tool.output,
          state: stateOf(response),
        }));
        break;
      case "onAgentStart":
        this.#working = true;
        break;
      case "onIdle":
        this.#working = false;
        break;
      case "onResponsesDropped":
        // It has the number of the last one of them.
        this.#responses += Math.max(0, response.count - 1);
        this.#entries.push({ kind: "dropped", ...this.#place(), count: response.count });
        break;
      case "onAgentEnd":
        break;
    }
  }

  #place(): { readonly at: number; readonly key: string } {
    return { at: this.#responses, key: `response-${this.#responses}` };
  }

  /** The text that is open under this id; ids of ended ones may come again. */
  #openStream(kind: Streamed["kind"], id: string): number {
    return this.#entries.findLastIndex(
      (entry) => entry.kind === kind && entry.id === id && !entry.done,
    );
  }

  #stream(kind: Streamed["kind"], id: string, delta: string): void {
    const index = this.#openStream(kind, id);
    const before = this.#entries[index];
    if (before?.kind !== kind)
      this.#entries.push({ kind, ...this.#place(), id, text: delta, done: false });
    else this.#entries[index] = { ...before, text: before.text + delta };
  }

  /** A text that turns out to be empty was the start of something else, such as a tool call. */
  #endStream(kind: Streamed["kind"], id: string, text: string): void {
    const index = this.#openStream(kind, id);
    const before = this.#entries[index];
    if (text.trim() === "") {
      if (before !== undefined) this.#entries.splice(index, 1);
    } else if (before?.kind === kind) this.#entries[index] = { ...before, text, done: true };
    else this.#entries.push({ kind, ...this.#place(), id, text, done: true });
  }

  #changeTool(id: string, change: (tool: ToolCall) => ToolCall): void {
    const index = this.#entries.findLastIndex((entry) => entry.kind === "tool" && entry.id === id);
    const tool = this.#entries[index];
    if (tool?.kind === "tool") this.#entries[index] = change(tool);
  }
}

function stateOf({
  error,
}: {
  readonly error?: { readonly message: string; readonly code?: string };
}): ToolCall["state"] {
  if (error === undefined) return { kind: "succeeded" };
  return { kind: error.code === "denied" ? "denied" : "failed", message: error.message };
}
