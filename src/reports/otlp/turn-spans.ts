/** The model calls and tool calls of one turn. */
import { defined } from "../../document/guards.ts";
import { clip } from "../../events/cut.ts";
import type { TurnStarted } from "../../events/event.ts";
import {
  UNKNOWN_TOOL,
  type ModelReplied,
  type ModelUsed,
  type SessionActivity,
  type ToolEnded,
} from "../../events/session-activity.ts";
import {
  shortened,
  shortenedValue,
  type Attributes,
  type Message,
  type OpenSpan,
  type SpanWriter,
} from "./span.ts";
import { callPlace } from "./trace-context.ts";

const MAX_NAME = 100;

interface Call {
  readonly used: ModelUsed;
  readonly at: number;
}

export class TurnSpans {
  readonly span: OpenSpan;
  readonly #writer: SpanWriter;
  readonly #modelId: string;
  readonly #sessionId: string;
  readonly #tools = new Map<string, OpenSpan>();
  /** A model call whose answer may follow. */
  #call: Call | undefined;
  /** What the next model call gets in addition. */
  #input: Message[];
  #children = 0;

  constructor(
    writer: SpanWriter,
    span: OpenSpan,
    { modelId, sessionId, prompt }: Pick<TurnStarted, "modelId" | "sessionId" | "prompt">,
  ) {
    this.#writer = writer;
    this.span = span;
    this.#modelId = modelId;
    this.#sessionId = sessionId;
    const parts = [{ type: "text", content: shortened(prompt) } as const];
    this.#input = [{ role: "user", parts }];
  }

  apply(activity: SessionActivity, at: number): void {
    switch (activity.kind) {
      case "model.used":
        this.#endCall();
        this.#call = { used: activity, at };
        return;
      case "model.replied":
        if (this.#call?.used.subAgent === activity.subAgent) this.#endCall(activity);
        return;
      case "model.failed": {
        this.#endCall();
        const { modelId = this.#modelId, statusCode, message, subAgent } = activity;
        const span = this.#openCall(this.#ofCall(modelId, subAgent), at);
        this.#writer.end(span, at, { error: String(statusCode ?? "_OTHER"), reason: message });
        return;
      }
      case "tool.started": {
        const { toolCallId, parentToolCallId = "", toolName } = activity;
        const parent = this.#tools.get(parentToolCallId);
        this.#openTool(toolCallId, toolName, at, parent, activity.arguments);
        return;
      }
      case "tool.ended":
        return this.#endTool(activity, at);
      default:
        return;
    }
  }

  /** Also of the tools that have no end. */
  end(at: number, outcome: string): void {
    this.#endCall();
    for (const span of [...this.#tools.values()].toReversed()) this.#writer.end(span, at);
    this.#tools.clear();
    const attributes = { "agent_jobs.outcome": outcome };
    this.#writer.end(this.span, at, {
      attributes,
      ...(outcome === "crashed" && { error: outcome }),
    });
  }

  get #content(): boolean {
    return this.#writer.options.content;
  }

  #nextPlace(): string {
    return `${this.span.place}/${(this.#children += 1)}`;
  }

  #openCall(attributes: Attributes, startedAt: number): OpenSpan {
    return this.#writer.open({
      place: this.#nextPlace(),
      parent: this.span,
      name: `chat ${String(attributes["gen_ai.request.model"])}`,
      startedAt: Math.max(this.span.startedAt, startedAt),
      kind: "client",
      attributes: { ...attributes, "gen_ai.conversation.id": this.#sessionId },
    });
  }

  /** A sub-agent has a model of its own. */
  #ofCall(model: string, subAgent: boolean): Attributes {
    return {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": this.#writer.options.provider,
      "gen_ai.request.model": subAgent ? model : this.#modelId,
      "gen_ai.response.model": model,
      ...(subAgent && { "agent_jobs.sub_agent": true }),
    };
  }

  #endCall(reply?: ModelReplied): void {
    if (this.#call === undefined) return;
    const { used, at } = this.#call;
    this.#call = undefined;
    const { modelId, inputTokens, outputTokens, cacheReadTokens, reasoningTokens, cost } = used;
    const call = this.#ofCall(modelId, used.subAgent);
    const span = this.#openCall(call, at - used.durationMs);
    const finish = used.finish ?? (reply && (reply.toolCalls.length > 0 ? "tool_call" : "stop"));
    this.#writer.end(span, at, {
      attributes: {
        "gen_ai.usage.input_tokens": inputTokens,
        "gen_ai.usage.output_tokens": outputTokens,
        "gen_ai.usage.cache_read.input_tokens": cacheReadTokens,
        "gen_ai.usage.reasoning.output_tokens": reasoningTokens,
        "agent_jobs.usage.cost": cost,
        ...(finish !== undefined && { "gen_ai.response.finish_reasons": [finish] }),
        ...(this.#content && !used.subAgent && this.#messages(reply, finish)),
      },
      ...(finish === "error" && { error: finish }),
    });
    for (const [type, tokens] of Object.entries({ input: inputTokens, output: outputTokens }))
      this.#writer.measure("gen_ai.client.token.usage", tokens, {
        ...call,
        "gen_ai.token.type": type,
      });
    this.#writer.measure("gen_ai.client.operation.duration", used.durationMs / 1000, {
      ...call,
      ...(finish === "error" && { "error.type": finish }),
    });
    if (cost > 0) this.#writer.measure("agent_jobs.usage.cost", cost, call);
  }

  /** Of the input only what this call adds: the whole conversation would be in every span. */
  #messages(reply: ModelReplied | undefined, finish = ""): Attributes {
    const input = this.#input;
    this.#input = [];
    const calls = (reply?.toolCalls ?? []).map(({ id, name, ...call }) => ({
      type: "tool_call" as const,
      name,
      arguments: shortenedValue(call.arguments),
      ...defined({ id }),
    }));
    const { text = "" } = reply ?? {};
    const parts = [
      ...(text === "" ? [] : [{ type: "text" as const, content: shortened(text) }]),
      ...calls,
    ];
    const output: Message = { role: "assistant", parts, finish_reason: finish };
    return {
      ...(input.length > 0 && { "gen_ai.input.messages": JSON.stringify(input) }),
      ...(reply !== undefined && { "gen_ai.output.messages": JSON.stringify([output]) }),
    };
  }

  #openTool(id: string, called: string, at: number, parent = this.span, given?: unknown): OpenSpan {
    // The model may call what doesn't exist.
    const name = clip(called, MAX_NAME);
    const place = callPlace(this.#sessionId, id);
    const span = this.#writer.open({
      place: this.#writer.take(place) ? place : this.#nextPlace(),
      parent,
      name: `execute_tool ${name}`,
      startedAt: at,
      attributes: {
        ...toolAttributes(name),
        "gen_ai.tool.call.id": id,
        ...this.#writer.content({ "gen_ai.tool.call.arguments": JSON.stringify(given) }),
      },
    });
    this.#tools.set(id, span);
    return span;
  }

  #endTool(
    { toolCallId, toolName = UNKNOWN_TOOL, succeeded, stopped, result, error, exitCode }: ToolEnded,
    at: number,
  ): void {
    const span = this.#tools.get(toolCallId) ?? this.#openTool(toolCallId, toolName, at);
    this.#tools.delete(toolCallId);
    const response = result?.content ?? error?.message ?? "";
    if (this.#content)
      this.#input.push({
        role: "tool",
        parts: [{ type: "tool_call_response", id: toolCallId, response: shortened(response) }],
      });
    this.#writer.end(span, at, {
      attributes: {
        "process.exit.code": exitCode,
        ...this.#writer.content({ "gen_ai.tool.call.result": response }),
      },
      ...(!succeeded &&
        stopped !== true && { error: error?.code ?? "_OTHER", reason: error?.message }),
    });
  }
}

export function toolAttributes(name: string): Attributes {
  return {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    "gen_ai.tool.type": "function",
  };
}
