import type { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";

/** How long work may block the event loop, in milliseconds. */
const longest = 10;

export async function nextRound(): Promise<void> {
  await setImmediate();
}

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

/** By itself, a stream passes on megabytes at once, and a cancellation takes many rounds of the event loop. */
export function readCalmly(stream: Readable, take: (piece: Buffer) => void): void {
  stream.on("data", (piece: Buffer) => {
    take(piece);
    stream.pause();
    void nextRound().then(() => stream.resume());
  });
}
