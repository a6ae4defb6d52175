/** How a process that reads and computes a lot stays responsive: signals and timers are never kept waiting. */
import type { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";

/** How long work may block the event loop, in milliseconds. */
const longest = 10;

export async function nextRound(): Promise<void> {
  await setImmediate();
}

/** Tells work that is done in parts when to yield to the event loop. */
export class Breath {
  #since = performance.now();

  get isDue(): boolean {
    return performance.now() - this.#since >= longest;
  }

  async take(): Promise<void> {
    await nextRound();
    this.#since = performance.now();
  }
}

/**
 * Passes on what a stream reads, and lets the event loop run after each piece: by itself, a stream passes on megabytes at
 * once if a program writes them faster than they are read, and a cancellation takes many rounds of the event loop.
 */
export function readCalmly(stream: Readable, take: (piece: Buffer) => void): void {
  stream.on("data", (piece: Buffer) => {
    take(piece);
    stream.pause();
    void nextRound().then(() => stream.resume());
  });
}
