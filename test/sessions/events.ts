/** SDK events by hand, and a session that plays them: for what the real runtime can't be made to do on demand. */
import type { SessionEvent } from "@github/copilot-sdk";
import type { TurnSession } from "../../src/sessions/turn.ts";

let count = 0;

export function event(
  type: SessionEvent["type"],
  data: object = {},
  agentId?: string,
): SessionEvent {
  count += 1;
  const base = { id: `event-${count}`, parentId: null, timestamp: "2026-01-01T00:00:00Z" };
  // eslint-disable-next-line typescript/no-unsafe-type-assertion
  return { ...base, type, data, ...(agentId === undefined ? {} : { agentId }) } as SessionEvent;
}

export const userMessage = (messageId: string): SessionEvent =>
  event("user.message", { messageId, content: "" });
export const idle = (aborted = false): SessionEvent => event("session.idle", { aborted });
export const message = (content: string, messageId = "m1", agentId?: string): SessionEvent =>
  event("assistant.message", { content, messageId, toolRequests: [] }, agentId);
export const toolStart = (toolCallId: string, toolName = "view", args: object = {}): SessionEvent =>
  event("tool.execution_start", { toolCallId, toolName, arguments: args });
export const toolEnd = (toolCallId: string, success = true): SessionEvent =>
  event("tool.execution_complete", { toolCallId, success, result: { content: "r" } });

export class PlayedSession implements TurnSession {
  readonly #listeners = new Set<(event: SessionEvent) => void>();
  readonly calls: string[] = [];
  /** Tasks that run in the background. */
  tasks: { readonly id: string; readonly status: string }[] = [];
  onSend: () => Promise<string> = () => Promise.resolve("message-1");
  onAbort: () => Promise<void> = () => Promise.resolve();
  readonly rpc: TurnSession["rpc"];

  constructor() {
    this.rpc = {
      tasks: {
        list: () => {
          this.calls.push("list");
          // eslint-disable-next-line typescript/no-unsafe-type-assertion
          return Promise.resolve({ tasks: this.tasks } as never);
        },
        cancel: ({ id }) => {
          this.calls.push(`cancel ${id}`);
          this.tasks = this.tasks.filter((task) => task.id !== id);
          return Promise.resolve({ cancelled: true });
        },
      },
    };
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  play(...events: readonly SessionEvent[]): void {
    for (const one of events) for (const listener of this.#listeners) listener(one);
  }

  readonly on: TurnSession["on"] = (...args: readonly unknown[]) => {
    const listener = args.at(-1);
    if (typeof listener !== "function") throw new TypeError("no listener");
    const call = (one: SessionEvent): void => {
      Reflect.apply(listener, undefined, [one]);
    };
    this.#listeners.add(call);
    return () => this.#listeners.delete(call);
  };

  send(): Promise<string> {
    this.calls.push("send");
    return this.onSend();
  }

  abort(): Promise<void> {
    this.calls.push("abort");
    return this.onAbort();
  }
}
