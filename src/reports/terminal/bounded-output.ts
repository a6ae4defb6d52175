/** An output whose reader may be slow or stall. It keeps pending text up to a bound, and then drops the oldest. */
import type { Clock } from "../../platform/clock.ts";
import type { TerminalStream } from "./terminal-reporter.ts";

export interface OutputStream extends TerminalStream {
  readonly writableLength: number;
  readonly destroyed: boolean;
  write(text: string, done?: () => void): boolean;
}

/** UTF-16 units kept for a reader that is behind. */
const KEPT = 8 * 1024 * 1024;
/** Approximate size of a write, in UTF-16 units: the stream reports no progress within one. */
const CHUNK = 64 * 1024;
/** How often `end` checks whether the reader continues. */
const POLL_MS = 50;

/** Whole lines of about the length of a chunk. */
const lines = new RegExp(String.raw`[^]{1,${CHUNK}}.*\n?`, "g");

export class BoundedOutput {
  readonly #stream: OutputStream;
  readonly #bound: number;
  #kept: string[] = [];
  #length = 0;
  /** Something was dropped, and no line has reported it yet. */
  #gap = false;
  #incomplete = false;
  #progress = 0;

  constructor(stream: OutputStream, bound = KEPT) {
    this.#stream = stream;
    this.#bound = bound;
  }

  write(text: string): void {
    // A reader that has gone (`| head`) is no reason to keep anything.
    if (this.#stream.destroyed) return;
    this.#kept.push(...(text.length <= CHUNK ? [text] : (text.match(lines) ?? [])));
    this.#length += text.length;
    this.#flush();
    if (this.#length > this.#bound) this.#drop();
  }

  /** Waits for the reader. Resolves with the reason if something was lost. */
  async end(patienceMs: number, clock: Pick<Clock, "sleep">): Promise<string | undefined> {
    let progress = this.#progress;
    let waited = 0;
    while (this.#length + this.#stream.writableLength > 0 && !this.#stream.destroyed) {
      if (waited >= patienceMs) return `the reader read nothing for ${patienceMs / 1000} s`;
      await clock.sleep(POLL_MS);
      waited = progress === this.#progress ? waited + POLL_MS : 0;
      progress = this.#progress;
    }
    return this.#incomplete ? "the reader was too slow, so the middle was omitted" : undefined;
  }

  /** Drops the oldest half, so that many writes share the cost. */
  #drop(): void {
    let count = 0;
    for (; this.#length > this.#bound / 2 && count < this.#kept.length - 1; count += 1)
      this.#length -= this.#kept[count]?.length ?? 0;
    this.#kept.splice(0, count);
    this.#gap ||= count > 0;
    this.#incomplete ||= count > 0;
  }

  #flush(): void {
    // A stream writes at once what its reader takes; then there is nothing to wait for.
    while (this.#kept.length > 0 && this.#stream.writableLength === 0) {
      this.#stream.write(this.#take(), () => {
        this.#progress += 1;
        this.#flush();
      });
    }
  }

  #take(): string {
    let chunk = this.#kept[0] ?? "";
    let count = 1;
    for (; count < this.#kept.length && chunk.length < CHUNK; count += 1)
      chunk += this.#kept[count] ?? "";
    this.#kept.splice(0, count);
    this.#length -= chunk.length;
    const note = this.#gap ? "… some lines are missing, because the reader was too slow\n" : "";
    this.#gap = false;
    return note + chunk;
  }
}
