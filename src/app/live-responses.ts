/** The responses of a session, kept in order until they are taken (`copilot/session/…/live`). */
import type { ICopilotSessionCallbacks } from "../sessions/callbacks.ts";

type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** One JSON object of a live feed, such as `{ callback: "onReasoning", reasoningId, delta }`. */
export type LiveResponse = { readonly [key: string]: Json | undefined };

/** How much a session keeps. Beyond it, the oldest responses are dropped. */
const KEPT_BYTES = 16 * 1024 * 1024;

interface Waiting {
  readonly response: LiveResponse;
  readonly bytes: number;
}

export class LiveResponses {
  /** From `#first` on: what is before it has been taken. */
  #waiting: Waiting[] = [];
  #first = 0;
  #bytes = 0;
  /** Since the last one that was taken. */
  #dropped = 0;
  #taker: ((response: LiveResponse | undefined) => void) | undefined;
  #closed = false;

  push(response: LiveResponse): void {
    if (this.#closed) return;
    const taker = this.#taker;
    if (taker !== undefined) {
      this.#taker = undefined;
      taker(response);
      return;
    }
    const bytes = Buffer.byteLength(JSON.stringify(response));
    this.#waiting.push({ response, bytes });
    this.#bytes += bytes;
    while (this.#bytes > KEPT_BYTES) {
      this.#shift();
      this.#dropped += 1;
    }
  }

  /** What is kept can still be taken; nothing more comes. */
  close(): void {
    this.#closed = true;
    this.#taker?.(undefined);
    this.#taker = undefined;
  }

  /**
   * The next one; undefined when none came within `milliseconds`, or none can come any more. Dropped
   * responses are replaced with `{ callback: "onResponsesDropped", count }`.
   */
  take(milliseconds: number): Promise<LiveResponse | undefined> {
    if (this.#taker !== undefined)
      throw new Error("Another caller is already waiting for the next response.");
    if (this.#dropped > 0) {
      const count = this.#dropped;
      this.#dropped = 0;
      return Promise.resolve({ callback: "onResponsesDropped", count });
    }
    const next = this.#shift();
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

  /** In constant time on average: to shift a long array moves all of it. */
  #shift(): LiveResponse | undefined {
    const next = this.#waiting[this.#first];
    if (next === undefined) return undefined;
    this.#first += 1;
    this.#bytes -= next.bytes;
    if (this.#first > this.#waiting.length / 2) {
      this.#waiting = this.#waiting.slice(this.#first);
      this.#first = 0;
    }
    return next.response;
  }

  /** Callbacks that push what they get. A delta that redaction holds back entirely is no response. */
  callbacks(): ICopilotSessionCallbacks {
    const push = (callback: string, fields: LiveResponse = {}): void => {
      if (fields["delta"] !== "") this.push({ callback, ...fields });
    };
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
