/**
 * The SDK makes a text of each message and parses it, in which time nothing else happens in this process: 20 MB take
 * 0.1 s. In place of an event that is larger than an answer may be comes one that says so, which ends the turn.
 */
import { Transform, type Readable, type TransformCallback } from "node:stream";

/** An answer may have 4 MB, and twice as much in JSON, where quotes and line breaks are escaped. */
const longestEvent = 8.5 * 1024 * 1024;
/** These bytes identify a message. */
const longestBeginning = 512;
const longestHeader = 1024;

const endOfHeader = "\r\n\r\n";
const contentLength = /^content-length: *(\d+)\r?$/im;
const answerEvent =
  /^\{"jsonrpc":"2\.0","method":"session\.event","params":\{"sessionId":"([\w-]+)","event":\{"type":"assistant\./;

export function boundedMessages(source: Readable): Readable {
  const bounded = new BoundedMessages();
  // An error without a listener would end this process, and the SDK listens only once it is connected.
  bounded.on("error", () => {});
  source.once("error", (error) => bounded.destroy(error));
  source.once("close", () => bounded.end());
  return source.pipe(bounded);
}

const nothing = Buffer.alloc(0);

class BoundedMessages extends Transform {
  /** The beginning of a message, as long as it is not known whether it passes. */
  #held: Buffer = nothing;
  /** Bytes that the message still has. Infinity: what comes is no message. It is for the SDK to say so. */
  #left = 0;
  #passes = true;

  override _transform(piece: Buffer, _encoding: string, done: TransformCallback): void {
    const bytes = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    this.#held = nothing;
    // Everything from `from` to `at` passes, in one piece, because the reader does some work for each piece.
    let [from, at] = [0, 0];
    const pass = (): boolean => from === at || this.push(bytes.subarray(from, at));
    while (at < bytes.length) {
      if (this.#left === 0) {
        const begun = this.#begin(bytes.subarray(at));
        if (begun === undefined) {
          this.#held = bytes.subarray(at);
          break;
        }
        if (begun.tooLong !== undefined) {
          pass();
          this.push(tooLong(begun.tooLong));
        }
        at += begun.header;
      }
      const part = Math.min(this.#left, bytes.length - at);
      this.#left -= part;
      at += part;
      if (!this.#passes) from = at;
    }
    pass();
    done();
  }

  /** `tooLong`: the session whose event doesn't pass. Undefined: more of the header has to come. */
  #begin(
    bytes: Buffer,
  ): { readonly header: number; readonly tooLong: string | undefined } | undefined {
    const end = bytes.indexOf(endOfHeader);
    if (end === -1 && bytes.length < longestHeader) return undefined;
    const header = end === -1 ? 0 : end + endOfHeader.length;
    const [, length] = contentLength.exec(bytes.toString("latin1", 0, header)) ?? [];
    this.#passes = true;
    this.#left = length === undefined ? Infinity : Number(length);
    if (length === undefined) return { header: 0, tooLong: undefined };
    if (this.#left <= longestEvent) return { header, tooLong: undefined };
    const beginning = bytes.toString("latin1", header, header + longestBeginning);
    if (beginning.length < longestBeginning) {
      this.#left = 0;
      return undefined;
    }
    const [, sessionId] = answerEvent.exec(beginning) ?? [];
    this.#passes = sessionId === undefined;
    return { header, tooLong: sessionId };
  }
}

function tooLong(sessionId: string): Buffer {
  const event = {
    type: "assistant.streaming_delta",
    data: { totalResponseSizeBytes: Number.MAX_SAFE_INTEGER },
    ephemeral: true,
    id: crypto.randomUUID(),
    timestamp: new Date().toISOString(),
    parentId: null,
  };
  const params = { sessionId, event };
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", method: "session.event", params }));
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}${endOfHeader}`), body]);
}
