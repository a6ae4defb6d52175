/** Tools and system prompts of a front-end, in the form of the SDK. */
import type { SessionConfig, ToolResultObject } from "@github/copilot-sdk";
import type { SessionRequest, SessionTool } from "../engine/ports.ts";
import type { OwnCalls } from "./own-calls.ts";
import type { OwnTool } from "./tool-guard.ts";

/** `calls`: those of their session. */
export function sdkTools(tools: readonly SessionTool[], calls: OwnCalls): OwnTool[] {
  return tools.map(({ name, description, parameters, allowed, timeoutSeconds, run }) => ({
    name,
    description,
    parameters,
    skipPermission: allowed === "always",
    defer: "never",
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    handler: async (given, { toolCallId, sessionId }, signal): Promise<ToolResultObject> => {
      const { succeeded, text } = await run(given, {
        toolCallId,
        sessionId,
        signal,
        onProgress: (shown) => {
          if (!signal.aborted) calls.tell(toolCallId, shown);
        },
      });
      return { resultType: succeeded ? "success" : "failure", textResultForLlm: text };
    },
  }));
}

export function systemMessage({
  systemPrompt,
}: Pick<SessionRequest, "systemPrompt">): Pick<SessionConfig, "systemMessage"> {
  if (systemPrompt === undefined) return {};
  const { mode, text } = systemPrompt;
  return { systemMessage: { mode, content: text } };
}
