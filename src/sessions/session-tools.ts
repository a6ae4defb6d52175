/** Tools and system prompts of a front-end, in the form of the SDK. */
import type { SessionConfig, Tool, ToolResultObject } from "@github/copilot-sdk";
import type { SessionRequest, SessionTool } from "../engine/ports.ts";

export function sdkTools(tools: readonly SessionTool[]): Tool[] {
  return tools.map(({ name, description, parameters, allowed, run }) => ({
    name,
    description,
    parameters,
    skipPermission: allowed === "always",
    defer: "never",
    handler: async (given: unknown, { toolCallId, sessionId }): Promise<ToolResultObject> => {
      const { succeeded, text } = await run(given, {
        toolCallId,
        sessionId,
        signal: new AbortController().signal,
        onProgress: () => {},
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
