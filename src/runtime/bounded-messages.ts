/**
 * The SDK makes a text of each message and parses it, in which time nothing else happens in this process: 20 MB take
 * 0.1 s. In place of an event that is larger than an answer may be comes one that says so, which ends the turn.
 */
import { Transform, type Readable, type TransformCallback } from "node:stream";

/** An answer may have 4 MB, and twice as much in JSON, where quotes and line breaks are escaped. */
const longestEvent = 8.5 * 1024 * 1024;
/** So much of a message tells what it is. */
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
    const passed: Buffer[] = [];
    let rest = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    this.#held = nothing;
    while (rest.length > 0) {
      if (this.#left === 0) {
        const header = this.#begin(rest, passed);
        if (header === undefined) {
          this.#held = rest;
          break;
        }
        rest = rest.subarray(header);
      }
      const part = rest.subarray(0, this.#left);
      if (this.#passes && part.length > 0) passed.push(part);
      this.#left -= part.length;
      rest = rest.subarray(part.length);
    }
    // Whoever reads it does something for each piece.
    if (passed.length > 0) this.push(Buffer.concat(passed));
    done();
  }

  /** Returns the length of the header; undefined: more of it has to come. */
  #begin(bytes: Buffer, passed: Buffer[]): number | undefined {
    const end = bytes.indexOf(endOfHeader);
    if (end === -1 && bytes.length < longestHeader) return undefined;
    const header = bytes.subarray(0, end + endOfHeader.length);
    const [, length] = (end === -1 ? null : contentLength.exec(header.toString("latin1"))) ?? [];
    let sessionId: string | undefined;
    if (Number(length) > longestEvent) {
      const beginning = bytes.subarray(header.length, header.length + longestBeginning);
      if (beginning.length < longestBeginning) return undefined;
      sessionId = answerEvent.exec(beginning.toString("latin1"))?.[1];
    }
    this.#left = length === undefined ? Infinity : Number(length);
    this.#passes = sessionId === undefined;
    if (length === undefined) return 0;
    passed.push(sessionId === undefined ? header : tooLong(sessionId));
    return header.length;
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
