/**
 * Finds text that looks like a credential, no matter whose it is. A token begins with one of a few words; its characters are read
 * from there, so the time is linear in the text.
 */

/** From inclusive, to exclusive; in UTF-16 units. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** `open`: the text that follows decides. `end`: where reading stopped, whether it is a token or not. */
export type Reading = "open" | { readonly end: number; readonly secret?: Span | undefined };

export interface Token {
  readonly starts: readonly string[];
  readonly hasLines?: true;
  /** `before`: the character before it, or "". `isWhole`: nothing follows the text. */
  readonly read: (text: string, at: number, before: string, isWhole: boolean) => Reading;
}

/** A longer run is no credential, and the rest of a longer private key is not read. */
const LONGEST = 16 * 1024;

interface Description {
  readonly starts: readonly string[];
  /** The start and what stands between it and the token. */
  readonly head?: RegExp;
  /** Matches what may become a head. */
  readonly headBegins?: RegExp;
  /** A secret consists of these characters. */
  readonly characters: string;
  /** Which part of them is secret. */
  readonly secret: RegExp | ((run: string) => Span | undefined);
  /** No letter or digit stands before it. */
  readonly isWord?: true;
}

const scheme = String.raw`(?:bearer|basic)`;
const quoted = String.raw`\\{0,4}["'${"`"}]?`;

/** To add a token, add an item. */
export const tokens: readonly Token[] = [
  // Installation tokens have about 520 characters, with dots, underscores and a JWT inside.
  token({
    starts: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
    characters: String.raw`[\w.-]`,
    secret: /^.{24,}/,
  }),
  token({ starts: ["github_pat_"], characters: String.raw`\w`, secret: /^.{31,}/ }),
  token({ starts: ["eyJ"], characters: String.raw`[\w.-]`, secret: jsonWebToken }),
  token({
    starts: ["AKIA", "ASIA"],
    characters: "[A-Za-z0-9]",
    secret: /^[A-Z0-9]{20}$/,
    isWord: true,
  }),
  token({
    starts: ["xox"],
    characters: "[A-Za-z0-9-]",
    secret: /(?<![A-Za-z0-9])xox[a-z]-.{10,}/,
    isWord: true,
  }),
  // Words such as `sk-folding-cube-container` have no digit.
  token({
    starts: ["sk-"],
    characters: String.raw`[\w-]`,
    secret: /^(?=\D*\d).{23,}/,
    isWord: true,
  }),
  token({
    starts: inCases("authorization"),
    head: new RegExp(`authorization${quoted} {0,8}[:=] {0,8}${quoted}${scheme} {1,8}`, "iy"),
    headBegins: new RegExp(
      `^authorization[\\\\"'\`]{0,5} {0,8}[:=]? {0,8}[\\\\"'\`]{0,5}[a-z]{0,6} {0,8}$`,
      "i",
    ),
    characters: String.raw`[^\s"'${"`"},;\\]`,
    secret: /^(?![$<{%]).+/,
  }),
  token({
    starts: [...inCases("bearer"), ...inCases("basic")],
    head: new RegExp(`${scheme}[ \\t]`, "iy"),
    headBegins: new RegExp(`^${scheme}$`, "i"),
    characters: "[A-Za-z0-9._~+/=-]",
    secret: /^(?=\D*\d).{20,}/,
    isWord: true,
  }),
  // user:password@ of a URL. The part runs to the last @ before the path.
  token({
    starts: ["://"],
    head: /:\/\//y,
    characters: String.raw`[^\s/?#"'${"`"}<>\\]`,
    secret: /^[^:@]*:.+(?=@)/,
  }),
  { starts: ["-----BEGIN"], hasLines: true, read: readPrivateKey },
];

function inCases(word: string): readonly string[] {
  return [word, word.charAt(0).toUpperCase() + word.slice(1), word.toUpperCase()];
}

function token({ starts, head, headBegins, characters, secret, isWord }: Description): Token {
  const run = new RegExp(`${characters}{0,${LONGEST + 1}}`, "y");
  return {
    starts,
    read(text, at, before, isWhole) {
      const none = { end: at };
      if (isWord && /[A-Za-z0-9]/.test(before)) return none;
      let from = at;
      if (head !== undefined) {
        head.lastIndex = at;
        if (!head.test(text)) {
          if (isWhole || text.length - at > 64) return none;
          return headBegins?.test(text.slice(at)) === true ? "open" : none;
        }
        from = head.lastIndex;
      }
      run.lastIndex = from;
      run.test(text);
      const end = run.lastIndex;
      if (end === text.length && !isWhole && end - from <= LONGEST) return "open";
      const found = end - from > LONGEST ? undefined : spanOf(secret, text.slice(from, end));
      return {
        // Behind a head, no two tokens have the same characters.
        end: head === undefined ? end : at,
        secret: found && { from: from + found.from, to: from + found.to },
      };
    },
  };
}

function spanOf(secret: Description["secret"], run: string): Span | undefined {
  if (typeof secret === "function") return secret(run);
  const match = secret.exec(run);
  return match === null ? undefined : { from: match.index, to: match.index + match[0].length };
}

/** At least three dotted parts of which one holds `eyJ`: base64 of `{"`. Encrypted ones have five. */
function jsonWebToken(run: string): Span | undefined {
  let end = run.length;
  while (run.charAt(end - 1) === ".") end -= 1;
  let from = run.indexOf("eyJ");
  while (from >= 0) {
    const dot = run.indexOf(".", from);
    const second = dot < 0 ? -1 : run.indexOf(".", dot + 1);
    if (second < 0 || second >= end) return undefined;
    if (dot - from >= 10 && end - from >= 24) return { from, to: end };
    from = run.indexOf("eyJ", dot);
  }
  return undefined;
}

const keyBegins = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;
const mayBeKey = /^-----BEGIN(?: [A-Z0-9 ]{0,60}-{0,4})?$/;
const keyMarker = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const keyLines = /(?:(?:\s|\\+[nr])*[A-Za-z0-9+/=]{16,})*/y;

/** To its end. A key without one (the text was cut) goes on as far as lines look like base64. */
function readPrivateKey(text: string, at: number, _: string, isWhole: boolean): Reading {
  keyBegins.lastIndex = at;
  if (!keyBegins.test(text)) {
    const isOpen = !isWhole && text.length - at < 80 && mayBeKey.test(text.slice(at));
    return isOpen ? "open" : { end: at };
  }
  const seen = text.slice(at, at + LONGEST);
  const begun = keyBegins.lastIndex - at;
  keyMarker.lastIndex = begun;
  const marker = keyMarker.exec(seen);
  if (marker === null && !isWhole && text.length - at < LONGEST) return "open";
  keyLines.lastIndex = begun;
  keyLines.test(seen);
  const to = at + (marker?.[1] === "END" ? keyMarker.lastIndex : keyLines.lastIndex);
  return { end: to, secret: { from: at, to } };
}
