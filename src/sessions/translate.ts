/**
 * The SDK's events, translated into ours. Pure but for a little state: what is open.
 *
 * Invariants: whatever starts also ends, once, and in that order, also when the runtime forgets to say so
 * (an abort leaves tools open, a retry in mid-stream leaves messages open). Only the root conversation is
 * translated; of sub-agents we keep what a bill and a recording need.
 */
import { defined } from "../document/guards.ts";
import type { SessionEvent } from "@github/copilot-sdk";
import { beginningOf } from "../events/cut.ts";
import type { SessionActivity, ToolError } from "../events/session-activity.ts";
import { failureWords } from "./model-error.ts";
import { finishOf, statusOf } from "./turn-state.ts";

interface OpenTool {
  /** How many calls with this id are open. */
  open: number;
  /** How long the output was, and how it ended: comparing all of it each time would take quadratic time. */
  length: number;
  end: string;
}

const COMPARED = 64;
/** What is kept of a text that was never finished. */
const UNFINISHED = 64 * 1024;

interface OpenText {
  readonly id: string;
  text: string;
}

export class Translator {
  #reasoning: OpenText | undefined;
  #message: OpenText | undefined;
  /** Reasoning and messages that have ended: their late whole text is no news. */
  readonly #ended = new Set<string>();
  /** Open tool calls: how many share the id, and the output seen so far. */
  readonly #tools = new Map<string, OpenTool>();

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
          : [...this.#wholeMessage(event), modelReplied(event, false)];
      case "tool.execution_complete":
        return subAgent ? subAgentTool(event) : this.#root(event);
      default:
        return subAgent ? [] : this.#root(event);
    }
  }

  /** What a tool that runs in this process reports. */
  progress(toolCallId: string, text: string): SessionActivity[] {
    return this.#tools.has(toolCallId) ? [{ kind: "tool.delta", toolCallId, text }] : [];
  }

  /** Ends what is still open: after an abort, a crash, or the end of a turn. */
  close(): SessionActivity[] {
    for (const open of [this.#reasoning, this.#message]) {
      if (open !== undefined) open.text = unfinished(open.text);
    }
    const activities = this.#closeTexts();
    for (const [toolCallId, { open }] of this.#tools) {
      for (let call = 0; call < open; call += 1) {
        activities.push({
          kind: "tool.ended",
          toolCallId,
          succeeded: false,
          error: { message: "The turn ended before the tool did.", code: "unfinished" },
        });
      }
    }
    this.#tools.clear();
    this.#ended.clear();
    return activities;
  }

  #root(event: SessionEvent): SessionActivity[] {
    switch (event.type) {
      case "assistant.turn_start":
        return [...this.#closeTexts(), { kind: "agent.started", agentTurnId: event.data.turnId }];
      case "assistant.turn_end":
        return [...this.#closeTexts(), { kind: "agent.ended", agentTurnId: event.data.turnId }];
      case "assistant.reasoning_delta":
        return this.#reasoningDelta(event.data.reasoningId, event.data.deltaContent);
      case "assistant.reasoning":
        return this.#wholeReasoning(event.data.reasoningId, event.data.content);
      case "assistant.message_start":
        return this.#startMessage(event.data.messageId);
      case "assistant.message_delta":
        return this.#messageDelta(event.data.messageId, event.data.deltaContent);
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

  #reasoningDelta(reasoningId: string, text: string): SessionActivity[] {
    if (this.#ended.has(reasoningId)) return [];
    let activities: readonly SessionActivity[] = [];
    if (this.#reasoning?.id !== reasoningId) {
      // A new id while another is open: the runtime asks the model again.
      activities = [...this.#closeTexts(), { kind: "reasoning.started", reasoningId }];
      this.#reasoning = { id: reasoningId, text: "" };
    }
    this.#reasoning.text += text;
    return [...activities, { kind: "reasoning.delta", reasoningId, text }];
  }

  /** Comes after the message; news only when nothing was streamed. */
  #wholeReasoning(reasoningId: string, text: string): SessionActivity[] {
    if (this.#reasoning?.id === reasoningId) return this.#closeReasoning();
    if (this.#ended.has(reasoningId)) return [];
    this.#ended.add(reasoningId);
    return [
      { kind: "reasoning.started", reasoningId },
      { kind: "reasoning.ended", reasoningId, text },
    ];
  }

  #startMessage(messageId: string): SessionActivity[] {
    if (this.#message?.id === messageId || this.#ended.has(messageId)) return [];
    const activities = this.#closeTexts();
    this.#message = { id: messageId, text: "" };
    activities.push({ kind: "message.started", messageId });
    return activities;
  }

  #messageDelta(messageId: string, text: string): SessionActivity[] {
    if (this.#ended.has(messageId)) return [];
    const activities = this.#startMessage(messageId);
    if (this.#message !== undefined) this.#message.text += text;
    activities.push({ kind: "message.delta", messageId, text });
    return activities;
  }

  #wholeMessage(event: Extract<SessionEvent, { type: "assistant.message" }>): SessionActivity[] {
    const { messageId, content } = event.data;
    if (this.#ended.has(messageId)) return [];
    const before = this.#closeReasoning();
    // An answer that is only tool calls has no message to tell of.
    if (content === "" && this.#message?.id !== messageId) return before;
    const started = this.#startMessage(messageId);
    if (this.#message !== undefined) this.#message.text = content;
    return [...before, ...started, ...this.#closeMessage()];
  }

  #toolStarted(event: Extract<SessionEvent, { type: "tool.execution_start" }>): SessionActivity[] {
    const { toolCallId, parentToolCallId, toolName } = event.data;
    const tool = this.#tools.get(toolCallId) ?? { open: 0, length: 0, end: "" };
    this.#tools.set(toolCallId, { ...tool, open: tool.open + 1 });
    return [
      ...this.#closeTexts(),
      {
        kind: "tool.started",
        toolCallId,
        ...defined({ parentToolCallId }),
        toolName,
        arguments: event.data.arguments ?? {},
      },
    ];
  }

  /** The output is cumulative; we tell what is new. */
  #toolOutput(toolCallId: string, output: string): SessionActivity[] {
    const tool = this.#tools.get(toolCallId);
    if (tool === undefined) return [];
    const { length, end } = tool;
    const goesOn = output.length >= length && output.slice(length - end.length, length) === end;
    const text = goesOn ? output.slice(length) : output;
    if (text === "") return [];
    tool.length = output.length;
    tool.end = output.slice(-COMPARED);
    return [{ kind: "tool.delta", toolCallId, text }];
  }

  #toolEnded(event: Extract<SessionEvent, { type: "tool.execution_complete" }>): SessionActivity[] {
    const { toolCallId, success, result, error, shellExecution } = event.data;
    const exitCode = shellExecution?.exitCode ?? 0;
    const tool = this.#tools.get(toolCallId);
    if (tool === undefined) return [];
    tool.open -= 1;
    if (tool.open === 0) this.#tools.delete(toolCallId);
    return [
      {
        kind: "tool.ended",
        toolCallId,
        succeeded: success,
        ...(result === undefined
          ? {}
          : {
              result: {
                content: result.content,
                ...defined({ detailedContent: result.detailedContent }),
              },
            }),
        ...(exitCode > 0 ? { exitCode } : {}),
        ...(error === undefined ? {} : { error: toolError(error) }),
      },
    ];
  }

  #closeTexts(): SessionActivity[] {
    return [...this.#closeReasoning(), ...this.#closeMessage()];
  }

  #closeReasoning(): SessionActivity[] {
    const open = this.#reasoning;
    if (open === undefined) return [];
    this.#reasoning = undefined;
    this.#ended.add(open.id);
    return [{ kind: "reasoning.ended", reasoningId: open.id, text: open.text }];
  }

  #closeMessage(): SessionActivity[] {
    const open = this.#message;
    if (open === undefined) return [];
    this.#message = undefined;
    this.#ended.add(open.id);
    return [{ kind: "message.ended", messageId: open.id, text: open.text }];
  }
}

function unfinished(text: string): string {
  if (text.length <= UNFINISHED) return text;
  const beginning = beginningOf(text, UNFINISHED);
  return `${beginning}… [${text.length - beginning.length} more characters]`;
}

/** A model server may report anything: null, NaN or a negative number counts as 0. A journal accepts only finite numbers. */
function counted(reported: number | undefined): number {
  return reported !== undefined && reported > 0 ? Math.min(reported, Number.MAX_SAFE_INTEGER) : 0;
}

/** A rehearsal accepts only whole numbers of tokens. */
function tokens(reported: number | undefined): number {
  return Math.round(counted(reported));
}

function subAgentTool(
  event: Extract<SessionEvent, { type: "tool.execution_complete" }>,
): SessionActivity[] {
  const { toolCallId, success, error } = event.data;
  if (success) return [];
  return [
    {
      kind: "sub-agent.tool.failed",
      toolCallId,
      error: toolError(error ?? { message: "" }),
    },
  ];
}

function toolError({ message, code }: { message: string; code?: string }): ToolError {
  return { message, ...defined({ code }) };
}

function modelReplied(
  event: Extract<SessionEvent, { type: "assistant.message" }>,
  subAgent: boolean,
): SessionActivity {
  const { content, reasoningText, toolRequests } = event.data;
  return {
    kind: "model.replied",
    text: content,
    ...defined({ reasoning: reasoningText }),
    toolCalls: (toolRequests ?? []).map((call) => ({
      id: call.toolCallId,
      name: call.name,
      arguments: call.arguments ?? {},
    })),
    subAgent,
  };
}

function modelFailed(
  event: Extract<SessionEvent, { type: "model.call_failure" }>,
  subAgent: boolean,
): SessionActivity {
  const { model, errorMessage } = event.data;
  const message = errorMessage === undefined ? undefined : failureWords(errorMessage);
  const statusCode = statusOf(event.data.statusCode);
  return {
    kind: "model.failed",
    ...defined({ modelId: model, statusCode, message }),
    subAgent,
  };
}

function modelUsed(
  event: Extract<SessionEvent, { type: "assistant.usage" }>,
  subAgent: boolean,
): SessionActivity {
  const { data } = event;
  const finish = finishOf(event);
  return {
    kind: "model.used",
    modelId: data.model,
    inputTokens: tokens(data.inputTokens),
    outputTokens: tokens(data.outputTokens),
    cacheReadTokens: tokens(data.cacheReadTokens),
    reasoningTokens: tokens(data.reasoningTokens),
    cost: counted(data.cost),
    durationMs: counted(data.duration),
    ...defined({ finish }),
    subAgent,
  };
}
