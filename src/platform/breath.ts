/** How a process that reads and computes a lot stays responsive: signals and timers are never kept waiting. */
import type { Readable } from "node:stream";
import { setImmediate as nextRound } from "node:timers/promises";

/** For how long long work may keep the event loop, in milliseconds. */
const longest = 10;

/** Long work asks between its parts whether it has kept the event loop long enough. */
export class Breath {
  #since = performance.now();

  get isDue(): boolean {
    return performance.now() - this.#since >= longest;
  }

  /** Lets everything else have its turn. */
  async take(): Promise<void> {
    await nextRound();
    this.#since = performance.now();
  }
}

/**
 * Passes on what a stream reads, one piece in each round of the event loop. By itself, a stream passes on megabytes
 * at once if a program writes them faster than they are read.
 */
export function readCalmly(stream: Readable, take: (piece: Buffer) => void): void {
  stream.on("data", (piece: Buffer) => {
    stream.pause();
    take(piece);
    setImmediate(() => stream.resume());
  });
}
