/** Tools and system prompts of a front-end, in the form of the SDK. */
import type {
  CopilotSession,
  SessionConfig,
  Tool,
  ToolHandler,
  ToolResultObject,
} from "@github/copilot-sdk";
import type { SessionRequest, SessionTool } from "../engine/ports.ts";
import { type OwnCalls, type OwnTool, hasText } from "./tool-guard.ts";
import { defined, isRecord } from "../document/guards.ts";
import { wholeCharacters } from "../events/cut.ts";

export function sdkTools(
  tools: readonly SessionTool[],
  calls: OwnCalls,
  refresh: () => Promise<void> = () => Promise.resolve(),
): OwnTool[] {
  return tools.map(({ name, description, parameters, allowed, timeoutSeconds, run }) => ({
    name,
    description: wholeCharacters(description),
    parameters: wholeValue(parameters),
    skipPermission: allowed === "always",
    defer: "never",
    ...defined({ timeoutSeconds }),
    handler: async (given, { toolCallId, sessionId }, signal): Promise<ToolResultObject> => {
      const { succeeded, text } = await run(given, {
        toolCallId,
        sessionId,
        signal,
        onProgress: (shown) => {
          if (!signal.aborted) calls.tell(toolCallId, shown);
        },
      });
      // The next answer already chooses from what the call has changed.
      await refresh();
      return { resultType: succeeded ? "success" : "failure", textResultForLlm: text };
    },
  }));
}

/**
 * The tools of a front-end that may change while the session lives. The SDK has handlers only for those that a session
 * begins with: these here are declared to it without one, and called by the event (docs/internals/runtime-notes.md#changed-tools).
 */
export class LiveTools {
  readonly #changed: SessionRequest["changedTools"];
  readonly #configured: (tools: readonly SessionTool[]) => readonly Tool[];
  readonly #handlers = new Map<string, ToolHandler>();
  #session: CopilotSession | undefined;
  #refreshing = Promise.resolve();

  /** `configured`: all tools of the session, with these. */
  constructor(
    changed: SessionRequest["changedTools"],
    configured: (tools: readonly SessionTool[]) => readonly Tool[],
  ) {
    this.#changed = changed;
    this.#configured = configured;
  }

  declared(tools: readonly SessionTool[]): Tool[] {
    const fixed = new Set(this.#configured([]).map(({ name }) => name));
    return this.#configured(tools).map((tool) => {
      const { handler, ...declaration } = tool;
      if (handler === undefined || fixed.has(tool.name)) return tool;
      this.#handlers.set(tool.name, handler);
      return declaration;
    });
  }

  attach(session: CopilotSession): void {
    this.#session = session;
    const { rpc, sessionId } = session;
    const answer = async (requestId: string, answering: unknown): Promise<void> => {
      const result = await answering;
      if (hasText(result)) await rpc.tools.handlePendingToolCall({ requestId, result });
    };
    session.on("external_tool.requested", ({ data }) => {
      const { requestId, toolCallId, toolName, arguments: given } = data;
      const call = { sessionId, toolCallId, toolName, arguments: given };
      // It always answers (tool-guard.ts), unless the session has ended.
      const answering = this.#handlers.get(toolName)?.(given, call);
      void answer(requestId, answering).catch(() => undefined);
    });
  }

  refresh(): Promise<void> {
    this.#refreshing = this.#refreshing.then(() => this.#refresh()).catch(() => undefined);
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const tools = await this.#changed?.();
    if (tools === undefined) return;
    const declared = this.declared(tools).map((tool) => {
      const { name, description = "", parameters, skipPermission = false, defer = "auto" } = tool;
      return { name, description, parameters: { ...parameters }, skipPermission, defer };
    });
    await this.#session?.rpc.tools.set({ tools: declared });
  }
}

/** Without halves of characters in its texts: the runtime ignores a message that has one. */
function wholeValue(parameters: SessionTool["parameters"]): SessionTool["parameters"] {
  const json = JSON.stringify(parameters);
  if (!/\\ud[89a-f]/i.test(json)) return parameters;
  const whole: unknown = JSON.parse(json, (_, value: unknown) =>
    typeof value === "string" ? wholeCharacters(value) : value,
  );
  return isRecord(whole) ? whole : parameters;
}

export function systemMessage({
  systemPrompt,
}: Pick<SessionRequest, "systemPrompt">): Pick<SessionConfig, "systemMessage"> {
  if (systemPrompt === undefined) return {};
  const { mode, text } = systemPrompt;
  return { systemMessage: { mode, content: wholeCharacters(text) } };
}
