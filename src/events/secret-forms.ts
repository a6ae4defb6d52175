/** What of a known secret is looked for; `secret-search.ts` looks for it in every encoding. */
import { createByteAutomaton } from "./byte-automaton.ts";
import { visibleText } from "./hidden-text.ts";
import { plainBytes } from "./plain-bytes.ts";

/** Shorter values are ignored: masking `1` or `yes` would destroy every text and tell the value. */
export const MIN_SECRET = 4;
/** A shorter line of a secret is too likely to be an ordinary word. */
const MIN_LINE = 8;

/** How long GitHub's tokens with a short prefix were before they got parts and dots. */
const OLD_TOKEN = 40;

const nothing = createByteAutomaton([]);

/** `utf8`: as it is in a text. `other`: in encodings that only programs see. */
export interface SecretNeedles {
  readonly utf8: readonly Uint8Array[];
  readonly other: readonly Uint8Array[];
}

/**
 * The value itself, trimmed, as it is and as `plainBytes` would show it; each line of a secret with several
 * lines; and the rest of a long token of GitHub's.
 */
export function secretNeedles(secret: string): SecretNeedles {
  const value = secret.trim();
  const pieces = [value];
  for (const line of value.split(/[\r\n]+/)) if (line.trim().length >= MIN_LINE) pieces.push(line);
  // The runtime masks these by itself, but knows only their old length and shows the rest.
  if (/^gh[pousr]_/.test(value) && value.length >= OLD_TOKEN + MIN_LINE) {
    pieces.push(value.slice(OLD_TOKEN));
  }
  // As it is seen.
  const seen = [...pieces, ...pieces.map(visibleText)];
  // As other programs compose characters.
  const composed = seen.flatMap((piece) => [piece.normalize("NFC"), piece.normalize("NFD")]);
  const distinct = [...new Set([...seen, ...composed])];
  // As a form is sent: a plus for each space.
  const sent = distinct.map((piece) => piece.replaceAll(" ", "+"));
  const utf8 = [...new Set([...distinct, ...sent])]
    .flatMap(withoutMasks)
    .flatMap(withoutEdges)
    .map((piece) => new TextEncoder().encode(piece));
  return { utf8: needles(utf8), other: needles(distinct.flatMap(inOtherEncodings)) };
}

/** As they are, and plain. */
function needles(all: readonly Uint8Array[]): readonly Uint8Array[] {
  return all
    .flatMap((bytes) => {
      const plain = plainBytes(bytes, bytes.length, nothing, () => {});
      return [bytes, plain.bytes.slice(0, plain.length)];
    })
    .filter(({ length }) => length >= MIN_SECRET);
}

/**
 * As programs that don't use UTF-8 write it: in UTF-16 inside base64 or hex (other characters than ASCII in both byte
 * orders), and with its bytes read as Latin-1, or left out.
 */
function inOtherEncodings(piece: string): readonly Uint8Array[] {
  if (piece.length < MIN_SECRET) return [];
  const utf16 = Buffer.from(piece, "utf16le");
  const utf8 = Buffer.from(piece);
  if (utf8.length === piece.length) return [utf16.subarray(0, -1)];
  const latin1 = Buffer.from(piece, "latin1");
  return [
    utf16,
    Buffer.from(utf16).swap16(),
    Buffer.from(utf8.toString("latin1")),
    Buffer.from(piece.replaceAll(/\P{ASCII}/gu, "\ufffd")),
    ...(latin1.toString("latin1") === piece ? [latin1] : []),
  ];
}

/** A value that holds a mask is looked for in parts, so that no mask of ours completes it. */
function withoutMasks(piece: string): readonly string[] {
  const parts = piece.split(/\*{3,}/).filter((part) => part.length >= MIN_SECRET);
  return parts.length > 0 || /^\**$/.test(piece) ? parts : [piece];
}

/**
 * Where an escape or a percent sign stands before a value, its first characters may be read as a part of it
 * (`%` and `41…`, encoded); and its last ones together with what follows. What is between them is found all the
 * same.
 */
function withoutEdges(piece: string): readonly string[] {
  const end = piece.replace(/(?:(?<!\\)\\+|[%=][0-9a-f]?|&#?x?[0-9a-z]{0,10})$/i, "");
  const starts = [
    /^(?:[0-9a-f]|[nrt])/i,
    /^[0-9a-f]{2}/i,
    /^[0-3][0-7]{2}/,
    /^x[0-9a-f]{2}/i,
    /^u[0-9a-f]{4}/i,
    /^u\{[0-9a-f]{1,6}\}/i,
    /^U[0-9a-f]{8}/i,
  ];
  const inner = starts.map((start) => end.replace(start, ""));
  return [piece, end, ...inner.filter(({ length }) => length >= MIN_LINE)];
}
