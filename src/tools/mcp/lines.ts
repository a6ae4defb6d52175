/** Messages of a stream that comes in pieces, one in each line. Each byte is looked at once. */

const newline = 0x0a;

export class Lines {
  readonly #longest: number;
  #pieces: Buffer[] = [];
  #length = 0;

  /** `longest`: bytes of a line. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** The lines that the piece ends, without their ends. Undefined if one is too long: nothing can be read after it. */
  push(piece: Buffer): readonly string[] | undefined {
    const lines: string[] = [];
    let rest = piece;
    for (let end = rest.indexOf(newline); end !== -1; end = rest.indexOf(newline)) {
      if (!this.#add(rest.subarray(0, end))) return undefined;
      lines.push(Buffer.concat(this.#pieces).toString("utf8").replace(/\r$/, ""));
      this.#pieces = [];
      this.#length = 0;
      rest = rest.subarray(end + 1);
    }
    return this.#add(rest) ? lines : undefined;
  }

  #add(piece: Buffer): boolean {
    this.#length += piece.length;
    if (this.#length > this.#longest) return false;
    this.#pieces.push(piece);
    return true;
  }
}
