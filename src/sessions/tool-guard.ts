/**
 * What a tool handler in our process may do to a turn: nothing. The runtime waits for ever for one that
 * does not return, hides a thrown text from the model, and takes a result of any size (docs/internals/runtime-notes.md#tool-handlers).
 */
import type { Tool, ToolHandler, ToolInvocation, ToolResultObject } from "@github/copilot-sdk";
import type { Clock } from "../platform/clock.ts";
import { beginningOf, wholeCharacters } from "../events/cut.ts";
import { within } from "../platform/waiting.ts";
import { errorMessage } from "../platform/system-error.ts";
import { isRecord } from "../document/guards.ts";

const handlerSeconds = 60;
/** More than a model can make use of; the runtime keeps a result in the conversation. */
const resultCharacters = 200_000;

export interface OwnTool extends Omit<Tool, "handler"> {
  /** `signal` aborts at the end of the time limit, and with the turn. */
  readonly handler?: (given: unknown, invocation: ToolInvocation, signal: AbortSignal) => unknown;
  /** Default: 60. `Infinity`: the handler itself sees to it. */
  readonly timeoutSeconds?: number;
}

export function guarded(
  { handler, timeoutSeconds = handlerSeconds, ...tool }: OwnTool,
  clock: Clock,
  calls?: OwnCalls,
): Tool {
  if (handler === undefined) return tool;
  const { name } = tool;
  const guard: ToolHandler = async (given, invocation) => {
    const call = new AbortController();
    const { signal } = call;
    calls?.add(call);
    try {
      const running = Promise.resolve(handler(given, invocation, signal));
      const answered = await within(running, timeoutSeconds * 1000, clock, signal);
      if (answered !== undefined) return bounded(answered.value);
      return failure(
        signal.aborted
          ? `${name} was stopped with the turn.`
          : `${name} did not answer within ${timeoutSeconds} s.`,
      );
    } catch (error) {
      return failure(`${name} failed: ${errorMessage(error)}`);
    } finally {
      calls?.delete(call);
      call.abort("ended");
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

export function hasText(result: unknown): result is { readonly textResultForLlm: string } {
  return isRecord(result) && typeof result["textResultForLlm"] === "string";
}

function cut(answer: string): string {
  const text = wholeCharacters(answer);
  if (text.length <= resultCharacters) return text;
  return `${beginningOf(text, resultCharacters)}\n… cut, ${text.length} characters in total.`;
}

type Listener = (toolCallId: string, text: string) => void;

/** The tool calls of one session that run in this process: they end with its turn, and their progress is shown in it. */
export class OwnCalls {
  readonly #running = new Set<AbortController>();
  readonly #listeners = new Set<Listener>();

  add(call: AbortController): void {
    this.#running.add(call);
  }

  delete(call: AbortController): void {
    this.#running.delete(call);
  }

  abort(): void {
    for (const call of this.#running) call.abort("stopped");
  }

  tell(toolCallId: string, text: string): void {
    for (const listener of this.#listeners) listener(toolCallId, text);
  }

  follow(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
