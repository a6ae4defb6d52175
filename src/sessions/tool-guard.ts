/**
 * What a tool handler in our process may do to a turn: nothing. The runtime waits for ever for one that
 * does not return, hides a thrown text from the model, and takes a result of any size (docs/runtime-notes.md#tool-handlers).
 */
import type { Tool, ToolHandler, ToolResultObject } from "@github/copilot-sdk";
import type { Clock } from "../events/clock.ts";
import { beginningOf } from "../events/cut.ts";
import { within } from "../runtime/deadline.ts";
import { errorMessage } from "../platform/system-error.ts";
import { isRecord } from "../document/guards.ts";

const handlerMs = 60_000;
/** More than a model can make use of; the runtime keeps a result in the conversation. */
const resultCharacters = 200_000;

/** The same tool, whose handler always answers in time, with a text of bounded size. */
export function guarded(tool: Tool, clock: Clock): Tool {
  const { name, handler } = tool;
  if (handler === undefined) return tool;
  const guard: ToolHandler = async (given, invocation) => {
    try {
      const running = Promise.resolve(handler(given, invocation));
      const answered = await within(running, handlerMs, clock);
      if (answered !== undefined) return bounded(answered.value);
      return failure(`${name} did not answer within ${handlerMs / 1000} s.`);
    } catch (error) {
      return failure(`${name} failed: ${errorMessage(error)}`);
    }
  };
  return { ...tool, handler: guard };
}

function failure(text: string): ToolResultObject {
  return { resultType: "failure", textResultForLlm: cut(text) };
}

function bounded(result: unknown): unknown {
  if (typeof result === "string") return cut(result);
  if (!hasText(result)) return result;
  return { ...result, textResultForLlm: cut(result.textResultForLlm) };
}

function hasText(result: unknown): result is { readonly textResultForLlm: string } {
  return isRecord(result) && typeof result["textResultForLlm"] === "string";
}

function cut(text: string): string {
  if (text.length <= resultCharacters) return text;
  return `${beginningOf(text, resultCharacters)}\n… cut: ${text.length} characters in all.`;
}
