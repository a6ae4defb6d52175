/**
 * A session that a client started, and that belongs to no run: it takes prompts, one after the other, and can be lent
 * to a task. Its feed has what the model says; what the model was asked is kept here.
 */
import type { Clock } from "../platform/clock.ts";
import type { ICopilotSession } from "../sessions/callbacks.ts";
import { errorMessage } from "../platform/system-error.ts";
import type { AskedItem, AskedLog } from "./asked-log.ts";
import type { Feed } from "./feed.ts";

/** A session of `startSession` that is open, or has ended within the hour. */
export interface SessionState {
  /** Of the SDK's session. */
  readonly sessionId: string;
  /** The model that it was started with. */
  readonly modelId: string;
  /** As the client named it; a rehearsal may work in a copy. */
  readonly workingDirectory: string;
  /** In milliseconds since 1970. */
  readonly startTime: number;
  /** Undefined while it is open. */
  readonly endTime: number | undefined;
  /** What it was asked, in order. The oldest ones may be missing. */
  readonly asked: readonly AskedItem[];
}

export interface OwnSessionOptions {
  readonly session: ICopilotSession;
  readonly modelId: string;
  readonly workingDirectory: string;
  readonly feed: Feed;
  readonly clock: Clock;
  /** Masks secrets. */
  readonly mask: (text: string) => string;
  readonly asked: AskedLog;
}

export class OwnSession {
  readonly #options: OwnSessionOptions;
  readonly #startTime: number;
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

  state(endTime: number | undefined): SessionState {
    const { modelId, workingDirectory, asked } = this.#options;
    const { sessionId } = this.session.rawSection;
    const startTime = this.#startTime;
    return {
      sessionId,
      modelId,
      workingDirectory,
      startTime,
      endTime,
      asked: asked.of(sessionId),
    };
  }

  /** Sends a prompt. Why it failed, or that the session is in use, is in its feed. */
  async send(prompt: string): Promise<void> {
    const { session, feed, mask } = this.#options;
    this.#note({ kind: "prompt", after: feed.last, text: mask(prompt) });
    await session.sendRequest(prompt).catch((error: unknown) => {
      if (!this.#stopped) feed.append({ sessionError: mask(errorMessage(error)) });
    });
  }

  /** Records that a task was started in the session. */
  lent(taskId: string, taskName: string): void {
    this.#note({ kind: "task", after: this.#options.feed.last, taskId, taskName });
  }

  /** Its owner has ended it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.session.stop();
  }

  #note(item: AskedItem): void {
    this.#options.asked.add(this.session.rawSection.sessionId, item);
  }
}
