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

/** `after`: the number of the last response in the feed of the session when it was asked; 0 if there was none. */
export type AskedItem = { readonly after: number } & (
  | { readonly kind: "prompt"; readonly text: string }
  | { readonly kind: "task"; readonly taskId: string; readonly taskName: string }
);

export interface OwnSessionOptions {
  readonly session: ICopilotSession;
  readonly modelId: string;
  readonly workingDirectory: string;
  readonly feed: Feed;
  readonly clock: Clock;
  readonly mask: (text: string) => string;
}

/** Of a prompt, and of all that is kept of a session, in UTF-16 units. */
const MAX_PROMPT = 64 * 1024;
const MAX_ASKED = 1024 * 1024;
/** What an item takes besides its text. */
const ITEM = 100;

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

  state(endTime: number | undefined): SessionState {
    const { modelId, workingDirectory } = this.#options;
    const { sessionId } = this.session.rawSection;
    const [startTime, asked] = [this.#startTime, [...this.#asked]];
    return { sessionId, modelId, workingDirectory, startTime, endTime, asked };
  }

  /** Sends a prompt. Why it failed, or that the session is in use, is in its feed. */
  async send(prompt: string): Promise<void> {
    const { session, feed, mask } = this.#options;
    this.#note({ kind: "prompt", after: feed.last, text: shortened(mask(prompt)) });
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

function shortened(text: string): string {
  if (text.length <= MAX_PROMPT) return text;
  return `${cut(text, MAX_PROMPT)}… (${text.length - MAX_PROMPT} characters omitted)`;
}
