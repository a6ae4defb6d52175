/**
 * A session as people read it: a fold over the responses of its feed, and over the reader's own prompts, which the
 * feed doesn't have. Pure; the session page shows it.
 *
 * Invariant: the same responses and notes give the same conversation, in whatever batches the responses come.
 */

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

/** Something that the reader did, after so many responses. */
export type Note = { readonly after: number } & (
  | { readonly kind: "prompt"; readonly text: string }
  | { readonly kind: "task"; readonly taskId: string; readonly taskName: string }
);

export type Entry =
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
  readonly kind: "reasoning" | "message";
  readonly key: string;
  readonly id: string;
  readonly text: string;
  readonly done: boolean;
}

export interface ToolCall {
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
  /** How many notes are in it. */
  readonly notes: number;
}

export const emptyConversation: Conversation = {
  entries: [],
  working: false,
  responses: 0,
  notes: 0,
};

/** `notes`: all of the session, in order; those that belong before, between or after these responses are added. */
export function converse(
  conversation: Conversation,
  responses: readonly SessionResponse[],
  notes: readonly Note[],
): Conversation {
  const draft = new Draft(conversation);
  draft.addNotes(notes);
  for (const response of responses) {
    draft.respond(response);
    draft.addNotes(notes);
  }
  return draft.conversation();
}

class Draft {
  readonly #entries: Entry[];
  #working: boolean;
  #responses: number;
  #notes: number;

  constructor({ entries, working, responses, notes }: Conversation) {
    this.#entries = [...entries];
    this.#working = working;
    this.#responses = responses;
    this.#notes = notes;
  }

  conversation(): Conversation {
    return {
      entries: this.#entries,
      working: this.#working,
      responses: this.#responses,
      notes: this.#notes,
    };
  }

  addNotes(notes: readonly Note[]): void {
    for (;;) {
      const note = notes[this.#notes];
      if (note === undefined || note.after > this.#responses) return;
      this.#notes++;
      this.#working = true;
      const key = `note-${this.#notes}`;
      if (note.kind === "prompt")
        this.#entries.push({ kind: "prompt", key, text: note.text, by: "you" });
      else {
        const { taskId, taskName } = note;
        this.#entries.push({ kind: "task", key, taskId, taskName });
      }
    }
  }

  respond(response: SessionResponse): void {
    this.#responses++;
    if (response.callback === undefined) {
      if (typeof response.sessionError !== "string") return;
      this.#working = false;
      this.#entries.push({ kind: "error", key: this.#key(), text: response.sessionError });
      return;
    }
    switch (response.callback) {
      case "onGeneratedUserPrompt":
        this.#working = true;
        this.#entries.push({ kind: "prompt", key: this.#key(), text: response.prompt, by: "task" });
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
          key: this.#key(),
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
        this.#entries.push({ kind: "dropped", key: this.#key(), count: response.count });
        break;
      case "onAgentEnd":
        break;
    }
  }

  #key(): string {
    return `response-${this.#responses}`;
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
      this.#entries.push({ kind, key: this.#key(), id, text: delta, done: false });
    else this.#entries[index] = { ...before, text: before.text + delta };
  }

  /** A text that turns out to be empty was the start of something else, such as a tool call. */
  #endStream(kind: Streamed["kind"], id: string, text: string): void {
    const index = this.#openStream(kind, id);
    const before = this.#entries[index];
    if (text.trim() === "") {
      if (before !== undefined) this.#entries.splice(index, 1);
    } else if (before?.kind === kind) this.#entries[index] = { ...before, text, done: true };
    else this.#entries.push({ kind, key: this.#key(), id, text, done: true });
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
