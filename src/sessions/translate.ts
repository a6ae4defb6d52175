/**
 * Translates the SDK's events, and owns the calls and texts that are open. Whatever starts also ends, once, even when the
 * runtime doesn't report it: an abort leaves tools open, a retry leaves messages open. Sub-agents only report what a bill
 * and a recording need.
 *
 * Some model servers start again with `call_1` in every answer. The runtime executes one of the calls that share an id,
 * and reports its result for all. If the arguments of a call are not a JSON object, it reports only the ends of the answer.
 */
import { defined } from "../text/guards.ts";
import type { SessionEvent } from "@github/copilot-sdk";
import { truncateUnredacted, moreCharacters } from "../text/truncate.ts";
import {
  UNKNOWN_TOOL,
  type SessionActivity,
  type ToolError,
  type AnswerFinish,
} from "../events/session-activity.ts";
import { failureWords } from "./model-error.ts";
import type { ToolCall } from "../engine/ports.ts";

/* How the runtime reports an answer of a model. */

export type SdkEvent<Type extends SessionEvent["type"]> = Extract<SessionEvent, { type: Type }>;

/** The runtime passes on the words of other servers too. With any other reason, an answer is complete. */
const finishes: Readonly<Record<string, AnswerFinish>> = {
  length: "length",
  max_tokens: "length",
  max_output_tokens: "length",
  model_length: "length",
  model_context_window_exceeded: "length",
  content_filter: "content_filter",
  refusal: "content_filter",
  safety: "content_filter",
  sensitive: "content_filter",
  recitation: "content_filter",
  blocklist: "content_filter",
  prohibited_content: "content_filter",
  spii: "content_filter",
  error: "error",
  abort: "error",
  aborted: "error",
  cancelled: "error",
  insufficient_system_resource: "error",
};

export const callReasons = ["tool_calls", "tool_use", "function_call"];

export function finishOf({ data }: SdkEvent<"assistant.usage">): AnswerFinish | undefined {
  if (data.contentFilterTriggered === true) return "content_filter";
  const reason = (data.finishReason ?? "").toLowerCase();
  return Object.hasOwn(finishes, reason) ? finishes[reason] : undefined;
}

/** The status of an error; undefined if it is not a whole number. A journal accepts only finite numbers. */
export function statusOf(reported: number | undefined): number | undefined {
  return reported !== undefined && Number.isSafeInteger(reported) && reported >= 100
    ? reported
    : undefined;
}

type Call = ToolCall & { succeeded: boolean };

interface Tool {
  /** The open calls with this id, oldest first. Empty: they have ended, and further ends are ignored. */
  readonly open: Call[];
  /** Length and end of the output so far: comparing all of it each time would take quadratic time. */
  length: number;
  end: string;
}

const COMPARED = 64;
/** UTF-16 units that are kept of a text that was never finished. */
const UNFINISHED = 64 * 1024;

/** A local model takes ten seconds for so many parts of a call. */
const LONG_CALL = 100;

type TextKind = "reasoning" | "message";

export class Translator {
  #text: { readonly kind: TextKind; readonly id: string; text: string } | undefined;
  /** Reasoning and messages that have ended: a whole text that follows is ignored. */
  readonly #ended = new Set<string>();
  readonly #tools = new Map<string, Tool>();
  readonly #calls: Call[] = [];
  readonly #repeated = new Set<string>();
  /** Named by the stream of an answer, and not started yet; by id. */
  readonly #announced = new Map<string, Set<string>>();
  #callParts = 0;

  translate(event: SessionEvent): SessionActivity[] {
    const subAgent = event.agentId !== undefined;
    switch (event.type) {
      case "assistant.usage":
        return [modelUsed(event, subAgent)];
      case "model.call_failure":
        return [modelFailed(event, subAgent)];
      case "assistant.message":
        return subAgent
          ? [modelReplied(event, true)]
          : [...this.#answered(event), modelReplied(event, false)];
      case "tool.execution_complete":
        return subAgent ? subAgentTool(event) : this.#root(event);
      default:
        return subAgent ? [] : this.#root(event);
    }
  }

  isOpen(toolCallId: string): boolean {
    return (this.#tools.get(toolCallId)?.open.length ?? 0) > 0;
  }

  get calls(): readonly ToolCall[] {
    return this.#calls.map((call) => ({ ...call }));
  }

  close(): SessionActivity[] {
    if (this.#text !== undefined)
      this.#text.text = truncateUnredacted(this.#text.text, UNFINISHED, moreCharacters);
    const activities = this.#closeText();
    for (const [toolCallId, { open }] of this.#tools) {
      for (const { name: toolName, arguments: args } of open.splice(0)) {
        const error = { message: "The turn ended before the tool did.", code: "unfinished" };
        const call = { toolCallId, toolName, arguments: args };
        activities.push({ kind: "tool.ended", ...call, succeeded: false, error });
      }
    }
    this.#announced.clear();
    this.#ended.clear();
    return activities;
  }

  #root(event: SessionEvent): SessionActivity[] {
    switch (event.type) {
      case "user.message":
        this.#forgetTools();
        return [];
      case "assistant.turn_start":
        this.#forgetTools();
        this.#callParts = 0;
        return [...this.#closeText(), { kind: "agent.started", agentTurnId: event.data.turnId }];
      case "assistant.tool_call_delta": {
        const { toolCallId, toolName } = event.data;
        const names = this.#announced.get(toolCallId) ?? new Set();
        if (toolName !== undefined) this.#announced.set(toolCallId, names.add(toolName));
        this.#callParts += 1;
        return this.#callParts === LONG_CALL ? [{ kind: "tool.announced", toolCallId }] : [];
      }
      case "assistant.turn_end":
        return [...this.#closeText(), { kind: "agent.ended", agentTurnId: event.data.turnId }];
      case "assistant.reasoning_delta":
        return this.#delta("reasoning", event.data.reasoningId, event.data.deltaContent);
      case "assistant.reasoning":
        return this.#wholeReasoning(event.data.reasoningId, event.data.content);
      case "assistant.message_start":
        return this.#ended.has(event.data.messageId)
          ? []
          : this.#start("message", event.data.messageId);
      case "assistant.message_delta":
        return this.#delta("message", event.data.messageId, event.data.deltaContent);
      case "tool.execution_start":
        return this.#toolStarted(event);
      case "tool.execution_partial_result":
        return this.#toolOutput(event.data.toolCallId, event.data.partialOutput);
      case "tool.execution_complete":
        return this.#toolEnded(event);
      case "session.idle":
        return [...this.close(), { kind: "idle" }];
      default:
        return [];
    }
  }

  #answered({ data }: SdkEvent<"assistant.message">): SessionActivity[] {
    // All calls of an answer are announced before one of them starts.
    const ids = (data.toolRequests ?? []).map(({ toolCallId }) => toolCallId);
    for (const [index, id] of ids.entries()) if (ids.indexOf(id) < index) this.#repeated.add(id);
    const { messageId, content } = data;
    if (this.#ended.has(messageId)) return [];
    // An answer that is only tool calls has no message to tell of.
    const isMessage = content !== "" || this.#isText("message", messageId);
    const started = isMessage ? this.#start("message", messageId) : [];
    if (isMessage && this.#text !== undefined) this.#text.text = content;
    return [...started, ...this.#closeText()];
  }

  #start(kind: TextKind, id: string): SessionActivity[] {
    if (this.#isText(kind, id)) return [];
    // A new id while another is open: the runtime asks the model again, or goes on to the next text.
    const ended = this.#closeText();
    this.#text = { kind, id, text: "" };
    return [...ended, texts[kind].started(id)];
  }

  #delta(kind: TextKind, id: string, text: string): SessionActivity[] {
    if (this.#ended.has(id)) return [];
    const started = this.#start(kind, id);
    if (this.#text !== undefined) this.#text.text += text;
    return [...started, texts[kind].delta(id, text)];
  }

  #isText(kind: TextKind, id: string): boolean {
    return this.#text?.kind === kind && this.#text.id === id;
  }

  #wholeReasoning(id: string, text: string): SessionActivity[] {
    if (this.#isText("reasoning", id)) return this.#closeText();
    if (this.#ended.has(id)) return [];
    this.#ended.add(id);
    return [texts.reasoning.started(id), texts.reasoning.ended(id, text)];
  }

  #closeText(): SessionActivity[] {
    const open = this.#text;
    if (open === undefined) return [];
    this.#text = undefined;
    this.#ended.add(open.id);
    return [texts[open.kind].ended(open.id, open.text)];
  }

  #toolStarted(event: SdkEvent<"tool.execution_start">): SessionActivity[] {
    const { toolCallId, parentToolCallId, toolName, arguments: args = {} } = event.data;
    this.#announced.delete(toolCallId);
    this.#begin(toolCallId, toolName, args);
    const call = { toolCallId, ...defined({ parentToolCallId }), toolName, arguments: args };
    return [...this.#closeText(), { kind: "tool.started", ...call }];
  }

  #begin(toolCallId: string, name: string, args: unknown): Call {
    const call = { name, arguments: args, succeeded: false };
    const { open } = this.#tools.get(toolCallId) ?? { open: [] };
    this.#tools.set(toolCallId, { open: [...open, call], length: 0, end: "" });
    this.#calls.push(call);
    return call;
  }

  /** The output is cumulative; we tell what is new. */
  #toolOutput(toolCallId: string, output: string): SessionActivity[] {
    const tool = this.#tools.get(toolCallId);
    if (tool === undefined || tool.open.length === 0) return [];
    const { length, end } = tool;
    const goesOn = output.length >= length && output.slice(length - end.length, length) === end;
    const text = goesOn ? output.slice(length) : output;
    if (text === "") return [];
    tool.length = output.length;
    tool.end = output.slice(-COMPARED);
    return [{ kind: "tool.delta", toolCallId, text }];
  }

  #toolEnded(event: SdkEvent<"tool.execution_complete">): SessionActivity[] {
    const { toolCallId } = event.data;
    const tool = this.#tools.get(toolCallId);
    const call = tool?.open.shift();
    if (call !== undefined) {
      const shared = this.#repeated.has(toolCallId);
      return [
        toolEnded(event, call, shared ? "Another call of this answer has the same id." : undefined),
      ];
    }
    const announced = this.#announced.get(toolCallId);
    if (tool !== undefined && announced === undefined) return [];
    this.#announced.delete(toolCallId);
    return [...(announced ?? [UNKNOWN_TOOL])].flatMap((toolName) => {
      const begun = this.#begin(toolCallId, toolName, {});
      this.#tools.get(toolCallId)?.open.pop();
      return [
        ...this.#closeText(),
        { kind: "tool.started", toolCallId, toolName, arguments: {} },
        toolEnded(event, begun, "The runtime reported the end of this call without its start."),
      ];
    });
  }

  #forgetTools(): void {
    for (const [id, { open }] of this.#tools) if (open.length === 0) this.#tools.delete(id);
    this.#repeated.clear();
  }
}

const texts = {
  reasoning: {
    started: (reasoningId: string) => ({ kind: "reasoning.started", reasoningId }),
    delta: (reasoningId: string, text: string) => ({ kind: "reasoning.delta", reasoningId, text }),
    ended: (reasoningId: string, text: string) => ({ kind: "reasoning.ended", reasoningId, text }),
  },
  message: {
    started: (messageId: string) => ({ kind: "message.started", messageId }),
    delta: (messageId: string, text: string) => ({ kind: "message.delta", messageId, text }),
    ended: (messageId: string, text: string) => ({ kind: "message.ended", messageId, text }),
  },
} as const satisfies Record<
  TextKind,
  Record<string, (id: string, text: string) => SessionActivity>
>;

/** `fault`: why the call counts as failed, unless the runtime gives a reason. */
function toolEnded(
  { data }: SdkEvent<"tool.execution_complete">,
  call: Call,
  fault: string | undefined,
): SessionActivity {
  const { toolCallId, success, result, error, shellExecution } = data;
  const { content = "", detailedContent } = result ?? {};
  const exitCode = shellExecution?.exitCode ?? 0;
  const own = success && fault !== undefined ? undefined : error;
  const shown = own ?? (fault === undefined ? undefined : { message: fault });
  call.succeeded = success && fault === undefined;
  return {
    kind: "tool.ended",
    toolCallId,
    toolName: call.name,
    succeeded: call.succeeded,
    ...(result && { result: { content, ...defined({ detailedContent }) } }),
    ...(exitCode > 0 ? { exitCode } : {}),
    ...(shown && { error: toolError(shown) }),
    // They come last, because a long event is truncated.
    arguments: call.arguments,
  };
}

/** A model server may report anything: null, NaN or a negative number counts as 0. A journal accepts only finite numbers. */
function counted(reported: number | undefined): number {
  return reported !== undefined && reported > 0 ? Math.min(reported, Number.MAX_SAFE_INTEGER) : 0;
}

function positive(reported: number | undefined): number | undefined {
  return counted(reported) || undefined;
}

/** A rehearsal accepts only whole numbers of tokens. */
function tokens(reported: number | undefined): number {
  return Math.round(counted(reported));
}

function subAgentTool(event: SdkEvent<"tool.execution_complete">): SessionActivity[] {
  const { toolCallId, success, error } = event.data;
  const failure = toolError(error ?? { message: "" });
  return success ? [] : [{ kind: "sub-agent.tool.failed", toolCallId, error: failure }];
}

function toolError({ message, code }: { message: string; code?: string }): ToolError {
  return { message, ...defined({ code }) };
}

function modelReplied(event: SdkEvent<"assistant.message">, subAgent: boolean): SessionActivity {
  const { content: text, reasoningText: reasoning, toolRequests = [] } = event.data;
  const toolCalls = toolRequests.map(({ toolCallId: id, name, arguments: args = {} }) => ({
    id,
    name,
    arguments: args,
  }));
  return { kind: "model.replied", text, ...defined({ reasoning }), toolCalls, subAgent };
}

function modelFailed(event: SdkEvent<"model.call_failure">, subAgent: boolean): SessionActivity {
  const { model: modelId, errorMessage } = event.data;
  const message = errorMessage && failureWords(errorMessage);
  const statusCode = statusOf(event.data.statusCode);
  const durationMs =
    event.data.durationMs === undefined ? undefined : counted(event.data.durationMs);
  const known = defined({ modelId, statusCode, message, durationMs });
  return { kind: "model.failed", ...known, subAgent };
}

/** A nano-AIU is 10⁻⁹ of an AI credit: in 1.0.85 of the runtime, `responseLimitsNanoAiuToAiCredits(1e9)` is 1. */
const NANO_AIU_PER_CREDIT = 1e9;

/** Only Copilot bills in credits, but the runtime passes on such a field from any server. */
function costOf({ copilotUsage, isByok }: SdkEvent<"assistant.usage">["data"]) {
  if (isByok === true || typeof copilotUsage?.totalNanoAiu !== "number") return {};
  const nanoAiu = counted(copilotUsage.totalNanoAiu);
  return { cost: nanoAiu / NANO_AIU_PER_CREDIT, nanoAiu };
}

function modelUsed(event: SdkEvent<"assistant.usage">, subAgent: boolean): SessionActivity {
  const { data } = event;
  return {
    kind: "model.used",
    modelId: data.model,
    inputTokens: tokens(data.inputTokens),
    outputTokens: tokens(data.outputTokens),
    cacheReadTokens: tokens(data.cacheReadTokens),
    reasoningTokens: tokens(data.reasoningTokens),
    ...costOf(data),
    durationMs: counted(data.duration),
    ...defined({ firstTokenMs: positive(data.timeToFirstTokenMs), responseId: data.apiCallId }),
    ...defined({ finish: finishOf(event) }),
    subAgent,
  };
}
