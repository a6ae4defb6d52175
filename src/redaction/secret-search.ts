/**
 * Finds secrets in a text: known ones in all their forms, and text that looks like a credential. One pass over the text
 * looks for the beginnings of both, and reads what follows on the spot.
 */
import { tokens, type Reading, type Span, type Token } from "./tokens.ts";
import { countUpTo, unfinishedFrom, visibleText, CONTEXT } from "./visible-text.ts";
import { unicodeEscape } from "../text/harmless-text.ts";

/** So much of a form is looked for before the rest is compared. */
const BEGINNING = 8;

export interface Before {
  /** The last `CONTEXT` characters. */
  readonly text: string;
  /** The last character that is visible. */
  readonly last: string;
}

const nothingBefore: Before = { text: "", last: "" };

export interface Found {
  /** In their order; no two overlap or touch. */
  readonly spans: readonly Span[];
  /** No secret goes over this place, or begins before it and is not found yet, whatever follows the text. */
  readonly decided: number;
  /** The last visible character before `decided`. */
  readonly last: string;
}

export class SecretSearch {
  readonly #beginnings: Beginnings;

  constructor(secrets: Iterable<string>) {
    this.#beginnings = new Beginnings([
      ...tokens.flatMap((token) => token.starts.map((start) => [start, token] as const)),
      ...[...secrets].flatMap(formsOf).map((form) => [form.slice(0, BEGINNING), form] as const),
    ]);
  }

  /** `isWhole`: nothing follows the text. */
  find(text: string, before: Before, isWhole: boolean): Found {
    const end = isWhole ? text.length : unfinishedFrom(text, before.text);
    const ended = end < text.length ? text.slice(0, end) : text;
    const visible = visibleText(ended, before.text);
    const reader = new Reader(visible?.text ?? ended, visible?.joints ?? [], before.last, isWhole);
    const { spans, decided, last } = reader.read(this.#beginnings);
    if (visible === undefined) return { spans: united(spans), decided, last };
    const { origin } = visible;
    return {
      spans: united(spans.map(({ from, to }) => ({ from: origin(from), to: origin(to - 1) + 1 }))),
      decided: decided === visible.text.length ? end : origin(decided),
      last,
    };
  }
}

/** Every word has at least so many characters. */
const SHORTEST = 3;
const MARKS = 2 ** (6 * SHORTEST);

/** Updates the mark of the last characters of a text with one more. */
const markOf = (mark: number, unit: number): number => ((mark << 6) ^ unit) & (MARKS - 1);

/**
 * Words that are looked for in one pass. An expression with hundreds of words tries most of them at each character of
 * base64, so only places are looked at whose first characters have the mark of a word.
 */
class Beginnings {
  readonly #items = new Map<string, Set<string | Token>>();
  readonly #prefixes = new Set<string>();
  #longest = 1;
  readonly #isMark = new Uint8Array(MARKS);
  /** For each mark: the lengths of its words, and the last units of the words of that length. */
  readonly #ends = new Map<number, Map<number, Set<number>>>();

  constructor(words: Iterable<readonly [word: string, item: string | Token]>) {
    for (const [word, item] of words) {
      const items = this.#items.get(word);
      if (items === undefined) this.#add(word);
      this.#items.set(word, (items ?? new Set()).add(item));
    }
  }

  #add(word: string): void {
    for (let end = 1; end < word.length; end += 1) this.#prefixes.add(word.slice(0, end));
    let mark = 0;
    for (let at = 0; at < SHORTEST; at += 1) mark = markOf(mark, word.charCodeAt(at));
    this.#isMark[mark] = 1;
    const ends = this.#ends.get(mark) ?? new Map<number, Set<number>>();
    this.#ends.set(mark, ends);
    const units = ends.get(word.length) ?? new Set();
    ends.set(word.length, units.add(word.charCodeAt(word.length - 1)));
    this.#longest = Math.max(this.#longest, word.length);
  }

  /** Calls `found` for every word in the text. Returns how many of its last characters may still become one. */
  scan(text: string, found: (item: string | Token, at: number) => void): number {
    const isMark = this.#isMark;
    let mark = 0;
    for (let end = 0; end < text.length; end += 1) {
      mark = markOf(mark, text.charCodeAt(end));
      if (isMark[mark] === 1) this.#look(text, mark, end + 1 - SHORTEST, found);
    }
    let open = Math.min(this.#longest - 1, text.length);
    while (open > 0 && !this.#prefixes.has(text.slice(-open))) open -= 1;
    return open;
  }

  #look(
    text: string,
    mark: number,
    at: number,
    found: (item: string | Token, at: number) => void,
  ): void {
    // Before there are so many characters, what is cut out is shorter than any word.
    for (const [length, units] of this.#ends.get(mark) ?? []) {
      if (!units.has(text.charCodeAt(at + length - 1))) continue;
      for (const item of this.#items.get(text.slice(at, at + length)) ?? []) found(item, at);
    }
  }
}

class Reader {
  readonly #text: string;
  /** A form of a known secret may go over them, a token may not. */
  readonly #joints: readonly number[];
  readonly #before: string;
  readonly #isWhole: boolean;
  readonly #spans: Span[] = [];
  #decided: number;
  /** Up to where each kind of token was read: what begins inside is a part of it. */
  #tokens: Map<Token, number> | undefined;

  constructor(text: string, joints: readonly number[], before: string, isWhole: boolean) {
    this.#text = text;
    this.#joints = joints;
    this.#before = before;
    this.#isWhole = isWhole;
    this.#decided = text.length;
  }

  read(beginnings: Beginnings): Found & { readonly spans: Span[] } {
    const mayBegin = beginnings.scan(this.#text, this.#found);
    const decided = Math.min(this.#decided, this.#text.length - (this.#isWhole ? 0 : mayBegin));
    return { spans: this.#spans, decided, last: this.#previous(decided) };
  }

  readonly #found = (item: string | Token, at: number): void => {
    const text = this.#text;
    const reading =
      typeof item === "string" ? readForm(item, text, at, this.#isWhole) : this.#token(item, at);
    if (reading === "open") this.#decided = Math.min(this.#decided, at);
    else if (reading.secret !== undefined) this.#spans.push(reading.secret);
  };

  #token(token: Token, at: number): Reading {
    this.#tokens ??= new Map();
    const read = this.#tokens.get(token) ?? 0;
    if (at < read) return { end: read };
    const text = this.#text;
    const lineEnd = token.hasLines ? undefined : this.#joints[countUpTo(at, this.#joints)];
    const line = lineEnd === undefined ? text : text.slice(0, lineEnd);
    const isWhole = this.#isWhole || line.length < text.length;
    const reading = token.read(line, at, this.#previous(at), isWhole);
    this.#tokens.set(token, reading === "open" ? text.length : reading.end);
    return reading;
  }

  #previous(at: number): string {
    const isJoint = this.#joints[countUpTo(at, this.#joints) - 1] === at;
    return isJoint ? "\n" : at === 0 ? this.#before : this.#text.charAt(at - 1);
  }
}

function readForm(form: string, text: string, at: number, isWhole: boolean): Reading {
  const end = at + form.length;
  if (text.startsWith(form, at)) return { end, secret: { from: at, to: end } };
  const isOpen = !isWhole && end > text.length && form.startsWith(text.slice(at));
  return isOpen ? "open" : { end: at };
}

/** In their order; those that overlap or touch are one. */
function united(spans: Span[]): readonly Span[] {
  if (spans.length < 2) return spans;
  spans.sort((a, b) => a.from - b.from);
  const result: Span[] = [];
  for (const span of spans) {
    const last = result.at(-1);
    if (last === undefined || span.from > last.to) result.push(span);
    else if (span.to > last.to) result[result.length - 1] = { from: last.from, to: span.to };
  }
  return result;
}

/** Shorter values are ignored: masking `1` or `yes` would destroy every text and tell the value. */
export const MIN_SECRET = 4;
/** A shorter line of a secret is too likely to be an ordinary word. */
const MIN_LINE = 8;
/** How long GitHub's tokens with a short prefix were before they got parts and dots. */
const OLD_TOKEN = 40;

/** To add a form, add a line. */
const encodings: readonly ((text: string) => readonly string[])[] = [
  (text) => [text],
  (text) => [json(text), json(json(text)), ascii(json(text))],
  (text) => urls(text).flatMap((one) => [one, one.replace(/%../g, (hex) => hex.toLowerCase())]),
  (text) => ["&apos;", "&#39;", "'"].map((quote) => xml(text, quote)),
  (text) => base64(text),
  (text) => base64(text).map((one) => one.replaceAll("+", "-").replaceAll("/", "_")),
  (text) => [Buffer.from(text).toString("hex"), Buffer.from(text).toString("hex").toUpperCase()],
];

/** Every form of the value, of each of its lines, and of the end of a long token. */
function formsOf(secret: string): readonly string[] {
  const value = secret.trim();
  if (value.length < MIN_SECRET) return [];
  // Indents are removed, or every run of spaces would be compared with each line.
  const lines = value.split(/[\r\n]+/).map((line) => line.trim());
  const parts = [value, ...lines.filter(({ length }) => length >= MIN_LINE)];
  // The runtime masks these by itself, but knows only their old length and shows the rest.
  if (/^gh[pousr]_/.test(value) && value.length >= OLD_TOKEN + MIN_LINE) {
    parts.push(value.slice(OLD_TOKEN));
  }
  return parts
    .flatMap((part) => encodings.flatMap((encode) => encode(part)))
    .filter((form) => form.length >= MIN_SECRET && !/^\*+$/.test(form));
}

function json(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** JSON of Python and others escapes this way. */
function ascii(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, unicodeEscape);
}

/** JavaScript, other languages and forms encode this way. */
function urls(text: string): readonly string[] {
  // Half a character has no form.
  const component = encodeURIComponent(Buffer.from(text).toString());
  const strict = component.replace(
    /[!'()*~]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return [component, strict, new URLSearchParams([["", text]]).toString().slice(1)];
}

function xml(text: string, quote: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", quote);
}

/** Behind 0, 1 and 2 other bytes: what more bytes follow would leave, and to the end of the text. */
function base64(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    // A character holds six bits. Those at the edges depend on what is beside the secret.
    const start = Math.ceil((before * 8) / 6);
    const end = Math.floor(((before + bytes.length) * 8) / 6);
    return [
      encoded.slice(start, end),
      encoded.slice(start),
      encoded.slice(start).replace(/={1,2}$/, ""),
    ];
  });
}

/*
 * The redaction of a text that comes in pieces. What comes out, joined, is the redaction of the pieces, joined:
 * which characters are masked depends on the text alone. Only what may be the beginning of a secret is held back, at
 * most as much as the longest form of a known secret or token.
 */

export interface TextStream {
  /** Returns the text that can be passed on now: often all of it, sometimes nothing. */
  readonly push: (piece: string) => string;
  /** The rest. The stream is over. */
  readonly end: () => string;
}

export const MASK = "***";
/** A longer text that is held back is searched again at the end of a line, not for every character. */
const SHORT = 64;

/** `search`: the current one; another secret may become known in mid-stream. */
export function createTextStream(search: () => SecretSearch): TextStream {
  let held = "";
  /** How much has to be there before it is searched again. */
  let due = 0;
  let before: Before = nothingBefore;
  /** If what was passed on ends with a mask: how much of `held` the mask covers, too. */
  let covered: number | undefined;

  const pass = (isWhole: boolean): string => {
    const { spans, decided, last } = search().find(held, before, isWhole);
    const all = covered === undefined ? spans : united([{ from: 0, to: covered }, ...spans]);
    const passed = masked(held, all, decided, covered !== undefined);
    if (decided > 0) {
      const reached = all.findLast(({ from }) => from < decided)?.to ?? -1;
      covered = reached < decided ? undefined : reached - decided;
      before = { text: (before.text + held.slice(0, decided)).slice(-CONTEXT), last };
      held = held.slice(decided);
    }
    due = held.length < SHORT ? 0 : held.length + held.length / 8;
    return passed;
  };
  return {
    push(piece) {
      held += piece;
      return held.length < due && !piece.includes("\n") ? "" : pass(false);
    },
    end: () => pass(true),
  };
}

export function redactedText(text: string, search: SecretSearch): string {
  const { spans } = search.find(text, nothingBefore, true);
  return spans.length === 0 ? text : masked(text, spans, text.length, false);
}

/** The text up to `until`. `goesOn`: of a span at its beginning, the mask was printed before. */
function masked(text: string, spans: readonly Span[], until: number, goesOn: boolean): string {
  let result = "";
  let end = 0;
  for (const { from, to } of spans) {
    if (from >= until) break;
    result += text.slice(end, from) + (goesOn && from === 0 ? "" : MASK);
    end = Math.min(to, until);
  }
  return result + text.slice(end, until);
}
