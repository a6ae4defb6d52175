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
import {
  contentOf,
  shortened,
  type Measured,
  type Span,
  type SpanEnd,
  type TracedRun,
} from "./span.ts";
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
      measured: { duration: "gen_ai.client.inference.duration", counts: {}, attributes },
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
    const { modelId, cost, firstTokenMs, responseId, subAgent } = used;
    const call = { ...this.#ofCall(modelId, subAgent), "gen_ai.response.model": modelId };
    const span = this.#openChat(call, at - used.durationMs, at);
    this.#call = { span, used };
    // The messages are only those that this call adds: the whole conversation would be in every span.
    const isNew = !subAgent && this.#input.length > 0;
    span.set({
      ...tokensOf(used),
      ...partsOf(used),
      ...costOf(used),
      "gen_ai.response.id": responseId && truncate(responseId, MAX_NAME, "…"),
      "gen_ai.response.time_to_first_chunk": firstTokenMs && firstTokenMs / 1000,
      ...(this.#run.options.content &&
        isNew && { "gen_ai.input.messages": JSON.stringify(this.#input.splice(0)) }),
    });
    const { measure } = this.#run.sdk;
    for (const [name, tokens] of Object.entries({ ...tokensOf(used), ...partsOf(used) }))
      measure(`gen_ai.client.inference.${name.replace("gen_ai.", "")}`, tokens, {
        ...call,
        // The runtime doesn't say how many of them are text.
        "gen_ai.token.modality": "unknown",
      });
    for (const [name, tokens] of Object.entries(tokensOf(used)))
      measure(`gen_ai.client.inference.${name.replace("gen_ai.usage", "operation")}`, tokens, call);
    if (firstTokenMs !== undefined)
      measure("gen_ai.client.inference.time_to_first_chunk", firstTokenMs / 1000, call);
    if (cost !== undefined && cost > 0) measure("agent_jobs.usage.cost", cost, call);
  }

  #endCall(reply?: ModelReplied): void {
    if (this.#call === undefined) return;
    const { span, used } = this.#call;
    this.#call = undefined;
    const finish = used.finish ?? (reply && (reply.toolCalls.length > 0 ? "tool_call" : "stop"));
    if (finish !== undefined) span.set({ "gen_ai.response.finish_reasons": [finish] });
    if (this.#run.options.content && !used.subAgent && reply !== undefined)
      span.set({ "gen_ai.output.messages": JSON.stringify([answerOf(reply)]) });
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
      measured: toolDuration(name, this.#turn.work.taskId),
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

type Usage = Readonly<Record<string, number>>;

/** The usage that spans of agents and runs add up. */
export function usageOf(used: ModelUsed): Usage {
  return { "agent_jobs.model_calls": 1, ...tokensOf(used), ...costOf(used) };
}

function tokensOf({ inputTokens, outputTokens }: ModelUsed): Usage {
  return { "gen_ai.usage.input_tokens": inputTokens, "gen_ai.usage.output_tokens": outputTokens };
}

/** Parts of the tokens. */
function partsOf({ cacheReadTokens, reasoningTokens }: ModelUsed): Usage {
  return {
    "gen_ai.usage.cache_read.input_tokens": cacheReadTokens,
    "gen_ai.usage.reasoning.output_tokens": reasoningTokens,
  };
}

function costOf({ cost }: ModelUsed): Usage {
  return cost === undefined ? {} : { "agent_jobs.usage.cost": cost };
}

function answerOf({ text, toolCalls }: ModelReplied): object {
  const calls = toolCalls.map(({ id, name, arguments: args }) => {
    const json = JSON.stringify(args) ?? "";
    const short = shortened(json);
    return { type: "tool_call", name, arguments: short === json ? args : short, id };
  });
  const parts = [...(text === "" ? [] : [textPart(text)]), ...calls];
  return { role: "assistant", parts };
}

function textPart(text: string): object {
  return { type: "text", content: shortened(text) };
}

export function toolAttributes(name: string): Attributes {
  return { "gen_ai.operation.name": "execute_tool", ...namesOf(name) };
}

export function toolDuration(name: string, agent: string): Measured {
  const attributes = { ...namesOf(name), "gen_ai.agent.name": agent };
  return { duration: "gen_ai.execute_tool.duration", counts: {}, attributes };
}

function namesOf(tool: string): Attributes {
  return { "gen_ai.tool.name": tool, "gen_ai.tool.type": "function" };
}
