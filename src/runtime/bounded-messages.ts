/**
 * What the runtime writes to us, without the events of an answer that are larger than an answer may be. The SDK makes
 * a text of each message and parses it, in which time nothing else happens in this process: 20 MB take 0.1 s. Of such
 * an event the bytes are dropped as they come, and in its place comes one that says how many there were, which ends
 * the turn. All other messages pass as they are.
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

type State =
  | { readonly at: "header"; readonly bytes: Buffer }
  /** Of a large message, before it is known whether it passes. */
  | {
      readonly at: "beginning";
      readonly header: Buffer;
      readonly bytes: Buffer;
      readonly length: number;
    }
  | { readonly at: "body"; readonly left: number; readonly passes: boolean }
  /** What comes is no message. It is for the SDK to say so. */
  | { readonly at: "unknown" };

/** Ends with `source`, and takes its place. */
export function boundedMessages(source: Readable): Readable {
  const bounded = new BoundedMessages();
  // An error without a listener would end this process, and the SDK listens only once it is connected.
  bounded.on("error", () => {});
  source.once("error", (error) => bounded.destroy(error));
  source.once("close", () => bounded.end());
  return source.pipe(bounded);
}

class BoundedMessages extends Transform {
  #state: State = { at: "header", bytes: Buffer.alloc(0) };
  #passed: Buffer = Buffer.alloc(0);

  override _transform(piece: Buffer, _encoding: string, done: TransformCallback): void {
    let rest = piece;
    while (rest.length > 0) rest = this.#take(rest);
    if (this.#passed.length > 0) this.push(this.#passed);
    this.#passed = Buffer.alloc(0);
    done();
  }

  /** What follows each other in memory is one piece: whoever reads it does something for each. */
  #pass(bytes: Buffer): void {
    const { buffer, byteOffset, length } = this.#passed;
    if (length > 0 && bytes.buffer === buffer && bytes.byteOffset === byteOffset + length) {
      this.#passed = Buffer.from(buffer, byteOffset, length + bytes.length);
      return;
    }
    if (length > 0) this.push(this.#passed);
    this.#passed = bytes;
  }

  /** Returns what belongs to the next state. */
  #take(piece: Buffer): Buffer {
    const state = this.#state;
    switch (state.at) {
      case "header":
        return this.#header(state.bytes.length === 0 ? piece : Buffer.concat([state.bytes, piece]));
      case "beginning": {
        const bytes = Buffer.concat([state.bytes, piece]);
        if (bytes.length < longestBeginning) {
          this.#state = { ...state, bytes };
          return Buffer.alloc(0);
        }
        const { header, length } = state;
        const beginning = bytes.subarray(0, longestBeginning).toString("latin1");
        const [, sessionId] = answerEvent.exec(beginning) ?? [];
        this.#pass(sessionId === undefined ? header : tooLong(sessionId, length));
        this.#state = { at: "body", left: length, passes: sessionId === undefined };
        return bytes;
      }
      case "body": {
        const part = piece.subarray(0, state.left);
        if (state.passes) this.#pass(part);
        const left = state.left - part.length;
        this.#state = left > 0 ? { ...state, left } : { at: "header", bytes: Buffer.alloc(0) };
        return piece.subarray(part.length);
      }
      case "unknown":
        this.#pass(piece);
        return Buffer.alloc(0);
    }
  }

  #header(bytes: Buffer): Buffer {
    const end = bytes.indexOf(endOfHeader);
    if (end === -1 && bytes.length < longestHeader) {
      this.#state = { at: "header", bytes };
      return Buffer.alloc(0);
    }
    const header = bytes.subarray(0, end + endOfHeader.length);
    const [, length] = contentLength.exec(header.toString("latin1")) ?? [];
    if (end === -1 || length === undefined) {
      this.#state = { at: "unknown" };
      return bytes;
    }
    if (Number(length) > longestEvent) {
      this.#state = {
        at: "beginning",
        header,
        bytes: Buffer.alloc(0),
        length: Number(length),
      };
    } else {
      this.#pass(header);
      if (Number(length) > 0) {
        this.#state = { at: "body", left: Number(length), passes: true };
      } else this.#state = { at: "header", bytes: Buffer.alloc(0) };
    }
    return bytes.subarray(header.length);
  }
}

/** The event by which the runtime tells how much of an answer has come. */
function tooLong(sessionId: string, length: number): Buffer {
  const event = {
    type: "assistant.streaming_delta",
    data: { totalResponseSizeBytes: length },
    ephemeral: true,
    id: crypto.randomUUID(),
    timestamp: new Date().toISOString(),
    parentId: null,
  };
  const params = { sessionId, event };
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", method: "session.event", params }));
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}${endOfHeader}`), body]);
}
