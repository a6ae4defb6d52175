/**
 * Prints a line at least every minute while something runs. A log without new lines looks like a job that
 * hangs, and some runners end such a job.
 */
export interface HeartbeatClock {
  now(): number;
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

const MINUTE = 60_000;

export class Heartbeat {
  readonly #clock: HeartbeatClock;
  readonly #beat: (now: number) => void;
  #last = 0;
  #running: AbortController | undefined;

  /** `beat` prints the line, or nothing if nothing runs. */
  constructor(clock: HeartbeatClock, beat: (now: number) => void) {
    this.#clock = clock;
    this.#beat = beat;
  }

  start(): void {
    if (this.#running !== undefined) return;
    this.#running = new AbortController();
    this.printed();
    void this.#run(this.#running.signal);
  }

  /** Something else has been printed. */
  printed(): void {
    this.#last = this.#clock.now();
  }

  stop(): void {
    this.#running?.abort();
    this.#running = undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#clock.sleep(Math.max(1, this.#last + MINUTE - this.#clock.now()), signal);
      if (signal.aborted) return;
      if (this.#clock.now() < this.#last + MINUTE) continue;
      this.printed();
      this.#beat(this.#clock.now());
    }
  }
}
