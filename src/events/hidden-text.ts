/**
 * What of a text nobody sees: control characters, invisible ones, and the sequences by which a terminal is told to
 * color text, to move its cursor or to set its title. Whoever shows a text leaves them out, so a secret with some of
 * them between its characters is one in plain. Therefore the redactor looks at a text as it stands, without its
 * hidden characters, and without its sequences; whoever removes sequences from a text that was redacted does it
 * with `withoutSequences`.
 *
 * A sequence never goes over the end of a line. Line breaks and tabs are not hidden. The time is linear.
 */
import type { Span } from "./secret-patterns.ts";

const character = String.raw`[\0-\x08\v\f\x0e-\x1f\x7f-\x9f\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]`;
/** As JSON and other languages write them. */
const spelled = String.raw`(?<!\\)\\+(?:u(?:00(?:[0189]\p{AHex}|7[fF]|[aA][dD])|061[cC]|180[b-fB-F]|20(?:0[b-fB-F]|2[89a-eA-E]|6\p{AHex})|[fF][eE](?:0\p{AHex}|[fF]{2})|[dD][89a-fA-F]\p{AHex}{2})|x(?:[0189]\p{AHex}|7[fF])|0(?:33)?|[bevf])`;
const spelledEscape = String.raw`(?<!\\)\\+(?:u001[bB]|x1[bB]|033|e)`;

/**
 * Whatever is left behind holds no beginning of a sequence, so no second removal finds more.
 * `short`: what else an escape character may stand before.
 */
function sequence(escape: string, short: string): string {
  const controls = String.raw`(?:${escape}\[|\x9b)(?:[0-?]*[ -\/]*[@-~])?`;
  const body = String.raw`[^\n\r\x07\x1b\x90-\x9f\\]{0,2000}`;
  const texts = String.raw`${escape}[\]PX^_]${body}(?:\x07|\x9c|\\+u0007|${escape}\\+)`;
  const eightBit = String.raw`[\x90\x98\x9d-\x9f](?:${body}(?:\x07|\x9c|${escape}\\+))?`;
  return String.raw`${controls}|${texts}|${eightBit}|${escape}(?:${short})?`;
}

const twoCharacters = String.raw`[!-\/]*[0-~]`;
const sequences = new RegExp(sequence(String.raw`\x1b+`, twoCharacters), "gu");
const someHidden = new RegExp(`${character}|${spelled}`, "u");
const escapeBefore = new RegExp(String.raw`[\x1b\x90\x98\x9b\x9d-\x9f]|${spelledEscape}`, "u");
const characters = new RegExp(`(?:${character}|${spelled})+`, "gu");
const everything = all(twoCharacters);
/** An escape character by mistake hides nothing that follows. */
const loneEscapes = all("");
const loneEscape = new RegExp(String.raw`(?:\x1b|${spelledEscape})[!-Z\\-~]`, "u");
const oneCharacter = new RegExp(`^${character}$`, "u");

function all(short: string): RegExp {
  const escape = String.raw`(?:\x1b|${spelledEscape})+`;
  return new RegExp(`(?:${sequence(escape, short)}|${character}|${spelled})+`, "gu");
}

/** Without what tells a terminal something. */
export function withoutSequences(text: string): string {
  return text.replace(sequences, "");
}

/** Without all that nobody sees. */
export function visibleText(text: string): string {
  return someHidden.test(text) ? text.replace(everything, "") : text;
}

/** What `find` finds in a text, with and without what is hidden in it. */
export function spansInSight(text: string, find: (text: string) => readonly Span[]): Span[] {
  const found = [find(text)];
  if (someHidden.test(text)) {
    found.push(spansWithout(characters, text, find));
    if (escapeBefore.test(text)) found.push(spansWithout(everything, text, find));
    if (loneEscape.test(text)) found.push(spansWithout(loneEscapes, text, find));
  }
  // Not by `push(...)`: a text may hold more of them than a call may have arguments.
  return found.flat();
}

function spansWithout(
  hidden: RegExp,
  text: string,
  find: (text: string) => readonly Span[],
): readonly Span[] {
  /** Where each piece that is seen begins, among what is seen and in the text. */
  const starts: number[] = [];
  const origins: number[] = [];
  let seen = "";
  let end = 0;
  const piece = (from: number, to: number): void => {
    if (from === to) return;
    starts.push(seen.length);
    origins.push(from);
    seen += text.slice(from, to);
  };
  for (const match of text.matchAll(hidden)) {
    piece(end, match.index);
    end = match.index + match[0].length;
  }
  piece(end, text.length);
  const origin = (at: number): number => {
    let low = 0;
    for (let high = starts.length; high - low > 1;) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= at) low = middle;
      else high = middle;
    }
    return (origins[low] ?? 0) + at - (starts[low] ?? 0);
  };
  return find(seen)
    .filter(({ from, to }) => from < to)
    .map(({ from, to }) => ({ from: origin(from), to: origin(to - 1) + 1 }));
}

const ESC = 0x1b;

/** Of a UTF-16 unit that stands for itself: 1: it is hidden, 2: it is not. Expressions with classes are slow. */
const hiddenUnits = new Uint8Array(0x10000);

function isHiddenUnit(code: number): boolean {
  hiddenUnits[code] ||= oneCharacter.test(String.fromCharCode(code)) ? 1 : 2;
  return hiddenUnits[code] === 1;
}

/** Tells of one character after the other whether it is hidden, from those before it alone. */
export class HiddenReader {
  #inside: "none" | "escape" | "controls" | "text" = "none";
  #before = 0;

  /** In no sequence, and behind no half of a pair: a visible character of ASCII need not be read. */
  get isOutside(): boolean {
    return this.#inside === "none" && this.#before === 0;
  }

  /** `code`: a UTF-16 unit. Of a pair the second one tells. */
  hides(code: number): boolean {
    const high = this.#before;
    this.#before = code >= 0xd800 && code <= 0xdbff ? code : 0;
    if (this.#inside !== "none" && this.#goesOn(code)) return true;
    this.#inside = "none";
    if (code >= 0x20 && code < 0x7f) return false;
    if (code === 0x09 || code === 0x0a || code === 0x0d) return false;
    if (code <= 0x9f) {
      if (code === ESC) this.#inside = "escape";
      else if (code === 0x9b) this.#inside = "controls";
      else if (code === 0x90 || code === 0x98 || code >= 0x9d) this.#inside = "text";
      return true;
    }
    if (this.#before !== 0) return false;
    const isLow = code >= 0xdc00 && code <= 0xdfff;
    return isLow && high !== 0
      ? oneCharacter.test(String.fromCharCode(high, code))
      : isHiddenUnit(code);
  }

  #goesOn(code: number): boolean {
    switch (this.#inside) {
      case "escape":
        if (code < 0x21 || code > 0x7e) return false;
        if (code === 0x5b) this.#inside = "controls";
        else if ("]PX^_".includes(String.fromCharCode(code))) this.#inside = "text";
        else if (code > 0x2f) this.#inside = "none";
        return true;
      case "controls":
        if (code < 0x20 || code > 0x7e) return false;
        if (code >= 0x40) this.#inside = "none";
        return true;
      case "text":
        if (code === 0x0a || code === 0x0d || code === ESC) return false;
        if (code === 0x07 || code === 0x9c) this.#inside = "none";
        return true;
      case "none":
        return false;
    }
  }
}
