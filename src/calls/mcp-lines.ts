/** Lines of a stream that comes in pieces. Each byte is looked at once, whatever the length of a line. */
import { JsonSize, mostValues } from "./json-size.ts";

const newline = 0x0a;

export type LinesRead =
  /** Those that the piece ends, without their ends. */
  | { readonly kind: "lines"; readonly lines: readonly string[] }
  /** A line is too large to be parsed. What follows it is discarded. */
  | { readonly kind: "too-large"; readonly more: string };

export class Lines {
  readonly #longest: number;
  #pieces: Buffer[] = [];
  #length = 0;
  #size = new JsonSize();

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
      lines.push(Buffer.concat(this.#pieces).toString("utf8").replace(/\r$/, ""));
      this.#pieces = [];
      this.#length = 0;
      this.#size = new JsonSize();
      rest = rest.subarray(end + 1);
    }
    this.#add(rest);
    const more = this.#tooLarge();
    return more === undefined ? { kind: "lines", lines } : { kind: "too-large", more };
  }

  #add(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.#length += piece.length;
    this.#size.add(piece);
  }

  #tooLarge(): string | undefined {
    return tooLarge(this.#length, this.#longest, this.#size);
  }
}

/** The limit that a message exceeds, in words. Undefined if it may be parsed. */
export function tooLarge(length: number, longest: number, size: JsonSize): string | undefined {
  if (length > longest) return `${longest / (1024 * 1024)} MB`;
  return size.isTooLarge ? `${mostValues} values` : undefined;
}
