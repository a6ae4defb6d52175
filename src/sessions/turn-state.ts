/**
 * What is known of a turn from the events of its session: a pure fold, fed in order. It does not wait,
 * send or end anything; `turn.ts` does.
 */
import type { SessionEvent } from "@github/copilot-sdk";
import { availableTools } from "../entry/model.ts";
import type { ToolCall } from "../engine/ports.ts";
import type { Crash } from "../events/crash.ts";
import { isRecord } from "../document/guards.ts";
import type { AnswerFinish } from "../events/session-activity.ts";

/**
 * No model of today writes a tenth of that. A longer answer is cut off while it comes: what is kept of it, in
 * this process and in the runtime, would grow without a bound.
 */
export const MAX_ANSWER_BYTES = 4_000_000;

interface Call {
  readonly name: string;
  readonly argument?: string;
  succeeded: boolean;
  /** Another call has the same id: then the runtime reports the result of one for both. */
  ambiguous: boolean;
}

/** One answer of the root conversation. */
export interface Answer {
  /** After a content filter the text is the runtime's own, or only a part. */
  readonly finish: AnswerFinish | undefined;
  /** Neither text (white space is none) nor a tool call. */
  readonly empty: boolean;
}

export class TurnState {
  readonly #calls: Call[] = [];
  readonly #latest = new Map<string, Call>();
  /** Tools and permission requests that are under way, sub-agents included. */
  readonly #open = new Set<string>();
  #text = "";
  #finish: AnswerFinish | undefined;
  #answer: Answer | undefined;
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
        this.#start(event);
        break;
      case "tool.execution_complete": {
        const call = this.#latest.get(event.data.toolCallId);
        if (call !== undefined) call.succeeded = event.data.success;
        break;
      }
      case "assistant.turn_start":
        this.#rootQuiet = false;
        // The model is asked again: what it said before is not its last word.
        this.#answer = undefined;
        // Its calls may have the ids of those before, which have ended.
        this.#latest.clear();
        break;
      case "model.call_failure":
        this.#refusal = event.data.statusCode;
        this.#failure = event.data.errorMessage;
        break;
      case "assistant.usage":
        this.#refusal = undefined;
        this.#failure = undefined;
        this.#finish = finishOf(event);
        break;
      case "assistant.message": {
        const { content, toolRequests = [] } = event.data;
        const empty = content.trim() === "" && toolRequests.length === 0;
        this.#answer = { finish: this.#finish, empty };
        // After a content filter the text is the runtime's own (docs/runtime-notes.md#answers-that-are-none).
        if (content !== "" && this.#finish !== "content_filter") this.#text = content;
        break;
      }
      case "session.error":
        this.#error ??= sessionError(event, this.#answer);
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

  /** The last answer of the turn; undefined if the model was asked and has not answered. */
  get answer(): Answer | undefined {
    return this.#answer;
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
    return this.#calls.map(({ name, argument, succeeded, ambiguous }) => ({
      name,
      ...(argument === undefined ? {} : { argument }),
      succeeded: succeeded && !ambiguous,
    }));
  }

  #start(event: Extract<SessionEvent, { type: "tool.execution_start" }>): void {
    const { toolCallId } = event.data;
    const other = this.#latest.get(toolCallId);
    if (other !== undefined) other.ambiguous = true;
    const call = { ...toolCall(event), succeeded: false, ambiguous: other !== undefined };
    this.#latest.set(toolCallId, call);
    this.#calls.push(call);
  }

  #follow(event: SessionEvent): void {
    switch (event.type) {
      case "tool.execution_start":
        this.#open.add(toolKey(event));
        break;
      case "tool.execution_complete":
        this.#open.delete(toolKey(event));
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

/** Sub-agents may use the ids of each other. */
function toolKey(
  event: Extract<SessionEvent, { type: "tool.execution_start" | "tool.execution_complete" }>,
): string {
  return `tool ${event.agentId ?? ""} ${event.data.toolCallId}`;
}

function toolCall(
  event: Extract<SessionEvent, { type: "tool.execution_start" }>,
): Pick<Call, "name" | "argument"> {
  const { toolName: name, arguments: given } = event.data;
  if (!(availableTools as readonly string[]).includes(name)) return { name };
  const argument = isRecord(given) ? given["argument"] : undefined;
  return typeof argument === "string" ? { name, argument } : { name };
}

/** The runtime speaks the vocabulary of OpenAI for every wire API; some servers of that API do not. */
const cutReasons = new Set(["length", "max_tokens", "max_output_tokens"]);

/** Why the answer of a call ended early; undefined: it is whole. */
export function finishOf({
  data,
}: Extract<SessionEvent, { type: "assistant.usage" }>): AnswerFinish | undefined {
  if (data.contentFilterTriggered === true || data.finishReason === "content_filter")
    return "content_filter";
  return cutReasons.has(data.finishReason ?? "") ? "length" : undefined;
}

/** Why an answer is none. */
export function emptyAnswer(answer: Answer | undefined): Crash {
  const message =
    answer?.finish === "content_filter"
      ? "The model's answer was blocked by its content filter."
      : "The model answered with nothing: neither text nor a tool call.";
  return { kind: "empty-answer", message };
}

function sessionError(
  event: Extract<SessionEvent, { type: "session.error" }>,
  answer: Answer | undefined,
): Crash {
  const { message, errorType, statusCode } = event.data;
  if (answer?.empty === true && statusCode === undefined && message.startsWith("No response")) {
    return { ...emptyAnswer(answer), errorType, detail: JSON.stringify(event.data) };
  }
  return {
    kind: "session-error",
    // The lines below the first give advice for another product; the detail keeps them.
    message: message.split("\n")[0]?.trim() || "The session reported an error without a message.",
    errorType,
    ...(statusCode === undefined ? {} : { statusCode }),
    detail: JSON.stringify(event.data),
  };
}
