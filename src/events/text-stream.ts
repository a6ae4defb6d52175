/**
 * The redaction of a text that comes in pieces. It is the one redaction there is: a whole text is a stream of one
 * piece. So the pieces that come out, joined, are the same however the text was cut.
 *
 * - The text is redacted in segments. They end at the places that `CutFinder` calls safe, which depend on the text
 *   alone; what is behind the last one is held back until the next, or until the end.
 * - What is held back is bounded. A text without a safe place (a file in base64, a table of numbers) is redacted
 *   through a window of twice the reach of a secret: the first half of it is passed on, and with it what begins
 *   there and ends in the second half.
 * - What is masked up to the end of the window, such as an endless token or a private key without an end, is
 *   masked on to the next safe place.
 * - In a pause, whole lines are passed on without a safe place, up to what may be the beginning of a secret. They stay
 *   in the segment, so what they begin is found when the rest comes.
 */
import { CutFinder } from "./cut-finder.ts";
import type { Span } from "./secret-patterns.ts";
import type { Unfinished } from "./cut-finder.ts";

export interface TextStream {
  /** What can be passed on now: often nothing. */
  readonly push: (piece: string) => string;
  /** Nothing has come for a while: the lines that are whole, up to what may be the beginning of a secret. */
  readonly pause: () => string;
  /** The rest. The stream is over. */
  readonly end: () => string;
}

export interface Masking extends Unfinished {
  /** What of a text must be masked; in any order. */
  readonly spans: (text: string) => Span[];
  /** What at the end of a text may be the beginning of something that must be masked. */
  readonly beginnings: (text: string) => readonly Span[];
  /** So long is a secret at most, however encoded, in UTF-16 units. */
  readonly reach: number;
}

export const MASK = "***";
/** So much is searched at once, in UTF-16 units. */
const GROUP = 4096;

/** `masking`: as it is now; another secret may become known in mid-stream. */
export function createTextStream(masking: () => Masking): TextStream {
  return new Stream(masking);
}

/** A text that is there as a whole. In most there is nothing to mask, and to see that takes one search. */
export function redactedWhole(text: string, masking: () => Masking): string {
  const { spans, reach } = masking();
  if (text.length < reach * 2 && spans(text).length === 0) return text;
  const { push, end } = createTextStream(masking);
  return push(text) + end();
}

class Stream implements TextStream {
  readonly #masking: () => Masking;
  readonly #finder: CutFinder;
  /** Of the segment that is open. */
  #held: string[] = [];
  #length = 0;
  /** So much of it was passed on in a pause. */
  #shown = 0;
  /** The mask at the end of what was passed on covers what comes, up to the next safe place. */
  #masked = false;

  constructor(masking: () => Masking) {
    this.#masking = masking;
    this.#finder = new CutFinder(masking);
  }

  readonly push = (piece: string): string => {
    let passed = "";
    let from = 0;
    // The window ends at the same character in whatever piece it comes, so no piece goes over its end.
    while (from < piece.length) {
      const room = Math.max(1, this.#masking().reach * 2 - this.#length);
      const part = piece.slice(from, from + room);
      passed += this.#read(part);
      from += part.length;
    }
    return passed;
  };

  readonly pause = (): string => {
    const text = this.#held.join("");
    this.#held = text === "" ? [] : [text];
    const masking = this.#masking();
    let until = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1;
    if (until <= this.#shown) return "";
    for (const { from } of masking.beginnings(text)) until = Math.min(until, from);
    const spans = united(masking.spans(text));
    for (const { from, to } of spans) if (from < until && to >= until) until = from;
    const passed = this.#beginning(text, until, spans);
    this.#shown = Math.max(this.#shown, until);
    return passed;
  };

  readonly end = (): string => {
    const shown = this.#shown;
    const rest = this.#take();
    return this.#masked ? "" : redacted(rest, this.#masking(), shown);
  };

  /** What is held back, which is nothing afterwards. */
  #take(): string {
    if (this.#length === 0) return "";
    const held = this.#held.join("");
    this.#held = [];
    this.#length = 0;
    this.#shown = 0;
    return held;
  }

  #read(part: string): string {
    const segments: string[] = [];
    let passed = "";
    let from = 0;
    this.#finder.read(part, (offset) => {
      const shown = this.#shown;
      // White space that ends what is masked is no part of it.
      if (this.#masked) segments.push(part.slice(offset - 1, offset).replace(/\S/, ""));
      else if (shown === 0) segments.push(this.#take() + part.slice(from, offset));
      else passed = redacted(this.#take() + part.slice(from, offset), this.#masking(), shown);
      this.#masked = false;
      from = offset;
    });
    passed += redactedSegments(segments, this.#masking());
    const rest = part.slice(from);
    if (this.#masked || rest === "") return passed;
    this.#held.push(rest);
    this.#length += rest.length;
    return passed + this.#overflow();
  }

  /** Passes on the first half of a full window. */
  #overflow(): string {
    const masking = this.#masking();
    if (this.#length < masking.reach * 2) return "";
    const text = this.#held.join("");
    // Not inside of a character; but more than one half in a row is none.
    if (text.length === masking.reach * 2 && isHighSurrogate(text, text.length - 1)) return "";
    let cut = text.length - masking.reach;
    if (isHighSurrogate(text, cut - 1)) cut += 1;
    const spans = united(masking.spans(text));
    for (const { from, to } of spans) if (from < cut && to > cut) cut = to;
    this.#masked = cut === text.length;
    if (this.#masked) this.#finder.leaveKey();
    this.#held = this.#masked ? [] : [text.slice(cut)];
    this.#length = text.length - cut;
    const passed = this.#beginning(text, cut, spans);
    this.#shown = Math.max(0, this.#shown - cut);
    return passed;
  }

  /** What of the first `to` characters was not passed on yet. No span goes over their end. */
  #beginning(text: string, to: number, spans: readonly Span[]): string {
    const inside = spans.filter((span) => span.to <= to);
    return redacted(mask(text.slice(0, to), inside, this.#shown), this.#masking());
  }
}

/**
 * Each segment by itself; but most texts hold nothing to mask, and to see that takes one search for many. What would
 * be found in one of them is found in all together.
 */
function redactedSegments(segments: readonly string[], masking: Masking): string {
  let result = "";
  let group: string[] = [];
  let length = 0;
  const pass = (): void => {
    const together = group.join("");
    const isClean = group.length > 1 && masking.spans(together).length === 0;
    result += isClean ? together : group.map((one) => redacted(one, masking)).join("");
    group = [];
    length = 0;
  };
  for (const segment of segments) {
    group.push(segment);
    length += segment.length;
    if (length >= GROUP) pass();
  }
  pass();
  return result;
}

function isHighSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff;
}

/** Of a text whose first `shown` characters were passed on before, the rest. */
function redacted(text: string, { spans }: Masking, shown = 0): string {
  // Once more after a change: a mask may end what a pattern did not see the end of. Every round masks at
  // least one character that was no mask before, and in practice the second one changes nothing.
  let before = shown === 0 ? text : mask(text, united(spans(text)), shown);
  for (;;) {
    const after = mask(before, united(spans(before)));
    if (after === before) return after;
    before = after;
  }
}

/** In their order; those that overlap or touch are one. */
function united(spans: Span[]): Span[] {
  spans.sort((a, b) => a.from - b.from);
  const result: Span[] = [];
  for (const span of spans) {
    if (span.to === span.from) continue;
    const last = result.at(-1);
    if (last === undefined || span.from > last.to) result.push(span);
    else if (span.to > last.to) result[result.length - 1] = { from: last.from, to: span.to };
  }
  return result;
}

/** The text from `start` on. Of a span that begins before it, the rest is masked. */
function mask(text: string, spans: readonly Span[], start = 0): string {
  let result = "";
  let end = start;
  for (const { from, to } of spans) {
    if (to <= start) continue;
    result += text.slice(end, Math.max(start, from)) + MASK;
    end = to;
  }
  return spans.length === 0 ? text.slice(start) : result + text.slice(end);
}
