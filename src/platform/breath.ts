/** How a process that reads and computes a lot stays responsive: signals and timers are never kept waiting. */
import type { Readable } from "node:stream";
import { setImmediate as nextRound } from "node:timers/promises";
import { systemClock } from "./clock.ts";

/** For how long long work may keep the event loop, in milliseconds. */
const longest = 10;
/** Bytes. To mask and to split it takes milliseconds, whatever it is. */
const longestPiece = 16 * 1024;
/** Of a piece that takes less, in milliseconds, there is no rest. */
const shortest = 2;

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
 * Passes on what a stream reads, in small pieces. After each, everything else has its turn, and at least as much time
 * as the piece has taken: by itself, a stream passes on megabytes at once if a program writes them faster than they are
 * read, and a cancellation, which takes many rounds of the event loop, would wait in each of them.
 */
export function readCalmly(stream: Readable, take: (piece: Buffer) => void): void {
  stream.on("data", (piece: Buffer) => {
    stream.pause();
    const pass = (from: number): void => {
      // Nobody expects anything of a stream that was given up.
      if (stream.destroyed) return;
      const to = from + longestPiece;
      const next = to < piece.length ? () => pass(to) : () => void stream.resume();
      const began = performance.now();
      take(piece.subarray(from, to));
      // In the next round, when the promises that it has settled were dealt with.
      setImmediate(() => {
        const took = performance.now() - began;
        if (took < shortest) next();
        else void systemClock.sleep(took).then(next);
      });
    };
    pass(0);
  });
}
