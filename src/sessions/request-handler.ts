/** Every model request of a runtime, in this process. The SDK marks this seam experimental: it stays here. */
import { CopilotRequestHandler, type CopilotRequestContext } from "@github/copilot-sdk";
import type { AnswerFormat, PastMessage, SessionLabel, TurnOptions } from "../engine/ports.ts";
import { defined } from "../document/guards.ts";
import type { Environment } from "../platform/environment.ts";
import { type WireRequest, isRefusal, withAnswerFormat, withHistory } from "./request-bodies.ts";
import { forward } from "./forward.ts";
import { untilItsEnd } from "./response-end.ts";
import type { ModelTransport } from "./transport.ts";

export interface Conversation {
  /** Answers its requests instead of that of the runtime, which sessions of others share. */
  readonly transport?: ModelTransport | undefined;
  readonly history: readonly PastMessage[];
  readonly label: SessionLabel | undefined;
  toolNames?: ReadonlyMap<string, string>;
  turn?: Pick<TurnOptions, "activity" | "answerFormat"> | undefined;
  /** A sentence, once a request was not sent because it can't carry the history. */
  refusal?: string;
}

interface RequestContext {
  readonly transport: ModelTransport | undefined;
  readonly environment: Environment;
  readonly conversation: (sessionId: string) => Conversation | undefined;
  readonly killRuntime: () => void;
  readonly withoutFormats: Set<string>;
}

export class RequestHandler extends CopilotRequestHandler {
  readonly #context: RequestContext;

  constructor(context: RequestContext) {
    super();
    this.#context = context;
  }

  protected override async sendRequest(
    request: Request,
    context: CopilotRequestContext,
  ): Promise<Response> {
    const { killRuntime } = this.#context;
    const sessionId = context.sessionId ?? "";
    const conversation = this.#context.conversation(sessionId);
    const transport = conversation?.transport ?? this.#context.transport;
    const label = conversation?.label;
    // The root conversation has no parent, and its agent id is the session's.
    const subAgent =
      context.parentAgentId !== undefined ||
      (context.agentId !== undefined && context.agentId !== sessionId);
    const { url, method, headers } = request;
    const given = { url, method, body: await request.text() };
    const history = subAgent ? [] : (conversation?.history ?? []);
    const sent = withHistory(given, history);
    if (typeof sent === "string") {
      if (conversation !== undefined) conversation.refusal = sent;
      // The runtime doesn't repeat such a request.
      return Response.json({ error: { message: sent } }, { status: 400 });
    }
    const { body, added } = sent;
    const send = (written: string): Promise<Response> => {
      if (transport === undefined) {
        const { environment } = this.#context;
        return forward({ ...given, headers, body: written }, environment, context.signal);
      }
      return transport.send({
        sessionId,
        label: label && { ...label, ...defined({ activity: conversation?.turn?.activity }) },
        subAgent,
        ...given,
        headers: Object.fromEntries(headers),
        body: written,
        history: added,
        ...defined({ toolNames: conversation?.toolNames }),
        signal: context.signal,
        killRuntime,
      });
    };
    const isAsked = !subAgent && transport?.scripted !== true;
    const format = isAsked ? conversation?.turn?.answerFormat : undefined;
    return untilItsEnd(url, await this.#sendFormatted({ ...given, body }, format, send));
  }

  async #sendFormatted(
    request: WireRequest,
    format: AnswerFormat | undefined,
    send: (body: string) => Promise<Response>,
  ): Promise<Response> {
    const { withoutFormats } = this.#context;
    const formatted = format && withAnswerFormat(request, format);
    if (formatted === undefined || withoutFormats.has(formatted.asked)) return send(request.body);
    const response = await send(formatted.body);
    if (!isRefusal(response.status)) return response;
    await response.body?.cancel();
    const second = await send(request.body);
    // Otherwise the format was not the reason.
    if (second.ok) withoutFormats.add(formatted.asked);
    return second;
  }

  protected override openWebSocket(): Promise<never> {
    return Promise.reject(new Error("Model requests over WebSocket are not supported here."));
  }
}

export const transportProvider = {
  type: "openai",
  baseUrl: "http://transport.invalid/v1",
  apiKey: "transport",
} as const;

/** Answers nothing and goes nowhere: with a custom transport the address is never looked up. */
export const rehearsalProvider = {
  type: "openai",
  baseUrl: "http://rehearsal.invalid/v1",
  apiKey: "rehearsal",
} as const;
