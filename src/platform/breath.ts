/** How a process that reads and computes a lot stays responsive: signals and timers are never kept waiting. */
import type { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { systemClock } from "./system-clock.ts";

/** How long work may block the event loop, in milliseconds. */
const longest = 10;
/** Bytes. Masking and splitting a piece takes milliseconds, whatever it contains. */
const longestPiece = 16 * 1024;
/** Milliseconds. After a piece that takes less, there is no pause. */
const shortest = 2;

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
 * Passes on what a stream reads, in small pieces. After each, the event loop runs for at least as long as the piece
 * has taken: by itself, a stream passes on megabytes at once if a program writes them faster than they are
 * read, and a cancellation, which takes many rounds of the event loop, would wait in each of them.
 */
export function readCalmly(stream: Readable, take: (piece: Buffer) => void): CalmReading {
  const pieces: Buffer[] = [];
  const stop = new AbortController();
  let reading = Promise.resolve();
  let isReading = false;
  const pass = async (): Promise<void> => {
    for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
      for (let from = 0; from < piece.length && !stop.signal.aborted; from += longestPiece) {
        const began = performance.now();
        take(piece.subarray(from, from + longestPiece));
        await restSince(began);
      }
    }
    isReading = false;
    stream.resume();
  };
  stream.on("data", (piece: Buffer) => {
    stream.pause();
    // When a child process exits, Node resumes its streams: more may come before this one was passed on.
    pieces.push(piece);
    if (isReading) return;
    isReading = true;
    reading = pass();
  });
  return { drained: () => reading, stop: () => stop.abort() };
}

export interface CalmReading {
  /** Resolves when all that has come was passed on, if nothing more comes: for a stream that has closed. */
  drained(): Promise<void>;
  stop(): void;
}

/** The same for a stream of the web. */
export async function* inCalmPieces(piece: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < piece.length; from += longestPiece) {
    const began = performance.now();
    yield piece.subarray(from, from + longestPiece);
    await restSince(began);
  }
}

async function restSince(began: number): Promise<void> {
  // By the next round of the event loop, the promises that it has settled are handled.
  await nextRound();
  const took = performance.now() - began;
  if (took >= shortest) await systemClock.sleep(took);
}
