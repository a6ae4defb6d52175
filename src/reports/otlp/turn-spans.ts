/** A turn, with its model calls and tool calls. */
import { truncate } from "../../text/truncate.ts";
import { SpanKind, type Attributes } from "@opentelemetry/api";
import type { TurnEnded, TurnStarted } from "../../events/event.ts";
import {
  UNKNOWN_TOOL,
  type ModelReplied,
  type ModelUsed,
  type SessionActivity,
  type ToolEnded,
} from "../../events/session-activity.ts";
import { contentOf, shortened, type Span, type SpanEnd, type TracedRun } from "./span.ts";
import { callPlace } from "./settings.ts";

const MAX_NAME = 100;

export class TurnSpans {
  readonly #run: TracedRun;
  readonly #span: Span;
  readonly #turn: TurnStarted;
  readonly #tools = new Map<string, Span>();
  /** A model call whose answer may follow. */
  #call: { readonly span: Span; readonly used: ModelUsed } | undefined;
  /** The time since which the model has been asked for an answer that isn't there yet. */
  #asked: number | undefined;
  /** Messages that the next model call gets in addition, in the form of `gen_ai.input.messages`. */
  #input: object[];

  constructor(run: TracedRun, span: Span, turn: TurnStarted) {
    this.#run = run;
    this.#span = span;
    this.#turn = turn;
    this.#input = [{ role: "user", parts: [textPart(turn.prompt)] }];
  }

  apply(activity: SessionActivity, at: number): void {
    switch (activity.kind) {
      case "agent.started":
        this.#asked = at;
        return;
      case "model.used":
        if (!activity.subAgent) this.#asked = undefined;
        return this.#startCall(activity, at);
      case "model.replied":
        if (this.#call?.used.subAgent === activity.subAgent) this.#endCall(activity);
        return;
      case "model.failed": {
        this.#endCall();
        const { modelId, statusCode, message, subAgent, durationMs = 0 } = activity;
        const call = this.#ofCall(modelId, subAgent);
        const error = String(statusCode ?? "_OTHER");
        // The runtime may ask again.
        if (this.#asked !== undefined && !subAgent) this.#asked = at;
        this.#measureDuration(durationMs, { ...call, "error.type": error });
        return this.#openChat(call, at - durationMs).end(at, { error, reason: message });
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

  end(outcome: TurnEnded["outcome"], at: number): void {
    this.#endCall();
    const attributes = { "agent_jobs.outcome": outcome };
    const end: SpanEnd = { attributes, error: outcome === "crashed" ? outcome : undefined };
    if (this.#asked !== undefined && outcome !== "completed")
      this.#openChat(this.#ofCall(), this.#asked).end(at, end);
    this.#span.endAll(at, end);
  }

  #openChat(attributes: Attributes, startedAt: number, endsAt?: number): Span {
    return this.#span.open({
      name: `chat ${String(attributes["gen_ai.request.model"])}`,
      startedAt: Math.max(this.#span.startedAt, startedAt),
      endsAt,
      kind: SpanKind.CLIENT,
      attributes: { ...attributes, "gen_ai.conversation.id": this.#turn.sessionId },
    });
  }

  /** A sub-agent has a model of its own. */
  #ofCall(model = this.#turn.modelId, subAgent = false): Attributes {
    const { provider, server } = this.#run.options;
    return {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": provider,
      "gen_ai.request.model": subAgent ? model : this.#turn.modelId,
      ...(server && {
        "server.address": server.hostname.replace(/^\[|\]$/g, ""),
        "server.port": Number(server.port || (server.protocol === "http:" ? 80 : 443)),
      }),
      ...(subAgent && { "agent_jobs.sub_agent": true }),
    };
  }

  #startCall(used: ModelUsed, at: number): void {
    this.#endCall();
    const { modelId, inputTokens, outputTokens, cost, firstTokenMs, responseId, subAgent } = used;
    const call = { ...this.#ofCall(modelId, subAgent), "gen_ai.response.model": modelId };
    const span = this.#openChat(call, at - used.durationMs, at);
    this.#call = { span, used };
    // The messages are only those that this call adds: the whole conversation would be in every span.
    const isNew = !subAgent && this.#input.length > 0;
    span.set({
      ...usageOf(used),
      "gen_ai.response.id": responseId && truncate(responseId, MAX_NAME, "…"),
      "gen_ai.response.time_to_first_chunk": firstTokenMs && firstTokenMs / 1000,
      ...(this.#run.options.content &&
        isNew && { "gen_ai.input.messages": JSON.stringify(this.#input.splice(0)) }),
    });
    const { measure } = this.#run.sdk;
    for (const [type, tokens] of Object.entries({ input: inputTokens, output: outputTokens }))
      measure("gen_ai.client.token.usage", tokens, { ...call, "gen_ai.token.type": type });
    this.#measureDuration(used.durationMs, {
      ...call,
      ...(used.finish === "error" && { "error.type": used.finish }),
    });
    if (firstTokenMs !== undefined)
      measure("gen_ai.client.operation.time_to_first_chunk", firstTokenMs / 1000, call);
    if (cost !== undefined && cost > 0) measure("agent_jobs.usage.cost", cost, call);
  }

  #measureDuration(durationMs: number, call: Attributes): void {
    this.#run.sdk.measure("gen_ai.client.operation.duration", durationMs / 1000, call);
  }

  #endCall(reply?: ModelReplied): void {
    if (this.#call === undefined) return;
    const { span, used } = this.#call;
    this.#call = undefined;
    const finish = used.finish ?? (reply && (reply.toolCalls.length > 0 ? "tool_call" : "stop"));
    if (finish !== undefined) span.set({ "gen_ai.response.finish_reasons": [finish] });
    if (this.#run.options.content && !used.subAgent && reply !== undefined)
      span.set({ "gen_ai.output.messages": JSON.stringify([answerOf(reply, finish)]) });
    span.end(0, { error: finish === "error" ? finish : undefined });
  }

  #openTool(id: string, called: string, at: number, parent = this.#span, args?: unknown): Span {
    // The model may call what doesn't exist.
    const name = truncate(called, MAX_NAME, "…");
    const place = callPlace(this.#turn.sessionId, id);
    const { calls } = this.#run;
    const span = parent.open({
      place: calls.has(place) ? undefined : place,
      name: `execute_tool ${name}`,
      startedAt: at,
      attributes: {
        ...toolAttributes(name),
        "gen_ai.tool.call.id": id,
        ...contentOf(this.#run, { "gen_ai.tool.call.arguments": JSON.stringify(args) }),
      },
    });
    calls.add(place);
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
    const part = { type: "tool_call_response", id: toolCallId, response: shortened(response) };
    if (this.#run.options.content) this.#input.push({ role: "tool", parts: [part] });
    const isError = !succeeded && stopped !== true;
    span.end(at, {
      attributes: {
        "process.exit.code": exitCode,
        ...contentOf(this.#run, { "gen_ai.tool.call.result": response }),
      },
      ...(isError && { error: error?.code ?? "_OTHER", reason: error?.message }),
    });
  }
}

/** Returns the usage of a model call as attributes of spans. */
export function usageOf(used: ModelUsed): Readonly<Record<string, number>> {
  return {
    "gen_ai.usage.input_tokens": used.inputTokens,
    "gen_ai.usage.output_tokens": used.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": used.cacheReadTokens,
    "gen_ai.usage.reasoning.output_tokens": used.reasoningTokens,
    ...(used.cost !== undefined && { "agent_jobs.usage.cost": used.cost }),
  };
}

function answerOf({ text, toolCalls }: ModelReplied, finish = ""): object {
  const calls = toolCalls.map(({ id, name, arguments: args }) => {
    const json = JSON.stringify(args) ?? "";
    const short = shortened(json);
    return { type: "tool_call", name, arguments: short === json ? args : short, id };
  });
  const parts = [...(text === "" ? [] : [textPart(text)]), ...calls];
  return { role: "assistant", parts, finish_reason: finish };
}

function textPart(text: string): object {
  return { type: "text", content: shortened(text) };
}

export function toolAttributes(name: string): Attributes {
  return {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    "gen_ai.tool.type": "function",
  };
}
