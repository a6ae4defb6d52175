/**
 * The tool calls of a root conversation, made whole before anything reads them: afterwards every call
 * starts and ends exactly once, and an ambiguous call counts as failed. An id counts within one
 * answer: some model servers begin anew with `call_1` in every answer, and the runtime asks for the next answer
 * only when the calls of the one before have ended.
 *
 * What a model sends can break both. Of calls that share an id, the runtime executes one and reports its
 * result for all. Of an answer with a call whose arguments are no JSON object (`null`, `[]`), it reports
 * neither the answer nor the start of any call of it, only the ends.
 */
import type { SessionEvent } from "@github/copilot-sdk";
import { UNKNOWN_TOOL } from "../events/session-activity.ts";

type Ended = Extract<SessionEvent, { type: "tool.execution_complete" }>;

export class CallLedger {
  /** Ids of the answer, and those that are still open: how many calls have started with it, and how many of them are still open. */
  readonly #calls = new Map<string, { started: number; open: number }>();
  /** Ids that more than one call of the answer has. */
  readonly #repeated = new Set<string>();
  /** Tools that the stream of an answer has named and no call has started with, by id. */
  readonly #announced = new Map<string, Set<string>>();

  /** The events to read instead of `event`. */
  read(event: SessionEvent): readonly SessionEvent[] {
    if (event.agentId !== undefined) return [event];
    switch (event.type) {
      case "assistant.tool_call_delta": {
        const { toolCallId, toolName } = event.data;
        if (toolName === undefined) return [event];
        const names = this.#announced.get(toolCallId) ?? new Set();
        this.#announced.set(toolCallId, names.add(toolName));
        return [event];
      }
      case "tool.execution_start":
        this.#start(event.data.toolCallId);
        return [event];
      case "tool.execution_complete":
        return this.#end(event);
      case "assistant.turn_start":
        this.#forgetEnded();
        return [event];
      case "assistant.message":
        this.#repeat(event.data.toolRequests ?? []);
        return [event];
      case "session.idle":
        // What is still open is ended by the readers; an end that comes later is no news.
        for (const call of this.#calls.values()) call.open = 0;
        this.#announced.clear();
        return [event];
      case "user.message":
        this.#forgetEnded();
        return [event];
      default:
        return [event];
    }
  }

  /** What comes next may use the same ids, but not those of calls that could still end. */
  #forgetEnded(): void {
    for (const [id, { open }] of this.#calls) if (open === 0) this.#calls.delete(id);
    this.#repeated.clear();
  }

  /** The first of two calls with one id may have ended before the second starts. */
  #repeat(requests: readonly { readonly toolCallId: string }[]): void {
    const ids = new Set<string>();
    for (const { toolCallId } of requests) {
      if (ids.has(toolCallId)) this.#repeated.add(toolCallId);
      ids.add(toolCallId);
    }
  }

  #start(id: string): void {
    const call = this.#calls.get(id) ?? { started: 0, open: 0 };
    this.#calls.set(id, { started: call.started + 1, open: call.open + 1 });
    this.#announced.delete(id);
  }

  #end(event: Ended): readonly SessionEvent[] {
    const { toolCallId } = event.data;
    const call = this.#calls.get(toolCallId);
    const announced = this.#announced.get(toolCallId);
    if (call === undefined || (call.open === 0 && announced !== undefined)) {
      const names = [...(announced ?? [UNKNOWN_TOOL])];
      this.#announced.delete(toolCallId);
      this.#calls.set(toolCallId, { started: (call?.started ?? 0) + names.length, open: 0 });
      return names.flatMap((toolName) => neverStarted(event, toolName));
    }
    if (call.open === 0) return [];
    call.open -= 1;
    return call.started === 1 && !this.#repeated.has(toolCallId)
      ? [event]
      : [failed(event, "Another call of this answer has the same id.")];
  }
}

function neverStarted(event: Ended, toolName: string): readonly SessionEvent[] {
  const { toolCallId } = event.data;
  return [
    { ...event, type: "tool.execution_start", data: { toolCallId, toolName, arguments: {} } },
    failed(event, "The runtime reported the end of this call without its start."),
  ];
}

/** What the runtime says why it failed is worth more than our reason. */
function failed(event: Ended, message: string): Ended {
  const { success, error } = event.data;
  return success || error === undefined
    ? { ...event, data: { ...event.data, success: false, error: { message } } }
    : event;
}
