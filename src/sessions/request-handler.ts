/** Hands every model request of the runtime to a `ModelTransport`. The SDK marks this seam experimental: it stays here. */
import { CopilotRequestHandler } from "@github/copilot-sdk";
import type { CopilotRequestContext } from "@github/copilot-sdk";
import type { SessionLabel } from "../engine/ports.ts";
import type { ModelTransport } from "./transport.ts";

export interface TransportContext {
  readonly label: (sessionId: string) => SessionLabel | undefined;
  readonly killRuntime: () => void;
}

export class TransportRequestHandler extends CopilotRequestHandler {
  readonly #transport: ModelTransport;
  readonly #context: TransportContext;

  constructor(transport: ModelTransport, context: TransportContext) {
    super();
    this.#transport = transport;
    this.#context = context;
  }

  protected override async sendRequest(
    request: Request,
    context: CopilotRequestContext,
  ): Promise<Response> {
    const sessionId = context.sessionId ?? "";
    return this.#transport.send({
      sessionId,
      label: this.#context.label(sessionId),
      // The root conversation has no parent, and its agent id is the session's.
      subAgent:
        context.parentAgentId !== undefined ||
        (context.agentId !== undefined && context.agentId !== sessionId),
      url: request.url,
      method: request.method,
      headers: Object.fromEntries(request.headers),
      body: await request.text(),
      signal: context.signal,
      killRuntime: this.#context.killRuntime,
    });
  }

  protected override openWebSocket(): Promise<never> {
    return Promise.reject(new Error("Model requests over WebSocket are not supported here."));
  }
}

/** For a caller's own transport. */
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
