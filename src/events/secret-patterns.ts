/**
 * Where a text holds something that looks like a credential, no matter whose it is. Owns the patterns,
 * and their cost: each is linear in the length of the text. The rule for that is: a pattern either starts
 * at a place that occurs once per run of characters (a look-behind), or whatever it scans before it gives
 * up is bounded or consumed. `test/events/redact.test.ts` feeds each with its worst case.
 */

/** From inclusive, to exclusive; in UTF-16 units. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

interface Pattern {
  /** What each match holds: most texts hold none of it, and to look for a word is cheap. */
  readonly hint: RegExp;
  readonly regex: RegExp;
  /** Which parts of a match are secret; without it the whole match, or its group 1. */
  readonly spans?: (match: string) => readonly Span[];
}

const patterns: readonly Pattern[] = [
  // Installation tokens have about 520 characters, with dots, underscores and a JWT inside.
  { hint: /gh[pousr]_/, regex: /gh[pousr]_[A-Za-z0-9._-]{20,}/dg },
  { hint: /github_pat_/, regex: /github_pat_[A-Za-z0-9_]{20,}/dg },
  { hint: /eyJ/, regex: /(?<![\w-])[\w-]+(?:\.[\w-]*)+/dg, spans: jsonWebTokens },
  { hint: /A[KS]IA/, regex: /(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])/dg },
  { hint: /xox/, regex: /(?<![A-Za-z0-9])xox[a-z]-[A-Za-z0-9-]{10,}/dg },
  // Words such as `sk-folding-cube-container` have no digit.
  { hint: /sk-/, regex: /(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,}/dg, spans: ifDigit },
  {
    hint: /authorization/i,
    regex:
      /authorization\\{0,4}["'`]?\s{0,8}[:=]\s{0,8}\\{0,4}["'`]?(?:bearer|basic)\s{1,8}((?![$<{%])[^\s"'`,;\\]+)/dgi,
  },
  {
    hint: /bearer|basic/i,
    regex: /(?<![A-Za-z0-9])(?:bearer|basic)\s([A-Za-z0-9._~+/=-]{20,})/dgi,
    spans: ifDigitAfterScheme,
  },
  // user:password@ of a URL. The part runs to the last @ before the path.
  { hint: /:\/\//, regex: /:\/\/([^\s/?#"'`<>\\:@]*:[^\s/?#"'`<>\\]+)@/dg },
];

/** Spans may overlap and come in no order. */
export function credentialSpans(text: string): Span[] {
  const found: Span[] = privateKeys(text);
  for (const { hint, regex, spans } of patterns) {
    if (!hint.test(text)) continue;
    for (const match of text.matchAll(regex)) {
      if (spans === undefined) {
        const [from, to] = match.indices?.[1] ?? match.indices?.[0] ?? [0, 0];
        found.push({ from, to });
        continue;
      }
      for (const { from, to } of spans(match[0])) {
        found.push({ from: match.index + from, to: match.index + to });
      }
    }
  }
  return found;
}

/** At least three dotted parts of which one holds `eyJ`: base64 of `{"`. Encrypted ones have five. */
function jsonWebTokens(run: string): Span[] {
  const start = run.indexOf("eyJ");
  if (start < 0) return [];
  const token = run.slice(start).replace(/(?<!\.)\.+$/, "");
  const dots = token.split(".").length - 1;
  return dots >= 2 && token.indexOf(".") >= 10 && token.length >= 24
    ? [{ from: start, to: start + token.length }]
    : [];
}

function ifDigit(match: string): Span[] {
  return /\d/.test(match) ? [{ from: 0, to: match.length }] : [];
}

function ifDigitAfterScheme(match: string): Span[] {
  const from = match.search(/\s/) + 1;
  return /\d/.test(match.slice(from)) ? [{ from, to: match.length }] : [];
}

const keyBegins = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const keyEnds = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;

/** A private key whose end has not come. */
export function openKeys(text: string): Span[] {
  const from = [...text.matchAll(keyBegins)].at(-1)?.index;
  const end = [...text.matchAll(keyEnds)].at(-1)?.index ?? -1;
  return from === undefined || from < end ? [] : [{ from, to: text.length }];
}

/** A key without its end (the text was cut) goes on as far as lines look like base64. */
function privateKeys(text: string): Span[] {
  const spans: Span[] = [];
  if (!text.includes("PRIVATE KEY")) return spans;
  const begins = [...text.matchAll(keyBegins)];
  const ends = [...text.matchAll(keyEnds)];
  let nextEnd = 0;
  for (const [index, begin] of begins.entries()) {
    const bodyStart = begin.index + begin[0].length;
    while ((ends[nextEnd]?.index ?? Infinity) < bodyStart) nextEnd += 1;
    const end = ends[nextEnd];
    const before = begins[index + 1]?.index ?? Infinity;
    if (end !== undefined && end.index < before) {
      spans.push({ from: begin.index, to: end.index + end[0].length });
      continue;
    }
    const body = /(?:(?:\s|\\+[nr])*[A-Za-z0-9+/=]{16,})*/y;
    body.lastIndex = bodyStart;
    spans.push({ from: begin.index, to: bodyStart + (body.exec(text)?.[0].length ?? 0) });
  }
  return spans;
}
