/** The responses of a session, kept in their order until somebody takes them (`copilot/session/…/live`). */
import type { ICopilotSessionCallbacks } from "../sessions/callbacks.ts";

type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** One JSON object of a live feed, such as `{ callback: "onReasoning", reasoningId, delta }`. */
export type LiveResponse = { readonly [key: string]: Json | undefined };

export class LiveResponses {
  readonly #waiting: LiveResponse[] = [];
  #taker: ((response: LiveResponse | undefined) => void) | undefined;
  #closed = false;

  push(response: LiveResponse): void {
    if (this.#closed) return;
    const taker = this.#taker;
    if (taker === undefined) this.#waiting.push(response);
    else {
      this.#taker = undefined;
      taker(response);
    }
  }

  /** What is kept can still be taken; nothing more comes. */
  close(): void {
    this.#closed = true;
    this.#taker?.(undefined);
    this.#taker = undefined;
  }

  /** The next one; undefined when none came within `milliseconds`, or none can come any more. */
  take(milliseconds: number): Promise<LiveResponse | undefined> {
    if (this.#taker !== undefined) throw new Error("Somebody waits for the next response already.");
    const next = this.#waiting.shift();
    if (next !== undefined || this.#closed) return Promise.resolve(next);
    return new Promise((resolve) => {
      const timer = setTimeout(
        () => {
          this.#taker = undefined;
          resolve(undefined);
          // A longer timer would fire at once.
        },
        Math.min(milliseconds, 2_147_483_647),
      );
      this.#taker = (response) => {
        clearTimeout(timer);
        resolve(response);
      };
    });
  }

  /** Callbacks that push what they are told. */
  callbacks(): ICopilotSessionCallbacks {
    const push = (callback: string, fields: LiveResponse = {}): void =>
      this.push({ callback, ...fields });
    return {
      onStartReasoning: (reasoningId) => push("onStartReasoning", { reasoningId }),
      onReasoning: (reasoningId, delta) => push("onReasoning", { reasoningId, delta }),
      onEndReasoning: (reasoningId, completeContent) =>
        push("onEndReasoning", { reasoningId, completeContent }),
      onStartMessage: (messageId) => push("onStartMessage", { messageId }),
      onMessage: (messageId, delta) => push("onMessage", { messageId, delta }),
      onEndMessage: (messageId, completeContent) =>
        push("onEndMessage", { messageId, completeContent }),
      onStartToolExecution: (toolCallId, parentToolCallId, toolName, toolArguments) =>
        push("onStartToolExecution", { toolCallId, parentToolCallId, toolName, toolArguments }),
      onToolExecution: (toolCallId, delta) => push("onToolExecution", { toolCallId, delta }),
      onEndToolExecution: (toolCallId, result, error) =>
        push("onEndToolExecution", { toolCallId, result, error }),
      onAgentStart: (turnId) => push("onAgentStart", { turnId }),
      onAgentEnd: (turnId) => push("onAgentEnd", { turnId }),
      onIdle: () => push("onIdle"),
    };
  }
}
