/**
 * Undoes what programs do to a text when they quote it: JSON's escapes and those of other languages, however
 * often they were escaped again, percent-encoding likewise, the entities of HTML, quoted-printable, and line
 * breaks, with the indentation behind them.
 * What is left can be compared, and decoded where it is base64 or hex. Needles are looked for on the way, in the
 * text as it stands and in the plain one.
 *
 * Two texts may become the same (`a\\nb` and `ab`). That costs a mask too many now and then, never one too few:
 * needles are made plain in the same way, and what stands there to the letter is found as it stands.
 */
import type { ByteAutomaton } from "./byte-automaton.ts";

export interface PlainBytes {
  readonly bytes: Uint8Array;
  readonly length: number;
  /** Where each byte came from; undefined: nothing was changed. */
  readonly from: Uint32Array | undefined;
}

/** A needle ends before `end`, in the source or in the plain bytes. */
export type Found = (where: "source" | "plain", end: number, state: number) => void;

const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const AMPERSAND = 0x26;
const EQUALS = 0x3d;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const SEMICOLON = 0x3b;

const special = new Uint8Array(256);
for (const byte of [BACKSLASH, PERCENT, AMPERSAND, EQUALS, LF, CR]) special[byte] = 1;

/** Value of a hexadecimal digit; 16: it is none. */
export const hexValue = new Uint8Array(256).fill(16);
for (let value = 0; value < 16; value += 1) {
  hexValue[value.toString(16).charCodeAt(0)] = value;
  hexValue[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}

export function plainBytes(
  source: Uint8Array,
  length: number,
  { next, classes, ending }: ByteAutomaton,
  found: Found,
): PlainBytes {
  /** Of the plain bytes, and of the source while it is not `split`. */
  let state = 0;
  let first = 0;
  for (; first < length; first += 1) {
    const byte = source[first] ?? 0;
    if (special[byte] === 1) break;
    state = next[state + (classes[byte] ?? 0)] ?? 0;
    if (ending[state] === 1) found("source", first + 1, state);
  }
  if (first === length) return { bytes: source, length, from: undefined };

  const bytes = new Uint8Array(length);
  const from = new Uint32Array(length);
  bytes.set(source.subarray(0, first));
  for (let at = 0; at < first; at += 1) from[at] = at;
  let filled = first;
  let afterBreak = false;
  /** The break is one of quoted-printable, which may encode a space behind it. */
  let isSoft = false;
  let beforeEquals = 0;
  /** Of the source, from something that was undone until both have come to the same state again. */
  let sourceState = 0;
  let split = false;
  const put = (byte: number, at: number): void => {
    if (byte === LF || byte === CR) {
      if (afterBreak) return;
      afterBreak = true;
      isSoft = filled > first && bytes[filled - 1] === EQUALS;
      if (!isSoft) return;
      // So quoted-printable breaks a line.
      filled -= 1;
      state = beforeEquals;
      return;
    }
    if (afterBreak && (byte === SPACE || byte === TAB) && (!isSoft || source[at] === byte)) return;
    if (byte === EQUALS) beforeEquals = state;
    afterBreak = false;
    bytes[filled] = byte;
    from[filled] = at;
    filled += 1;
    state = next[state + (classes[byte] ?? 0)] ?? 0;
    if (ending[state] === 1) found("plain", filled, state);
  };
  const read = new Reader(source, length);
  for (let at = first; at < length;) {
    const byte = source[at] ?? 0;
    if (special[byte] === 0 && !split && !afterBreak) {
      bytes[filled] = byte;
      from[filled] = at;
      filled += 1;
      at += 1;
      state = next[state + (classes[byte] ?? 0)] ?? 0;
      if (ending[state] === 1) found("source", at, state);
      continue;
    }
    if (!split) sourceState = state;
    read.next = at;
    const taken = read.takeQuoted();
    if (taken === BACKSLASH) putCode(read.escaped(), at, put);
    else if (taken >= ENTITY) putCode(taken - ENTITY, at, put);
    else put(taken, at);
    for (; at < read.next; at += 1) {
      sourceState = next[sourceState + (classes[source[at] ?? 0] ?? 0)] ?? 0;
      if (ending[sourceState] === 1) found("source", at + 1, sourceState);
    }
    split = sourceState !== state;
  }
  return { bytes, length: filled, from };
}

function putCode(code: number, at: number, put: (byte: number, at: number) => void): void {
  if (code < 0) return;
  if (code < 0x80) put(code, at);
  else for (const part of new TextEncoder().encode(String.fromCodePoint(code))) put(part, at);
}

/** Where what begins at `at` ends: behind the escape, if it is one. */
export function endOfPlain(source: Uint8Array, length: number, at: number): number {
  const read = new Reader(source, length);
  read.next = at;
  if (read.takeQuoted() === BACKSLASH) read.escaped();
  return read.next;
}

/** An escape was escaped in another way, or percent-encoding percent-encoded byte by byte. */
export function isStillQuoted({ bytes, length }: PlainBytes): boolean {
  for (let at = 0; at < length; at += 1) {
    if (bytes[at] === BACKSLASH) return true;
    if (bytes[at] === PERCENT && new Reader(bytes, length).decodes(at)) return true;
    if (bytes[at] !== AMPERSAND && bytes[at] !== EQUALS) continue;
    if (new Reader(bytes, length).decodesQuoted(at)) return true;
  }
  return false;
}

/** `takeQuoted` returns an entity of HTML as the sum of this and its code point. */
const ENTITY = 0x100;
/** Of an entity: `&#x0010ffff;` and the like. */
const LONGEST_ENTITY = 12;
const entities = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);

class Reader {
  next = 0;
  readonly #source: Uint8Array;
  readonly #length: number;

  constructor(source: Uint8Array, length: number) {
    this.#source = source;
    this.#length = length;
  }

  /** There is a percent sign at `at`, and it means something. */
  decodes(at: number): boolean {
    return this.#pair(at + 1) >= 0;
  }

  /** The same for an ampersand, and for an equals sign. */
  decodesQuoted(at: number): boolean {
    this.next = at;
    this.takeQuoted();
    return this.next > at + 1;
  }

  /** What `take` takes, or the character of an entity (and `ENTITY`). */
  takeQuoted(): number {
    const byte = this.#source[this.next] ?? 0;
    if (byte === AMPERSAND) {
      this.next += 1;
      const code = this.#entity();
      return code === undefined ? byte : code + ENTITY;
    }
    return this.take();
  }

  /** Behind its ampersand. */
  #entity(): number | undefined {
    const start = this.next;
    let end = start;
    while (end < this.#length && end - start < LONGEST_ENTITY && this.#source[end] !== SEMICOLON)
      end += 1;
    if (end >= this.#length || this.#source[end] !== SEMICOLON) return undefined;
    const name = String.fromCharCode(...this.#source.subarray(start, end));
    const [, hex, decimal] = /^#(?:x([0-9a-f]+)|([0-9]+))$/i.exec(name) ?? [];
    const code =
      hex !== undefined
        ? Number.parseInt(hex, 16)
        : decimal !== undefined
          ? Number(decimal)
          : entities.get(name)?.charCodeAt(0);
    if (code === undefined || code > 0x10ffff) return undefined;
    this.next = end + 1;
    return code;
  }

  /** Behind an equals sign, which it is itself without two digits; those are capitals. */
  #printable(): number {
    const [high = 0, low = 0] = [this.#source[this.next], this.#source[this.next + 1]];
    const pair = high < 0x61 && low < 0x61 ? this.#pair(this.next) : -1;
    if (pair < 0) return EQUALS;
    this.next += 2;
    return pair;
  }

  #hex(at: number): number {
    return at < this.#length ? (hexValue[this.#source[at] ?? 0] ?? 16) : 16;
  }

  #pair(at: number): number {
    const high = this.#hex(at);
    const low = this.#hex(at + 1);
    return high > 15 || low > 15 ? -1 : high * 16 + low;
  }

  /** One byte, of quoted-printable or percent-decoded; `%2541`, encoded twice, is `A`, too. */
  take(): number {
    const byte = this.#source[this.next] ?? 0;
    this.next += 1;
    if (byte !== PERCENT) return byte === EQUALS ? this.#printable() : byte;
    let pair = this.#pair(this.next);
    if (pair < 0) return byte;
    while (pair === PERCENT) {
      const inner = this.#pair(this.next + 2);
      if (inner < 0) break;
      this.next += 2;
      pair = inner;
    }
    this.next += 2;
    return pair;
  }

  /** The character that a run of backslashes stands before, the first of which was taken; -1: none. */
  escaped(): number {
    const code = this.#escapedUnit();
    if (code < 0xd800 || code > 0xdbff) return code;
    const before = this.next;
    if (before < this.#length && this.take() === BACKSLASH) {
      const low = this.#escapedUnit();
      if (low >= 0xdc00 && low <= 0xdfff) return (code - 0xd800) * 0x400 + low - 0xdc00 + 0x10000;
    }
    this.next = before;
    return 0xfffd;
  }

  #escapedUnit(): number {
    let byte = BACKSLASH;
    let before = this.next;
    while (byte === BACKSLASH) {
      if (this.next >= this.#length) return -1;
      before = this.next;
      byte = this.take();
    }
    switch (byte) {
      case 0x6e: // n
      case 0x72: // r
        return LF;
      case 0x74: // t
        return TAB;
      case 0x62: // b
        return 0x08;
      case 0x66: // f
        return 0x0c;
      case 0x75: // u
        return this.#digits(4) ?? this.#braced() ?? byte;
      case 0x55: // U
        return this.#digits(8) ?? byte;
      case 0x78: // x
        return this.#digits(2) ?? byte;
      default:
        if (byte >= 0x30 && byte <= 0x33) return this.#octal(byte) ?? byte;
        if (byte < 0x80) return byte;
        // A part of a character: it is read by itself.
        this.next = before;
        return -1;
    }
  }

  /** Three digits, the first of which was taken. */
  #octal(first: number): number | undefined {
    const before = this.next;
    const [second, third] = [this.#takeDigit(), this.#takeDigit()];
    if (second < 8 && third < 8) return (first - 0x30) * 64 + second * 8 + third;
    this.next = before;
    return undefined;
  }

  /** `{1f600}` */
  #braced(): number | undefined {
    const before = this.next;
    if (this.next < this.#length && this.take() === 0x7b) {
      let value = 0;
      for (let count = 0; count < 7 && this.next < this.#length; count += 1) {
        const byte = this.take();
        if (byte === 0x7d && count > 0) return value > 0x10ffff ? 0xfffd : value;
        const digit = hexValue[byte] ?? 16;
        if (digit > 15) break;
        value = value * 16 + digit;
      }
    }
    this.next = before;
    return undefined;
  }

  /** 16: it is none. */
  #takeDigit(): number {
    return this.next < this.#length ? (hexValue[this.take()] ?? 16) : 16;
  }

  #digits(count: number): number | undefined {
    const before = this.next;
    let value = 0;
    for (let index = 0; index < count; index += 1) {
      const digit = this.#takeDigit();
      if (digit > 15) {
        this.next = before;
        return undefined;
      }
      value = value * 16 + digit;
    }
    return value > 0x10ffff ? 0xfffd : value;
  }
}
