/** Bytes from the text in which programs write them down. */

/** Of a base64 character of either alphabet; 64: it is none. */
export const sextets = new Uint8Array(256).fill(64);
for (const [value, sign] of Array.from(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
).entries()) {
  sextets[sign.charCodeAt(0)] = value;
}
sextets["-".charCodeAt(0)] = 62;
sextets["_".charCodeAt(0)] = 63;

/** Fills `decoded`; behind the last character of the run it may read what follows, for bits that it drops. */
export function decodeBase64(bytes: Uint8Array, start: number, decoded: Uint8Array): void {
  for (let at = start, filled = 0; filled < decoded.length; filled += 3, at += 4) {
    const first = sextets[bytes[at] ?? 0] ?? 0;
    const second = sextets[bytes[at + 1] ?? 0] ?? 0;
    const third = sextets[bytes[at + 2] ?? 0] ?? 0;
    const fourth = sextets[bytes[at + 3] ?? 0] ?? 0;
    // What is written behind the end of an array is dropped.
    decoded[filled] = (first << 2) | (second >> 4);
    decoded[filled + 1] = ((second & 15) << 4) | (third >> 2);
    decoded[filled + 2] = ((third & 3) << 6) | fourth;
  }
}

/** As programs print an array of bytes: `[104, 105]`, `104 105`. */
export interface DecimalBytes {
  readonly decoded: Uint8Array;
  /** Where the number of each byte begins. */
  readonly starts: Uint32Array;
  /** The last number reaches the end. */
  readonly isOpen: boolean;
}

/**
 * The numbers between `start` and `end`. `isBroken` tells whether something was left out before a place, such as the
 * end of a line: a number ends there. What is no byte is 0, which is in no text.
 */
export function decimalBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  isBroken: ((at: number) => boolean) | undefined,
): DecimalBytes {
  // There is something between two numbers.
  const most = isBroken === undefined ? (end - start + 1) >> 1 : end - start;
  const decoded = new Uint8Array(most);
  const starts = new Uint32Array(most);
  let count = 0;
  let value = -1;
  for (let at = start; at < end; at += 1) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) {
      value = -1;
      continue;
    }
    if (value < 0 || isBroken?.(at) === true) {
      starts[count] = at;
      count += 1;
      value = 0;
    }
    value = value > 255 ? value : value * 10 + digit;
    decoded[count - 1] = value > 255 ? 0 : value;
  }
  return { decoded: decoded.subarray(0, count), starts, isOpen: value >= 0 };
}
