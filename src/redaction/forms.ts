/** In which forms a known secret is looked for: those that GitHub's runner masks, and the ways in which programs write them. */
import { unicodeEscape } from "../text/harmless-text.ts";

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
export function formsOf(secret: string): readonly string[] {
  const value = secret.trim();
  if (value.length < MIN_SECRET) return [];
  // Without their indents, or every run of spaces would be compared with each of them.
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

/** As JSON of Python and others. */
function ascii(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, unicodeEscape);
}

/** As JavaScript, other languages, and forms encode it. */
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
