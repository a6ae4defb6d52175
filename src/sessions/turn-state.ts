/**
 * What is known of a turn from the events of its session: a pure fold, fed in order. It does not wait,
 * send or end anything; `turn.ts` does.
 */
import type { SessionEvent } from "@github/copilot-sdk";
import { availableTools } from "../entry/model.ts";
import type { ToolCall } from "../engine/ports.ts";
import type { Crash } from "../events/crash.ts";

/**
 * No model of today writes a tenth of that. A longer answer is cut off while it comes: what is kept of it, in
 * this process and in the runtime, would grow without a bound.
 */
export const MAX_ANSWER_BYTES = 4_000_000;

interface Call {
  readonly id: string;
  readonly name: string;
  readonly argument?: string;
  succeeded: boolean;
}

export class TurnState {
  readonly #calls: Call[] = [];
  /** Tools and permission requests that are under way, sub-agents included. */
  readonly #open = new Set<string>();
  #text = "";
  #filtered = false;
  #refusal: number | undefined;
  #failure: string | undefined;
  #error: Crash | undefined;
  #fault: Crash | undefined;
  #rootQuiet = false;
  #idle: { readonly aborted: boolean } | undefined;

  /** Takes the events of one turn, from its own `user.message` on. */
  accept(event: SessionEvent): void {
    this.#follow(event);
    this.#fault ??= faultIn(event);
    if (event.agentId !== undefined) return;
    switch (event.type) {
      case "tool.execution_start":
        this.#calls.push(toolCall(event));
        break;
      case "tool.execution_complete": {
        const call = this.#calls.findLast((one) => one.id === event.data.toolCallId);
        if (call !== undefined) call.succeeded = event.data.success;
        break;
      }
      case "assistant.turn_start":
        this.#rootQuiet = false;
        break;
      case "model.call_failure":
        this.#refusal = event.data.statusCode;
        this.#failure = event.data.errorMessage;
        break;
      case "assistant.usage":
        this.#refusal = undefined;
        this.#failure = undefined;
        this.#filtered = event.data.contentFilterTriggered === true;
        break;
      case "assistant.message":
        // After a content filter the text is the runtime's own, not the model's (its trap 16).
        if (event.data.content !== "" && !this.#filtered) this.#text = event.data.content;
        break;
      case "session.error":
        this.#error ??= sessionError(event);
        break;
      case "assistant.idle":
        this.#rootQuiet = true;
        break;
      case "session.idle":
        this.#idle = { aborted: event.data.aborted === true };
        break;
      default:
        break;
    }
  }

  /** A tool runs or a permission is being decided: silence is no sign of a hanging model. */
  get busy(): boolean {
    return this.#open.size > 0;
  }

  /** The conversation has ended its answer, though the session may still wait for background work. */
  get rootQuiet(): boolean {
    return this.#rootQuiet;
  }

  /** The session has said that it is done with the turn. */
  get idle(): { readonly aborted: boolean } | undefined {
    return this.#idle;
  }

  /** What the session itself has reported: it is done with the turn. */
  get error(): Crash | undefined {
    return this.#error;
  }

  /** Why the turn must not go on, although the session would. */
  get fault(): Crash | undefined {
    return this.#fault;
  }

  /** A content filter has blocked the last answer. */
  get filtered(): boolean {
    return this.#filtered;
  }

  /** The status with which the model server refused the last call: what a silence after it is about. */
  get refusal(): number | undefined {
    return this.#refusal;
  }

  /** What the last call failed of, in the words of the server or of the runtime. */
  get failure(): string | undefined {
    return this.#failure;
  }

  get text(): string {
    return this.#text;
  }

  toolCalls(): ToolCall[] {
    return this.#calls.map(({ name, argument, succeeded }) => ({
      name,
      ...(argument === undefined ? {} : { argument }),
      succeeded,
    }));
  }

  #follow(event: SessionEvent): void {
    switch (event.type) {
      case "tool.execution_start":
        this.#open.add(`tool ${event.data.toolCallId}`);
        break;
      case "tool.execution_complete":
        this.#open.delete(`tool ${event.data.toolCallId}`);
        break;
      case "permission.requested":
        this.#open.add(`permission ${event.data.requestId}`);
        break;
      case "permission.completed":
        this.#open.delete(`permission ${event.data.requestId}`);
        break;
      default:
        break;
    }
  }
}

/** Of sub-agents too: their answers fill the same memory. */
function faultIn(event: SessionEvent): Crash | undefined {
  switch (event.type) {
    case "assistant.streaming_delta":
      return tooLong(event.data.totalResponseSizeBytes);
    case "assistant.message":
      return tooLong(event.data.content.length + (event.data.reasoningText?.length ?? 0));
    case "model.call_failure":
      return redirected(event.data.errorMessage ?? "");
    default:
      return undefined;
  }
}

function tooLong(bytes: number): Crash | undefined {
  if (bytes <= MAX_ANSWER_BYTES) return undefined;
  const message = `The model's answer was cut off: it was longer than ${MAX_ANSWER_BYTES / 1e6} MB.`;
  return { kind: "answer-too-long", message };
}

/** The runtime follows 20 redirects, and would then begin again five times. */
function redirected(errorMessage: string): Crash | undefined {
  if (!/too many redirects|redirect (?:loop|cycle)/i.test(errorMessage)) return undefined;
  const to = /\bfor url \(([^)\s]+)\)/.exec(errorMessage)?.[1];
  const last = to === undefined ? "" : `, the last time to ${to}`;
  return {
    kind: "session-error",
    errorType: "redirect",
    message: `The model server redirects every request again and again${last}`,
  };
}

function toolCall(event: Extract<SessionEvent, { type: "tool.execution_start" }>): Call {
  const { toolCallId, toolName } = event.data;
  const call = { id: toolCallId, name: toolName, succeeded: false };
  if (!(availableTools as readonly string[]).includes(toolName)) return call;
  const { arguments: given } = event.data;
  const argument =
    typeof given === "object" && given !== null && !Array.isArray(given)
      ? given["argument"]
      : undefined;
  return typeof argument === "string" ? { ...call, argument } : call;
}

function sessionError(event: Extract<SessionEvent, { type: "session.error" }>): Crash {
  const { message, errorType, statusCode } = event.data;
  return {
    kind: "session-error",
    // The lines below the first give advice for another product; the detail keeps them.
    message: message.split("\n")[0]?.trim() || "The session reported an error without a message.",
    errorType,
    ...(statusCode === undefined ? {} : { statusCode }),
    detail: JSON.stringify(event.data),
  };
}
