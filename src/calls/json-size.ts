/**
 * How many values a JSON text has, and how deeply they are nested, before it is parsed. Parsing and copying take time for
 * each value, not for each character: `[],[],…` of ten megabytes takes seconds, in which nothing else goes on.
 */

/** Values of a result or a message. */
export const mostValues = 100_000;
const deepest = 100;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openList = 0x5b;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/** Counts a text in pieces, and each byte once. For a text that is not JSON, the numbers mean nothing. */
export class JsonSize {
  /** At most one too many for each empty list or object. */
  values = 1;
  #depth = 0;
  #deepest = 0;
  #inString = false;
  #isEscaped = false;

  get isTooLarge(): boolean {
    return this.values > mostValues;
  }

  get isTooDeep(): boolean {
    return this.#deepest > deepest;
  }

  add(bytes: Uint8Array): void {
    const { length } = bytes;
    let inString = this.#inString;
    let isEscaped = this.#isEscaped;
    // Not an iterator: it takes ten times as long.
    for (let index = 0; index < length; index += 1) {
      const byte = bytes[index] ?? 0;
      if (inString) {
        if (isEscaped) isEscaped = false;
        else if (byte === backslash) isEscaped = true;
        else if (byte === quote) inString = false;
      } else if (byte === quote) inString = true;
      else if (byte === comma) this.values += 1;
      else if (byte === openList || byte === openObject) {
        this.values += 1;
        this.#depth += 1;
        this.#deepest = Math.max(this.#deepest, this.#depth);
      } else if (byte === closeList || byte === closeObject) this.#depth -= 1;
    }
    this.#inString = inString;
    this.#isEscaped = isEscaped;
  }
}
