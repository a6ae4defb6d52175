/**
 * The running sessions of a host, by id, and the responses of each (`helperGetSession`, `takeSessionResponse`).
 * The responses of an ended session can be taken as long as the caller keeps the session. Then both are
 * garbage collected together, so nothing grows with the number of sessions.
 */
import type { Reporter } from "../events/sink.ts";
import { callBack, type ICopilotSession } from "../sessions/callbacks.ts";
import { LiveResponses, type LiveResponse } from "./live-responses.ts";

export class SessionFeeds {
  readonly #running = new Map<string, ICopilotSession>();
  /** By the SDK's own session: there may be several wrappers of it. */
  readonly #responses = new WeakMap<ICopilotSession["rawSection"], LiveResponses>();

  find(sessionId: string): ICopilotSession | undefined {
    return this.#running.get(sessionId);
  }

  start(session: ICopilotSession, responses: LiveResponses): void {
    this.#running.set(session.rawSection.sessionId, session);
    this.#responses.set(session.rawSection, responses);
  }

  /** Nothing more comes; what is there stays. */
  end(sessionId: string): void {
    const session = this.#running.get(sessionId);
    this.#running.delete(sessionId);
    if (session !== undefined) this.#responses.get(session.rawSection)?.close();
  }

  push(session: ICopilotSession, response: LiveResponse): void {
    this.#responses.get(session.rawSection)?.push(response);
  }

  async take(session: ICopilotSession, milliseconds: number): Promise<LiveResponse | undefined> {
    return this.#responses.get(session.rawSection)?.take(milliseconds);
  }

  /**
   * Follows a run: its sessions run while it has them, and every prompt that it sends is added to the feed of
   * its session, including a lent one.
   */
  reporter(open: (sessionId: string) => ICopilotSession | undefined): Reporter {
    const own = new Map<string, ReturnType<LiveResponses["callbacks"]>>();
    return {
      report: (event) => {
        switch (event.type) {
          case "session.started": {
            const session = open(event.sessionId);
            if (session === undefined) break;
            const responses = new LiveResponses();
            own.set(event.sessionId, responses.callbacks());
            this.start(session, responses);
            break;
          }
          case "turn.started": {
            const session = this.find(event.sessionId);
            const { prompt } = event;
            if (session !== undefined)
              this.push(session, { callback: "onGeneratedUserPrompt", prompt });
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
