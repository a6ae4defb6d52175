/** Lines of a stream that comes in pieces. Each byte is looked at once, whatever the length of a line. */

const newline = 0x0a;

export class Lines {
  readonly #longest: number;
  #pieces: Buffer[] = [];
  #length = 0;

  /** `longest`: bytes of a line. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** The lines that this piece ends, without their ends. Undefined: one is too long, and the rest is lost. */
  push(piece: Buffer): readonly string[] | undefined {
    const lines: string[] = [];
    let rest = piece;
    for (let end = rest.indexOf(newline); end !== -1; end = rest.indexOf(newline)) {
      this.#add(rest.subarray(0, end));
      if (this.#length > this.#longest) return undefined;
      lines.push(Buffer.concat(this.#pieces).toString("utf8").replace(/\r$/, ""));
      this.#pieces = [];
      this.#length = 0;
      rest = rest.subarray(end + 1);
    }
    this.#add(rest);
    return this.#length > this.#longest ? undefined : lines;
  }

  #add(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.#length += piece.length;
  }
}
