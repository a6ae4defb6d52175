/** A model server of one's own often answers one call at a time: then a call that waits for others is not silent. */
import type { SessionEvent } from "@github/copilot-sdk";
import type { Clock } from "../platform/clock.ts";

/** A call that waits so long while others are answered waits for them. */
const queueMs = 60_000;

export interface CallQueue {
  /** When an answer of a model has last begun or gone on. */
  progressAt: number;
  onWait(): void;
}

export class LifeSigns {
  #own: number;
  /** Nothing has come of the answer to the last request. */
  #awaits = true;
  #queuedMs = 0;
  readonly #clock: Clock;
  readonly #queue: CallQueue | undefined;

  constructor(clock: Clock, queue: CallQueue | undefined) {
    this.#clock = clock;
    this.#queue = queue;
    this.#own = clock.now();
  }

  see({ type, agentId }: SessionEvent): void {
    const isPart = /^assistant\.(?:\w+_delta|message|usage)$/.test(type);
    const now = this.#clock.now();
    if (isPart) {
      this.#queuedMs += this.last - this.#own;
      if (this.#queue !== undefined) this.#queue.progressAt = now;
    }
    this.#own = now;
    if (agentId !== undefined) return;
    if (isPart) this.#awaits = false;
    else if (type === "assistant.turn_start") this.#awaits = true;
  }

  /** The last one: of other turns, too, while its call may wait for them. */
  get last(): number {
    return this.#awaits ? Math.max(this.#own, this.#queue?.progressAt ?? 0) : this.#own;
  }

  /** How long its calls have waited for others, which doesn't count as time of the turn. */
  get queuedMs(): number {
    return this.#queuedMs + this.last - this.#own;
  }

  /** Returns the milliseconds after which to look again. */
  tellIfQueued(idleMs: number): number {
    const patience = Math.min(idleMs, queueMs);
    const waited = this.#clock.now() - this.#own;
    if (waited < patience) return patience - waited;
    if (this.last > this.#own) this.#queue?.onWait();
    return patience;
  }
}
