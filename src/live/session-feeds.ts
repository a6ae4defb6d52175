/**
 * The running sessions of a host, by id, and the feed of each (`helperGetSession`, `takeSessionResponse`).
 * The feed of an ended session can be read as long as the caller keeps the session. Then both are
 * garbage collected together, so nothing grows with the number of sessions.
 */
import type { Reporter } from "../events/sink.ts";
import {
  callBack,
  type ICopilotSession,
  type ICopilotSessionCallbacks,
} from "../sessions/callbacks.ts";
import type { Feed, LiveResponse, Taken } from "./feed.ts";

/** Where the feeds of a run's sessions come from. */
export interface FeedSource {
  readonly openFeed: (sessionId: string) => Feed;
  readonly closeFeed?: (sessionId: string) => void;
}

export class SessionFeeds {
  readonly #running = new Map<string, ICopilotSession>();
  /** By the SDK's own session: there may be several wrappers of it. */
  readonly #feeds = new WeakMap<ICopilotSession["rawSection"], Feed>();

  find(sessionId: string): ICopilotSession | undefined {
    return this.#running.get(sessionId);
  }

  start(session: ICopilotSession, feed: Feed): void {
    this.#running.set(session.rawSection.sessionId, session);
    this.#feeds.set(session.rawSection, feed);
  }

  /** Nothing more comes; what is there stays. */
  end(sessionId: string): void {
    const session = this.#running.get(sessionId);
    this.#running.delete(sessionId);
    if (session !== undefined) this.#feeds.get(session.rawSection)?.close();
  }

  push(session: ICopilotSession, response: LiveResponse): void {
    this.#feeds.get(session.rawSection)?.append(response);
  }

  async take(session: ICopilotSession, milliseconds: number): Promise<Taken | undefined> {
    return this.#feeds.get(session.rawSection)?.take(milliseconds);
  }

  /**
   * Follows a run: its sessions run while it has them. Every prompt that it sends, and every crash, is added to the
   * feed of the session, including a lent one.
   */
  reporter(
    find: (sessionId: string) => ICopilotSession | undefined,
    { openFeed, closeFeed }: FeedSource,
  ): Reporter {
    const own = new Map<string, ICopilotSessionCallbacks>();
    /** Work id → the session whose turn crashed last. */
    const crashed = new Map<number, string>();
    const push = (sessionId: string, response: LiveResponse): void => {
      const session = this.find(sessionId);
      if (session !== undefined) this.push(session, response);
    };
    return {
      report: (event) => {
        switch (event.type) {
          case "session.started": {
            const session = find(event.sessionId);
            if (session === undefined) break;
            const feed = openFeed(event.sessionId);
            own.set(event.sessionId, feedCallbacks(feed));
            this.start(session, feed);
            break;
          }
          case "turn.started":
            push(event.sessionId, { callback: "onGeneratedUserPrompt", prompt: event.prompt });
            break;
          case "turn.ended":
            if (event.outcome === "crashed") crashed.set(event.work.workId, event.sessionId);
            break;
          case "decision": {
            const sessionId = event.work === null ? undefined : crashed.get(event.work.workId);
            if (event.decision.kind !== "session-crashed" || sessionId === undefined) break;
            crashed.delete(event.work?.workId ?? -1);
            push(sessionId, { sessionError: event.decision.crash.message });
            break;
          }
          case "activity": {
            // A lent session reports its own.
            const callbacks = own.get(event.sessionId);
            if (callbacks !== undefined) callBack(callbacks, event.activity);
            break;
          }
          case "session.ended":
            if (!own.delete(event.sessionId)) break;
            this.end(event.sessionId);
            closeFeed?.(event.sessionId);
            break;
          default:
            break;
        }
      },
    };
  }
}

/** Callbacks that append what they get. A delta that redaction holds back entirely is no response. */
export function feedCallbacks(feed: Pick<Feed, "append">): ICopilotSessionCallbacks {
  const push = (callback: string, fields: LiveResponse = {}): void => {
    if (fields["delta"] !== "") feed.append({ callback, ...fields });
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
