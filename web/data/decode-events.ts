/**
 * The events that a report holds: base64 of gzip of NDJSON. Decoded in pieces, with a pause after each, so that the
 * page stays alive. Only lines that may belong to the run that is asked for are parsed; a report may hold hundreds.
 */
import type { RunEvent } from "../../src/events/event.ts";

export interface DecodeOptions {
  readonly runId: string;
  /** In order. Never empty. */
  readonly events: (batch: readonly RunEvent[]) => void;
  /** Lets the page do other things. */
  readonly pause: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** Base64 that is decoded at once; a multiple of 4. */
const PIECE = 512 * 1024;
/** Events of a batch: about as many as are applied in a frame. */
const BATCH = 2000;

/** Rejects if the data is damaged, and when `signal` aborts. */
export async function decodeEvents(base64: string, options: DecodeOptions): Promise<void> {
  const { runId, events, pause, signal } = options;
  const mark = JSON.stringify(runId);
  let batch: RunEvent[] = [];
  const flush = async (): Promise<void> => {
    signal.throwIfAborted();
    if (batch.length > 0) events(batch);
    batch = [];
    await pause();
    signal.throwIfAborted();
  };
  let rest = "";
  const text = bytesOf(base64, options)
    .pipeThrough(new DecompressionStream("gzip"))
    .pipeThrough(new TextDecoderStream());
  for await (const part of text) {
    const lines = (rest + part).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.includes(mark)) continue;
      const event: RunEvent = JSON.parse(line);
      if (event.runId !== runId) continue;
      batch.push(event);
      if (batch.length >= BATCH) await flush();
    }
    signal.throwIfAborted();
  }
  await flush();
}

function bytesOf(
  base64: string,
  { pause, signal }: DecodeOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let offset = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        signal.throwIfAborted();
        const piece = base64.slice(offset, offset + PIECE);
        offset += piece.length;
        if (piece !== "")
          controller.enqueue(Uint8Array.from(atob(piece), (character) => character.charCodeAt(0)));
        if (offset >= base64.length) controller.close();
        await pause();
      },
    },
    { highWaterMark: 1 },
  );
}
