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
  /** Of the ids of the answer, and those that are still open: how many calls are open. */
  readonly #open = new Map<string, number>();
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
        if (toolName === undefined) break;
        const names = this.#announced.get(toolCallId) ?? new Set();
        this.#announced.set(toolCallId, names.add(toolName));
        break;
      }
      case "assistant.message": {
        // All calls of an answer are told before one of them starts.
        const ids = (event.data.toolRequests ?? []).map(({ toolCallId }) => toolCallId);
        for (const [index, id] of ids.entries())
          if (ids.indexOf(id) < index) this.#repeated.add(id);
        break;
      }
      case "tool.execution_start": {
        const { toolCallId } = event.data;
        this.#open.set(toolCallId, (this.#open.get(toolCallId) ?? 0) + 1);
        this.#announced.delete(toolCallId);
        break;
      }
      case "tool.execution_complete":
        return this.#end(event);
      case "assistant.turn_start":
      case "user.message":
        // What comes next may use the same ids, but not those of calls that could still end.
        for (const [id, open] of this.#open) if (open === 0) this.#open.delete(id);
        this.#repeated.clear();
        break;
      case "session.idle":
        // What is still open is ended by the readers; an end that comes later is no news.
        for (const id of this.#open.keys()) this.#open.set(id, 0);
        this.#announced.clear();
        break;
      default:
        break;
    }
    return [event];
  }

  #end(event: Ended): readonly SessionEvent[] {
    const { toolCallId } = event.data;
    const open = this.#open.get(toolCallId);
    const announced = this.#announced.get(toolCallId);
    if (open !== undefined && open > 0) {
      this.#open.set(toolCallId, open - 1);
      return this.#repeated.has(toolCallId)
        ? [failed(event, "Another call of this answer has the same id.")]
        : [event];
    }
    if (open === 0 && announced === undefined) return [];
    this.#announced.delete(toolCallId);
    this.#open.set(toolCallId, 0);
    return [...(announced ?? [UNKNOWN_TOOL])].flatMap((toolName) => [
      { ...event, type: "tool.execution_start", data: { toolCallId, toolName, arguments: {} } },
      failed(event, "The runtime reported the end of this call without its start."),
    ]);
  }
}

/** What the runtime says why it failed is worth more than our reason. */
function failed(event: Ended, message: string): Ended {
  const { success, error } = event.data;
  return success || error === undefined
    ? { ...event, data: { ...event.data, success: false, error: { message } } }
    : event;
}
