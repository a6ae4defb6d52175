/**
 * Where a text can be cut without cutting a secret in two, found while the text comes in, one character at a time.
 *
 * A place is safe when nothing that the redactor looks for can begin before it and end behind it, whatever comes:
 *
 * - no known secret: the last bytes are no inner part of one. A word in which something is hidden, escaped or
 *   percent-encoded could stand for anything, so there is no cut in it or right behind it;
 * - no base64 or hex: the run ends before the place. Line breaks do not end one, nor do separators between
 *   digits of hex;
 * - no pattern of `secret-patterns.ts`: those that go over white space are known here by name, the others end
 *   with a word or with a character that none of them has.
 *
 * Whether a place is safe is decided by what stands before it alone, so it does not depend on the pieces in which
 * a text arrives. The memory is the last hundred characters.
 */
import { HiddenReader } from "./hidden-text.ts";
import { hexValue } from "./plain-bytes.ts";

export interface Unfinished {
  /** Whether a known secret may go on behind the last `count` (up to 4) bytes, the latest one the lowest of `bytes`. */
  readonly goesOn: (bytes: number, count: number) => boolean;
}

/** The longest that a marker or a scheme of the patterns is, and some. */
const RECENT = 100;
/** So far behind its beginning the end of a private key is looked for, in UTF-16 units. */
export const MAX_KEY = 16 * 1024;

/** A pattern goes on behind white space. */
const schemeBefore =
  /(?:authorization\\{0,4}["'`]?(?:\s{0,8}[:=])?|bearer|basic|-----(?:BEGIN|END) [A-Z0-9 ]{0,60}|-----(?:BEGIN|END))\s*$/i;
const keyBegins = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----$/;
const keyEnds = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----$/;

const LF = 0x0a;
const DASH = 0x2d;
const SLASH = 0x2f;
const SPACE = 0x20;
const EQUALS = 0x3d;

/** What a character does to a run of base64 or hex; OTHER ends both. */
const OTHER = 0;
const SEPARATOR = 1;
const LETTER = 2;
const DIGIT = 3;
/** Base64, and it may stand between digits of hex. */
const BETWEEN = 4;
const kinds = new Uint8Array(128);
for (let code = 0; code < 128; code += 1) {
  const sign = String.fromCharCode(code);
  if ((hexValue[code] ?? 16) < 16) kinds[code] = DIGIT;
  else if (/[xX-]/.test(sign)) kinds[code] = BETWEEN;
  else if (/[\w+/=]/.test(sign)) kinds[code] = LETTER;
  else if (/[ ,:]/.test(sign)) kinds[code] = SEPARATOR;
}
/** In no pattern but that of a URL with a password. */
const endsPatterns = new Uint8Array(128);
for (const sign of "()[]{}<>;|!?#&*^$@") endsPatterns[sign.charCodeAt(0)] = 1;
/** Visible, and of no meaning to an escape, a marker or a URL. A space is among them. */
const ordinary = new Uint8Array(128).fill(1, 0x20, 0x7f);
for (const sign of "-/\\%&=") ordinary[sign.charCodeAt(0)] = 0;
/** May stand between a word of `schemeBefore` and the end. */
const behindScheme = new Uint8Array(128);
for (const sign of "\t\n\v\f\r \"'`:=\\") behindScheme[sign.charCodeAt(0)] = 1;

export class CutFinder {
  readonly #unfinished: () => Unfinished;
  readonly #hidden = new HiddenReader();
  #recent = "";
  /** The last characters that are seen, for as long as something is hidden among them. */
  #seen: string | undefined;
  #sinceHidden = 0;
  /** Of the current word, or the last one. */
  #inWord = false;
  #escaped = false;
  #hasScheme = false;
  /** The word is the value behind a scheme, such as `Bearer`. */
  #isValue = false;
  #hexOpen = false;
  #base64Open = false;
  /** Only indentation since the end of the line, which the search leaves out. */
  #indented = false;
  /** The last bytes that the search sees, and how many of them are known, up to 4. */
  #bytes = 0;
  #count = 0;
  #dashes = 0;
  /** Characters since five of them stood in a row. */
  #sinceDashes = Infinity;
  #slashes = 0;
  /** Characters since a private key began; undefined: in none. */
  #key: number | undefined;

  constructor(unfinished: () => Unfinished) {
    this.#unfinished = unfinished;
  }

  /** Takes in a piece: `cut` is called with the offset behind every character where it may be cut, in order. */
  read(piece: string, cut: (offset: number) => void): void {
    const text = this.#recent + piece;
    const start = this.#recent.length;
    for (let at = start; at < text.length;) {
      at = this.#ordinary(text, at, (end) => cut(end - start));
      if (at === text.length) break;
      if (this.#next(text.charCodeAt(at), text, at)) cut(at - start + 1);
      at += 1;
    }
    this.#recent = text.slice(-RECENT);
  }

  /**
   * Reads on to the first character that is not ordinary, and returns its place. It does nothing that the methods
   * below don't do, but most of a text is ordinary, and here a character takes a fifth of the time.
   */
  #ordinary(text: string, from: number, cut: (end: number) => void): number {
    if (this.#seen !== undefined || this.#key !== undefined || !this.#hidden.isOutside) return from;
    if (text.charCodeAt(from - 1) === EQUALS) return from;
    const { goesOn } = this.#unfinished();
    let inWord = this.#inWord;
    let escaped = this.#escaped;
    let hasScheme = this.#hasScheme;
    let isValue = this.#isValue;
    let hexOpen = this.#hexOpen;
    let base64Open = this.#base64Open;
    let indented = this.#indented;
    let bytes = this.#bytes;
    let count = this.#count;
    let at = from;
    for (; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > 0x7f || ordinary[code] === 0) break;
      if (code === SPACE) {
        if (inWord) {
          const sinceDashes = this.#sinceDashes + at - from + 1;
          if (escaped || sinceDashes <= RECENT || mayEndScheme(text, at)) break;
          inWord = false;
          isValue = false;
        }
        if (indented || escaped) continue;
        base64Open = false;
      } else {
        if (!inWord) {
          inWord = true;
          hasScheme = false;
          escaped = false;
        }
        indented = false;
        if (escaped) continue;
        const kind = kinds[code] ?? OTHER;
        if (kind === DIGIT) hexOpen = true;
        else if (kind === OTHER || kind === LETTER) hexOpen = false;
        base64Open = kind !== OTHER && kind !== SEPARATOR;
      }
      bytes = ((bytes << 8) | code) >>> 0;
      if (count < 4) count += 1;
      if (isValue || hexOpen || (code !== SPACE && (hasScheme || endsPatterns[code] !== 1)))
        continue;
      if (!goesOn(bytes, count)) cut(at + 1);
    }
    if (at === from) return at;
    this.#inWord = inWord;
    this.#escaped = escaped;
    this.#hasScheme = hasScheme;
    this.#isValue = isValue;
    this.#hexOpen = hexOpen;
    this.#base64Open = base64Open;
    this.#indented = indented;
    this.#bytes = bytes;
    this.#count = count;
    this.#dashes = 0;
    this.#slashes = 0;
    this.#sinceDashes += at - from;
    return at;
  }

  /** What began before is masked already: its end is of no interest any more. */
  leaveKey(): void {
    this.#key = undefined;
  }

  #next(code: number, text: string, at: number): boolean {
    const isPair = code >= 0xdc00 && code <= 0xdfff;
    // The first half of a pair without the second one is hidden: that is known now.
    if (!isPair && isHigh(text.charCodeAt(at - 1))) this.#conceal(text, at);
    if (this.#hidden.hides(code)) {
      this.#conceal(text, at);
      this.#dash(code, text, at);
      return false;
    }
    const isSafe = this.#see(code, text, at);
    if (this.#seen !== undefined) {
      this.#sinceHidden += 1;
      this.#seen = this.#sinceHidden > RECENT ? undefined : this.#seen + text.charAt(at);
    }
    return isSafe;
  }

  /** What is hidden ends no word, and makes one. */
  #conceal(text: string, at: number): void {
    this.#seen = (this.#seen ?? text.slice(0, at)).slice(-RECENT);
    this.#sinceHidden = 0;
    if (!this.#inWord) {
      this.#inWord = true;
      this.#hasScheme = false;
    }
    this.#indented = false;
    this.#escaped = true;
  }

  #see(code: number, text: string, at: number): boolean {
    this.#sinceDashes += 1;
    if (this.#key !== undefined) {
      this.#key += 1;
      if (this.#key > MAX_KEY) this.#key = undefined;
    }
    if (code === SPACE || code === LF || code === 0x0d || code === 0x09) {
      return this.#space(code, text, at);
    }
    if (code > 0x7f && isSpace(code)) {
      // The search takes it for a letter, and a pattern for white space.
      this.#word(code, text, at);
      this.#isValue ||= this.#isScheme(text, at);
      return false;
    }
    return this.#word(code, text, at);
  }

  #space(code: number, text: string, at: number): boolean {
    if (this.#inWord) {
      // So quoted-printable breaks a line.
      if (text.charCodeAt(at - 1) === EQUALS && (code === LF || code === 0x0d))
        this.#escaped = true;
      this.#inWord = false;
      this.#isValue = this.#isScheme(text, at);
      if (this.#escaped) {
        this.#hexOpen = true;
        this.#base64Open = true;
        this.#count = 0;
      }
    }
    this.#dashes = 0;
    this.#slashes = 0;
    if (code === LF || code === 0x0d) {
      this.#indented = true;
      // Of `=` there may be more: it is padding.
      return code === LF && !this.#base64Open && this.#isSafe() && !this.#escaped;
    }
    if (this.#indented || this.#escaped) return false;
    this.#base64Open = false;
    if (code !== SPACE) this.#hexOpen = false;
    this.#push(code);
    return this.#isSafe();
  }

  #word(code: number, text: string, at: number): boolean {
    if (!this.#inWord) {
      this.#inWord = true;
      this.#hasScheme = false;
      this.#escaped = false;
    }
    this.#indented = false;
    if (code !== DASH) this.#dashes = 0;
    this.#dash(code, text, at);
    if (code === SLASH && this.#slashes === 1) this.#hasScheme = true;
    this.#slashes = code === SLASH ? this.#slashes + 1 : 0;
    if (isEscape(code, text.charCodeAt(at - 1))) this.#escaped = true;
    if (this.#escaped) return false;
    const kind = code < 0x80 ? (kinds[code] ?? OTHER) : OTHER;
    if (kind === DIGIT) this.#hexOpen = true;
    else if (kind === OTHER || kind === LETTER) this.#hexOpen = false;
    this.#base64Open = kind !== OTHER && kind !== SEPARATOR;
    if (code > 0x7f) {
      // Of a character of several bytes the last one is enough.
      this.#bytes = 0x80 | (code & 0x3f);
      this.#count = 1;
      // A surrogate pair is one character.
      if (code >= 0xd800 && code <= 0xdbff) return false;
    } else {
      this.#push(code);
      if (endsPatterns[code] !== 1) return false;
    }
    return !this.#hasScheme && this.#isSafe();
  }

  /** Whether a pattern goes on with what follows `at`. Most words end in another way. */
  #isScheme(text: string, at: number): boolean {
    const seen = this.#seen;
    if (this.#sinceDashes > RECENT && !mayEndScheme(text, at)) {
      if (seen === undefined || !mayEndScheme(seen, seen.length)) return false;
    }
    if (schemeBefore.test(text.slice(Math.max(0, at - RECENT), at))) return true;
    return seen !== undefined && schemeBefore.test(seen);
  }

  #dash(code: number, text: string, at: number): void {
    if (code !== DASH) return;
    this.#dashes += 1;
    if (this.#dashes < 5) return;
    this.#sinceDashes = 0;
    // A marker ends with five, behind a letter.
    if (this.#dashes > 5 && this.#seen === undefined) return;
    this.#marker(text.slice(Math.max(0, at + 1 - RECENT), at + 1));
    if (this.#seen !== undefined) this.#marker(`${this.#seen}-`);
  }

  #marker(recent: string): void {
    if (keyBegins.test(recent)) this.#key = 0;
    else if (keyEnds.test(recent)) this.#key = undefined;
  }

  #push(byte: number): void {
    this.#bytes = ((this.#bytes << 8) | byte) >>> 0;
    if (this.#count < 4) this.#count += 1;
  }

  #isSafe(): boolean {
    return (
      !this.#isValue &&
      !this.#hexOpen &&
      this.#key === undefined &&
      !this.#unfinished().goesOn(this.#bytes, this.#count)
    );
  }
}

/** What `schemeBefore` takes, and more; but no marker, which has five dashes in a row. */
function mayEndScheme(text: string, at: number): boolean {
  const first = Math.max(0, at - RECENT);
  let end = at;
  while (end > first) {
    const code = text.charCodeAt(end - 1);
    if (code > 0x7f ? !isSpace(code) : behindScheme[code] === 0) break;
    end -= 1;
  }
  if (end - first < 2) return false;
  // `authorization`, `bearer` and `basic`, in either case.
  const [before, last] = [text.charCodeAt(end - 2) | 0x20, text.charCodeAt(end - 1) | 0x20];
  return (
    (last === 0x6e && before === 0x6f) ||
    (last === 0x72 && before === 0x65) ||
    (last === 0x63 && before === 0x69)
  );
}

/** White space, as expressions have it, behind ASCII. */
function isSpace(code: number): boolean {
  if (code < 0x1680) return code === 0xa0;
  if (code < 0x3000) {
    return (
      code === 0x1680 ||
      (code >= 0x2000 && code <= 0x200a) ||
      code === 0x2028 ||
      code === 0x2029 ||
      code === 0x202f ||
      code === 0x205f
    );
  }
  return code === 0x3000 || code === 0xfeff;
}

/** A backslash, a percent sign, an ampersand, or the first digit of quoted-printable. */
function isEscape(code: number, before: number): boolean {
  if (code === 0x5c || code === 0x25 || code === 0x26) return true;
  return before === EQUALS && code <= 0x46 && kinds[code] === DIGIT;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
