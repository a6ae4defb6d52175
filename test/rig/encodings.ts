/** The ways in which a secret is written down by programs that are recognized. */
import * as fc from "fast-check";

export interface Encoding {
  readonly name: string;
  /** `before`, `after`: what is encoded together with the secret. */
  readonly encode: (secret: string, before: string, after: string) => string;
}

const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const ascii = (text: string): string =>
  text.replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
const signs: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};
const inLines = (text: string, width: number): string =>
  text.replaceAll(new RegExp(`.{${width}}(?=.)`, "g"), "$&\n");
const bytes = (text: string): Buffer => Buffer.from(text);
const lowerCased = (url: string): string => url.replaceAll(/%../g, (hex) => hex.toLowerCase());

const texts: Readonly<Record<string, (text: string) => string>> = {
  literally: (text) => text,
  JSON: json,
  "JSON in JSON": (text) => json(json(text)),
  "JSON in ASCII": (text) => ascii(json(text)),
  URL: (text) => encodeURIComponent(text),
  "URL in lower case": (text) => lowerCased(encodeURIComponent(text)),
  form: (text) => new URLSearchParams([["", text]]).toString().slice(1),
  XML: (text) => text.replaceAll(/[&<>"']/g, (sign) => signs[sign] ?? sign),
  base64: (text) => bytes(text).toString("base64"),
  "URL-safe base64": (text) => bytes(text).toString("base64url"),
  "base64 in lines of 60": (text) => inLines(bytes(text).toString("base64"), 60),
  "base64 in lines of 76": (text) => inLines(bytes(text).toString("base64"), 76),
  hex: (text) => bytes(text).toString("hex"),
  "hex in capitals": (text) => bytes(text).toString("hex").toUpperCase(),
  "hex in lines of 60": (text) => inLines(bytes(text).toString("hex"), 60),
};

export const encodings: readonly Encoding[] = Object.entries(texts).map(([name, encode]) => ({
  name,
  encode: (secret, before, after) => encode(before + secret + after),
}));

export const encoding: fc.Arbitrary<Encoding> = fc.constantFrom(...encodings);
