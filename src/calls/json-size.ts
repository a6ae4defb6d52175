/**
 * How many values a JSON text has, and how deep they are nested, before it is parsed. Parsing and copying take time for
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

/** Counts in pieces of a text, and each byte once. What is no JSON may count as anything. */
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
    for (const byte of bytes) {
      if (this.#inString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === backslash) this.#isEscaped = true;
        else if (byte === quote) this.#inString = false;
        continue;
      }
      switch (byte) {
        case quote:
          this.#inString = true;
          break;
        case comma:
          this.values += 1;
          break;
        case openList:
        case openObject:
          this.values += 1;
          this.#depth += 1;
          this.#deepest = Math.max(this.#deepest, this.#depth);
          break;
        case closeList:
        case closeObject:
          this.#depth -= 1;
          break;
      }
    }
  }
}
