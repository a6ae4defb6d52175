/**
 * Messages of a stream that comes in pieces, one in each line. Each byte is looked at once, whatever the length of a
 * line. Of a response that is too long, the middle is dropped as it comes, and it is replaced by an error: to make a
 * text of it and to parse that would block the process for too long.
 */
import { JsonSize, mostValues } from "./json-size.ts";

const newline = 0x0a;
/** So many times the longest message may be skipped. A line that is longer than that may have no end. */
const longestSkipped = 5;
/** Bytes at the beginning and at the end of a message, where the id is. */
const edge = 256;
/** Of the codes that are free for implementations. */
const tooLong = -32_000;

export type LinesRead =
  /** Those that the piece ends, without their ends. */
  | { readonly kind: "lines"; readonly lines: readonly string[] }
  /** A line is too large to be parsed, and no response in whose place an error can be. What follows is discarded. */
  | { readonly kind: "too-large"; readonly more: string };

export class Lines {
  readonly #longest: number;
  #pieces: Buffer[] = [];
  #length = 0;
  #size = new JsonSize();
  /** The last bytes of a line that is too long. Its pieces end where it became that. */
  #end: Buffer | undefined;

  /** `longest`: bytes of a line. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  push(piece: Buffer): LinesRead {
    const lines: string[] = [];
    let rest = piece;
    for (let end = rest.indexOf(newline); end !== -1; end = rest.indexOf(newline)) {
      this.#add(rest.subarray(0, end));
      const more = this.#tooLarge();
      if (more !== undefined) return { kind: "too-large", more };
      const line = this.#end === undefined ? this.#text() : this.#refusal(this.#end);
      if (line === undefined) return { kind: "too-large", more: megabytes(this.#longest) };
      lines.push(line);
      this.#pieces = [];
      this.#length = 0;
      this.#size = new JsonSize();
      this.#end = undefined;
      rest = rest.subarray(end + 1);
    }
    this.#add(rest);
    const more = this.#tooLarge();
    return more === undefined ? { kind: "lines", lines } : { kind: "too-large", more };
  }

  #add(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#length += piece.length;
    if (this.#end !== undefined) {
      this.#end = Buffer.concat([this.#end, piece.subarray(-edge)]).subarray(-edge);
      return;
    }
    this.#size.add(piece);
    if (this.#length > this.#longest) {
      const beginning = Buffer.concat(this.#pieces.concat(piece).slice(0, edge), edge);
      this.#pieces = [beginning];
      this.#end = Buffer.from(piece.subarray(-edge));
    } else this.#pieces.push(piece);
  }

  #text(): string {
    return Buffer.concat(this.#pieces).toString("utf8").replace(/\r$/, "");
  }

  /** An error for the request that the line answers. Undefined if it can't be seen which one that is. */
  #refusal(end: Buffer): string | undefined {
    const beginning = Buffer.concat(this.#pieces).toString("latin1");
    const id = idAtBeginning(beginning) ?? idAtEnd(end.toString("latin1"));
    if (id === undefined || !isResponse.test(beginning)) return undefined;
    const message = `The answer of the server has more than ${megabytes(this.#longest)}.`;
    return JSON.stringify({ jsonrpc: "2.0", id, error: { code: tooLong, message } });
  }

  #tooLarge(): string | undefined {
    return tooLarge(this.#length, this.#longest * longestSkipped, this.#size);
  }
}

/** The limit that a message exceeds, in words. Undefined if it may be parsed. */
export function tooLarge(length: number, longest: number, size: JsonSize): string | undefined {
  if (length > longest) return megabytes(longest);
  return size.isTooLarge ? `${mostValues} values` : undefined;
}

function megabytes(bytes: number): string {
  return `${bytes / (1024 * 1024)} MB`;
}

/** Its result or error is the first of its fields that may be long. */
const isResponse =
  /^\s*\{\s*(?:"(?:jsonrpc|id)"\s*:\s*(?:"2\.0"|\d{1,15})\s*,\s*){0,2}"(?:result|error)"\s*:/;

function idAtBeginning(text: string): number | undefined {
  const [, id] =
    /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,/.exec(text) ?? [];
  return id === undefined ? undefined : Number(id);
}

function idAtEnd(text: string): number | undefined {
  const [, id] =
    /"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(text) ?? [];
  return id === undefined ? undefined : Number(id);
}
