/** One thing at a time in a session: a prompt of its owner, or a task that borrows it. */
import type { Clock } from "../events/clock.ts";
import { within } from "../events/waiting.ts";

/** What has reported its end may take a moment more to be over. */
const MOMENT_MS = 1_000;

export class SessionUse {
  readonly #clock: Clock;
  #current: Promise<void> | undefined;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Its owner has ended the session. */
  get closed(): boolean {
    return this.#closed;
  }

  close(): void {
    this.#closed = true;
  }

  /** False if the session is in use, and still is after a moment. Otherwise resolves at the end of the use. */
  async enter(use: () => Promise<void>): Promise<boolean> {
    if (this.#current !== undefined) await within(this.#current, MOMENT_MS, this.#clock);
    if (this.#current !== undefined) return false;
    this.#current = use().finally(() => (this.#current = undefined));
    await this.#current;
    return true;
  }
}
