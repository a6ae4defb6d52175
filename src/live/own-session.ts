/**
 * A session that a client started, and that belongs to no run: it takes prompts, one after the other, and can be lent
 * to a task. Its feed has what the model says; what the model was asked is kept here.
 */
import { cut } from "../events/cut.ts";
import type { Clock } from "../platform/clock.ts";
import type { ICopilotSession } from "../sessions/callbacks.ts";
import { errorMessage } from "../platform/system-error.ts";
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

/** `after`: the number of the last response in the feed of the session when it was asked; 0 if there was none. */
export type AskedItem = { readonly after: number } & (
  | { readonly kind: "prompt"; readonly text: string }
  | { readonly kind: "task"; readonly taskId: string; readonly taskName: string }
);

/** In UTF-16 units. */
const MAX_PROMPT = 64 * 1024;
const MAX_ALL = 1024 * 1024;
/** What an item takes besides its text. */
const ITEM = 100;

/** What clients asked of their sessions. Bounded for all sessions together. */
export class AskedLog {
  #items: { readonly sessionId: string; readonly item: AskedItem; readonly size: number }[] = [];
  #size = 0;

  /** Forgets the oldest items, of whichever session, if there is no room. */
  add(sessionId: string, asked: AskedItem): void {
    const item = asked.kind === "prompt" ? { ...asked, text: shortened(asked.text) } : asked;
    const size = ITEM + (item.kind === "prompt" ? item.text : item.taskName).length;
    this.#items.push({ sessionId, item, size });
    this.#size += size;
    let dropped = 0;
    while (this.#size > MAX_ALL) this.#size -= this.#items[dropped++]?.size ?? 0;
    if (dropped > 0) this.#items = this.#items.slice(dropped);
  }

  of(sessionId: string): readonly AskedItem[] {
    return this.#items.filter((one) => one.sessionId === sessionId).map(({ item }) => item);
  }

  forget(sessionId: string): void {
    this.#items = this.#items.filter((one) => one.sessionId !== sessionId);
    this.#size = this.#items.reduce((sum, { size }) => sum + size, 0);
  }
}

function shortened(text: string): string {
  if (text.length <= MAX_PROMPT) return text;
  return `${cut(text, MAX_PROMPT)}… (${text.length - MAX_PROMPT} characters omitted)`;
}
