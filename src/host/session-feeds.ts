import { truncate } from "../text/truncate.ts";
import type { Reporter } from "../events/sink.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage } from "../platform/system-error.ts";
import {
  callBack,
  type ICopilotSession,
  type ICopilotSessionCallbacks,
} from "../sessions/callbacks.ts";
import type { Feed, LiveResponse, Taken } from "./feed.ts";

/**
 * The running sessions, by id, and the feed of each. That of an ended session is garbage collected together with the
 * session, so nothing grows with the number of sessions.
 */
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

  /** The sessions of a run run while it has them. Prompts and crashes are in their feeds, also of a lent one. */
  reporter(
    find: (sessionId: string) => ICopilotSession | undefined,
    openFeed: (sessionId: string) => Feed,
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
            if (own.delete(event.sessionId)) this.end(event.sessionId);
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

/** A session of `startSession` that is open, or has ended within the hour. */
export interface SessionState {
  /** The id of the SDK's session. */
  readonly sessionId: string;
  /** The model that it was started with. */
  readonly modelId: string;
  /** The client's own path. A rehearsal may work in a copy. */
  readonly workingDirectory: string;
  /** In milliseconds since 1970. */
  readonly startTime: number;
  /** Undefined while it is open. */
  readonly endTime: number | undefined;
  /** Its prompts and tasks, in order. The oldest ones may be missing. */
  readonly asked: readonly AskedItem[];
}

/** `after`: the number of the last response in the feed of the session when it was asked; 0 if there was none. */
export type AskedItem = { readonly after: number } & (
  | { readonly kind: "prompt"; readonly text: string }
  | { readonly kind: "task"; readonly taskId: string; readonly taskName: string }
);

interface OwnSessionOptions {
  readonly session: ICopilotSession;
  readonly modelId: string;
  readonly workingDirectory: string;
  readonly feed: Feed;
  readonly clock: Clock;
  readonly mask: (text: string) => string;
}

/** Limits in UTF-16 units: of one prompt, and of everything kept of a session. */
const MAX_PROMPT = 64 * 1024;
const MAX_ASKED = 1024 * 1024;
/** Memory of an item besides its text. */
const ITEM = 100;

/** A session of a client, and of no run. Its feed has what the model says; what the model was asked is kept here. */
export class OwnSession {
  readonly #options: OwnSessionOptions;
  readonly #startTime: number;
  readonly #asked: AskedItem[] = [];
  #stopped = false;

  constructor(options: OwnSessionOptions) {
    this.#options = options;
    this.#startTime = options.clock.now();
  }

  get session(): ICopilotSession {
    return this.#options.session;
  }

  get workingDirectory(): string {
    return this.#options.workingDirectory;
  }

  get state(): SessionState {
    const { modelId, workingDirectory, feed } = this.#options;
    const { sessionId } = this.session.rawSection;
    const [startTime, asked] = [this.#startTime, [...this.#asked]];
    return { sessionId, modelId, workingDirectory, startTime, endTime: feed.closedAt, asked };
  }

  /** Sends a prompt. Why it failed, or that the session is in use, is in its feed. */
  async send(prompt: string): Promise<void> {
    const { session, feed, mask } = this.#options;
    this.#note({ kind: "prompt", after: feed.last, text: truncate(mask(prompt), MAX_PROMPT, "…") });
    await session.sendRequest(prompt).catch((error: unknown) => {
      if (!this.#stopped) feed.append({ sessionError: mask(errorMessage(error)) });
    });
  }

  lent(taskId: string, taskName: string): void {
    this.#note({ kind: "task", after: this.#options.feed.last, taskId, taskName });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.session.stop();
  }

  /** Forgets the oldest ones if there is no room. */
  #note(item: AskedItem): void {
    this.#asked.push(item);
    let size = 0;
    const oldest = this.#asked.findLastIndex((one) => {
      size += ITEM + (one.kind === "prompt" ? one.text : one.taskName).length;
      return size > MAX_ASKED;
    });
    this.#asked.splice(0, oldest + 1);
  }
}
