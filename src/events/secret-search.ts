/**
 * Where a text holds a known secret, in whatever form programs write it down. Owns the forms, by undoing them:
 *
 * - as it stands, and without the escapes and line breaks that `plainBytes` removes;
 * - inside base64 (both alphabets, at any alignment, in lines of any length), hex (in either case, also with
 *   separators), in which everything is searched again, `MAX_NESTED` deep; and as decimal numbers of bytes.
 *
 * The time is linear in the text: one look-up for each byte, whatever the number of secrets, and what is decoded
 * is bounded by a multiple of the text. A run that would exceed that, which only a text made for it does, is
 * taken for a secret as a whole.
 */
import { createByteAutomaton, type ByteAutomaton } from "./byte-automaton.ts";
import { decimalBytes, decodeBase64, sextets } from "./decoded-bytes.ts";
import { endOfPlain, hexValue, isStillQuoted, plainBytes, type PlainBytes } from "./plain-bytes.ts";
import { secretNeedles } from "./secret-forms.ts";
import type { Span } from "./secret-patterns.ts";

/** So many bytes of a secret are its beginning; fewer are a part of too many ordinary words. */
const MIN_BEGINNING = 4;
/** So many characters without one that is no hexadecimal digit are no base64. */
const ONLY_HEX = 64;
/** Base64 in base64 and the like. */
const MAX_NESTED = 3;
/** Bytes decoded of a text: its length that many times, and some. */
const DECODED_TIMES = 8;
const DECODED_MORE = 64 * 1024;
/** A shorter needle is not looked for over the end of a line, where ordinary words meet. */
const MIN_ACROSS_LINES = 8;

export interface SecretSearch {
  /** In UTF-16 units; they may overlap and come in no order. */
  readonly spans: (text: string) => readonly Span[];
  /** The same for what at the end of the text is the beginning of a needle, of at least four bytes. */
  readonly beginnings: (text: string) => readonly Span[];
  /** Bytes that all searches together have gone through, what was decoded included. */
  readonly searched: () => number;
  /** Whether a needle may go on behind the last `count` (up to 4) bytes, the latest one the lowest of `bytes`. */
  readonly goesOn: (bytes: number, count: number) => boolean;
  /** Bytes of the longest needle in UTF-8. */
  readonly longest: number;
}

export function createSecretSearch(secrets: Iterable<string>): SecretSearch {
  const needles = new Map<string, Uint8Array>();
  let longest = 0;
  for (const secret of secrets) {
    const { utf8, other } = secretNeedles(secret);
    for (const needle of utf8) longest = Math.max(longest, needle.length);
    for (const needle of [...utf8, ...other]) needles.set(needle.join(), needle);
  }
  const automaton = createByteAutomaton([...needles.values()]);
  let begun: ByteAutomaton | undefined;
  let searched = 0;
  const search = (text: string, needles: ByteAutomaton, onlyAtEnd: boolean): readonly Span[] => {
    if (text.length * 3 < needles.shortest) return [];
    const bytes = new TextEncoder().encode(text);
    const left = bytes.length * DECODED_TIMES + DECODED_MORE;
    const one = new Search(needles, left, onlyAtEnd);
    const spans = one.scan(bytes, bytes.length, 0);
    searched += one.searched;
    return bytes.length === text.length ? spans : inUnits(text, spans);
  };
  return {
    longest,
    searched: () => searched,
    spans: (text) => search(text, automaton, false),
    beginnings: (text) => search(text, (begun ??= ofBeginnings([...needles.values()])), true),
    goesOn: createGoesOn([...needles.values()], automaton),
  };
}

/** Finds the longest beginning of a needle that is not the whole of it. */
function ofBeginnings(needles: readonly Uint8Array[]): ByteAutomaton {
  const automaton = createByteAutomaton(needles.map((needle) => needle.subarray(0, -1)));
  const { ending, depth } = automaton;
  return {
    ...automaton,
    shortest: MIN_BEGINNING,
    ending: ending.map((_, state) => (depth(state) >= MIN_BEGINNING ? 1 : 0)),
    found: (state) => [depth(state)],
  };
}

/** By the last bytes alone: a longer memory would have to know how the text before them was encoded. */
function createGoesOn(
  needles: readonly Uint8Array[],
  { next, classes, depth }: ByteAutomaton,
): SecretSearch["goesOn"] {
  let inner: Set<number> | undefined;
  return (bytes, count) => {
    if (classes[bytes & 0xff] === 0) return false;
    if (count < 4) return true;
    inner ??= innerParts(needles);
    if (inner.has(bytes)) return true;
    let state = 0;
    for (let shift = 24; shift >= 0; shift -= 8) {
      state = next[state + (classes[(bytes >>> shift) & 0xff] ?? 0)] ?? 0;
    }
    return depth(state) > 0;
  };
}

/** Every four bytes of a needle behind which it goes on. */
function innerParts(needles: readonly Uint8Array[]): Set<number> {
  const parts = new Set<number>();
  for (const needle of needles) {
    let bytes = 0;
    for (const [index, byte] of needle.entries()) {
      bytes = ((bytes << 8) | byte) >>> 0;
      if (index >= 3 && index < needle.length - 1) parts.add(bytes);
    }
  }
  return parts;
}

const EQUALS = 0x3d;
const ZERO = 0x30;
const NINE = 0x39;

/** What a byte can be a part of. From `BASE64` on it is a character of base64. */
const OTHER = 0;
const SEPARATOR = 1;
const BASE64 = 2;
/** Stands between two bytes in hex, and is base64: `-`, and the `x` of `0x`. */
const DASH = 3;
const X = 4;
const DIGIT = 5;
const kinds = new Uint8Array(256);
for (let byte = 0; byte < 256; byte += 1) {
  if ((sextets[byte] ?? 64) < 64) kinds[byte] = BASE64;
  if ((hexValue[byte] ?? 16) < 16) kinds[byte] = DIGIT;
}
for (const sign of " ,:") kinds[sign.charCodeAt(0)] = SEPARATOR;
for (const sign of "xX") kinds[sign.charCodeAt(0)] = X;
kinds["-".charCodeAt(0)] = DASH;
const none: readonly Span[] = [];

class Search {
  searched = 0;
  readonly #automaton: ByteAutomaton;
  /** Bytes that may still be decoded. */
  #left: number;
  /** Nothing else of the text is of interest. */
  readonly #onlyAtEnd: boolean;

  constructor(automaton: ByteAutomaton, left: number, onlyAtEnd: boolean) {
    this.#automaton = automaton;
    this.#left = left;
    this.#onlyAtEnd = onlyAtEnd;
  }

  scan(source: Uint8Array, length: number, nested: number): readonly Span[] {
    const { shortest, found } = this.#automaton;
    if (length < shortest) return none;
    this.searched += length;
    let spans: Span[] = [];
    let inPlain: Span[] = [];
    const plain = plainBytes(source, length, this.#automaton, (where, end, state) => {
      const list = where === "plain" ? inPlain : spans;
      // Where a short needle does not count, a longer one may, and the other way round.
      for (const size of found(state)) addSpan(list, end - size, end);
    });
    if (this.#onlyAtEnd) {
      const end = endOfSource(source, length, plain);
      spans = spans.filter(({ to }) => to >= end);
      inPlain = inPlain.filter(({ to }) => to === plain.length);
    }
    for (const { from, to } of inPlain) {
      if (to - from >= MIN_ACROSS_LINES || isWhole(source, length, plain.from, from, to)) {
        spans.push(placed(source, length, plain, from, to));
      }
    }
    if (plain.from !== undefined && isStillQuoted(plain)) {
      if (!this.#take(plain.length)) return [{ from: 0, to: endOfWords(source, length) }];
      for (const { from, to } of this.scan(plain.bytes, plain.length, nested)) {
        spans.push(placed(source, length, plain, from, to));
      }
    }
    if (nested < MAX_NESTED) {
      const { from: origin } = plain;
      const isBroken =
        origin && ((at: number) => isGap(source, length, origin[at - 1] ?? 0, origin[at] ?? 0));
      for (const { from, to } of this.#encoded(plain, isBroken, nested)) {
        const span = placed(source, length, plain, from, to);
        // Before a line break, padding looks like quoted-printable.
        let end = span.to;
        while (end < length && source[end] === EQUALS) end += 1;
        spans.push({ from: span.from, to: end });
      }
    }
    return spans;
  }

  /** Runs of base64 and of hex, or of decimal numbers: the look-out for all is one pass. */
  #encoded(
    { bytes, length }: PlainBytes,
    isBroken: ((at: number) => boolean) | undefined,
    nested: number,
  ): readonly Span[] {
    const { shortest } = this.#automaton;
    const leastBase64 = Math.ceil((shortest * 4) / 3);
    const leastHex = shortest * 2;
    const spans: Span[] = [];
    const isWanted = (end: number): boolean => end === length || !this.#onlyAtEnd;
    let base64Start = 0;
    let hexStart = 0;
    let digits = 0;
    for (let at = 0; at <= length; at += 1) {
      const kind = at < length ? (kinds[bytes[at] ?? 0] ?? OTHER) : OTHER;
      if (kind === DIGIT) {
        digits += 1;
        continue;
      }
      if (kind < BASE64) {
        const run = at - base64Start;
        if (isWanted(at) && run >= leastBase64 && (run < ONLY_HEX || digits < run))
          this.#inBase64(bytes, base64Start, at, nested, spans);
        base64Start = at + 1;
      }
      if (kind === OTHER || kind === BASE64) {
        if (isWanted(at) && digits >= leastHex) {
          this.#inHex(bytes, hexStart, at, nested, spans);
          if (isBroken !== undefined || at - hexStart > digits)
            this.#inDecimals(bytes, hexStart, at, isBroken, spans);
        }
        digits = 0;
        hexStart = at + 1;
      }
    }
    return spans;
  }

  /** Nobody knows where in the run the encoded text begins: at each of the four alignments. */
  #inBase64(bytes: Uint8Array, start: number, end: number, nested: number, spans: Span[]): void {
    let padded = end;
    while (padded < bytes.length && bytes[padded] === EQUALS) padded += 1;
    for (let lane = start; lane < start + 4; lane += 1) {
      const decoded = new Uint8Array(Math.max(0, Math.floor(((end - lane) * 3) / 4)));
      if (!this.#take(decoded.length)) {
        spans.push({ from: start, to: end });
        return;
      }
      decodeBase64(bytes, lane, decoded);
      for (const { from, to } of this.scan(decoded, decoded.length, nested + 1)) {
        const last = lane + Math.ceil((to * 4) / 3);
        spans.push({ from: lane + Math.floor((from * 4) / 3), to: last === end ? padded : last });
      }
    }
  }

  /** Between `start` and `end` are digits, separators and the `x` of `0x`. */
  #inHex(bytes: Uint8Array, start: number, end: number, nested: number, spans: Span[]): void {
    const places = digitPlaces(bytes, start, end);
    for (let lane = 0; lane < 2; lane += 1) {
      const decoded = new Uint8Array(Math.max(0, Math.floor((places.length - lane) / 2)));
      if (!this.#take(decoded.length)) {
        spans.push({ from: start, to: end });
        return;
      }
      for (let index = 0; index < decoded.length; index += 1) {
        const high = hexValue[bytes[places[lane + index * 2] ?? 0] ?? 0] ?? 0;
        const low = hexValue[bytes[places[lane + index * 2 + 1] ?? 0] ?? 0] ?? 0;
        decoded[index] = high * 16 + low;
      }
      for (const { from, to } of this.scan(decoded, decoded.length, nested + 1)) {
        const last = places[lane + to * 2 - 1] ?? 0;
        spans.push({ from: places[lane + from * 2] ?? 0, to: last + 1 });
      }
    }
  }

  /** The same as bytes in decimal, in which nothing is decoded: tables of numbers are common. */
  #inDecimals(
    bytes: Uint8Array,
    start: number,
    end: number,
    isBroken: ((at: number) => boolean) | undefined,
    spans: Span[],
  ): void {
    const { decoded, starts, isOpen } = decimalBytes(bytes, start, end, isBroken);
    if (!this.#take(decoded.length)) {
      spans.push({ from: start, to: end });
      return;
    }
    // The last number may go on.
    const length = isOpen && this.#onlyAtEnd ? decoded.length - 1 : decoded.length;
    for (const { from, to } of this.scan(decoded, length, MAX_NESTED)) {
      let last = (starts[to - 1] ?? 0) + 1;
      while (last < end && (bytes[last] ?? 0) >= ZERO && (bytes[last] ?? 0) <= NINE) {
        if (isBroken?.(last) === true) break;
        last += 1;
      }
      spans.push({ from: starts[from] ?? 0, to: last });
    }
  }

  #take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }
}

/** Overlapping finds are one span, so that a needle in a text like "aaaa…" stays linear in memory. */
function addSpan(spans: Span[], from: number, to: number): void {
  const last = spans.at(-1);
  if (last !== undefined && last.from <= from && from < last.to) {
    spans[spans.length - 1] = { from: last.from, to: Math.max(to, last.to) };
  } else {
    spans.push({ from, to });
  }
}

function placed(
  source: Uint8Array,
  length: number,
  { from: origin }: PlainBytes,
  from: number,
  to: number,
): Span {
  if (origin === undefined) return { from, to };
  return { from: origin[from] ?? 0, to: endOfPlain(source, length, origin[to - 1] ?? 0) };
}

/** Behind the last byte that is not left out. */
function endOfSource(
  source: Uint8Array,
  length: number,
  { from, length: filled }: PlainBytes,
): number {
  return from === undefined ? length : endOfPlain(source, length, from[filled - 1] ?? 0);
}

/** White space at the end is no part of a secret. */
function endOfWords(source: Uint8Array, length: number): number {
  let end = length;
  while (end > 0 && (source[end - 1] ?? 0) <= 0x20) end -= 1;
  return end;
}

/** Nothing was left out between the first and the last byte. */
function isWhole(
  source: Uint8Array,
  length: number,
  origin: Uint32Array | undefined,
  from: number,
  to: number,
): boolean {
  if (origin === undefined) return true;
  for (let at = from; at + 1 < to; at += 1) {
    const [here = 0, after = 0] = [origin[at], origin[at + 1]];
    if (isGap(source, length, here, after)) return false;
  }
  return true;
}

/** Something was left out between two neighbors. */
function isGap(source: Uint8Array, length: number, here: number, after: number): boolean {
  return here !== after && here + 1 !== after && endOfPlain(source, length, here) !== after;
}

/** Where the digits are. The zero of `0x` is none; but one that ends a pair may stand before an `x` by chance. */
function digitPlaces(bytes: Uint8Array, start: number, end: number): Uint32Array {
  const places = new Uint32Array(end - start);
  let count = 0;
  for (let at = start; at < end; at += 1) {
    const kind = kinds[bytes[at] ?? 0];
    if (kind === DIGIT) {
      places[count] = at;
      count += 1;
    } else if (kind === X && at > start && bytes[at - 1] === ZERO) {
      const isPart = at - 1 > start && kinds[bytes[at - 2] ?? 0] === DIGIT && count % 2 === 0;
      if (!isPart) count -= 1;
    }
  }
  return places.subarray(0, count);
}

/** From bytes of UTF-8 to UTF-16 units. */
function inUnits(text: string, spans: readonly Span[]): readonly Span[] {
  if (spans.length === 0) return spans;
  const wanted = [...new Set(spans.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  const units = new Map<number, number>();
  let byte = 0;
  let unit = 0;
  for (const offset of wanted) {
    while (byte < offset) {
      const code = text.codePointAt(unit) ?? 0;
      byte += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      unit += code < 0x10000 ? 1 : 2;
    }
    units.set(offset, unit);
  }
  return spans.map(({ from, to }) => ({ from: units.get(from) ?? 0, to: units.get(to) ?? 0 }));
}
