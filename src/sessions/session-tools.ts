/** Tools and system prompts of a front-end, in the form of the SDK. */
import type { SessionConfig, ToolResultObject } from "@github/copilot-sdk";
import type { SessionRequest, SessionTool } from "../engine/ports.ts";
import type { OwnCalls } from "./own-calls.ts";
import type { OwnTool } from "./tool-guard.ts";
import { isRecord } from "../document/guards.ts";
import { wholeCharacters } from "../events/cut.ts";

/** `calls`: those of their session. */
export function sdkTools(tools: readonly SessionTool[], calls: OwnCalls): OwnTool[] {
  return tools.map(({ name, description, parameters, allowed, timeoutSeconds, run }) => ({
    name,
    description: wholeCharacters(description),
    parameters: wholeValue(parameters),
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
