/** How a process that reads and computes a lot stays responsive: signals and timers are never kept waiting. */
import type { Readable } from "node:stream";
import { setImmediate as nextRound } from "node:timers/promises";

/** For how long long work may keep the event loop, in milliseconds. */
const longest = 10;
/** Bytes. To mask and to split it takes milliseconds, whatever it is. */
const longestPiece = 16 * 1024;

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
 * Passes on what a stream reads, one small piece in each round of the event loop. By itself, a stream passes on
 * megabytes at once if a program writes them faster than they are read.
 */
export function readCalmly(stream: Readable, take: (piece: Buffer) => void): void {
  stream.on("data", (piece: Buffer) => {
    stream.pause();
    const pass = (from: number): void => {
      // Nobody expects anything of a stream that was given up.
      if (stream.destroyed) return;
      const to = from + longestPiece;
      take(piece.subarray(from, to));
      if (to < piece.length) setImmediate(pass, to);
      else setImmediate(() => stream.resume());
    };
    pass(0);
  });
}
