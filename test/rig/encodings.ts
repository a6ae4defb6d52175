/** Ways in which a text is written down by programs, to be composed: what an agent may do to a secret by accident. */
import * as fc from "fast-check";

export interface Encoding {
  readonly name: string;
  readonly encode: (text: string) => string;
}

const bytes = (text: string): Buffer => Buffer.from(text);

function wrapped(text: string, width: number, end: string): string {
  return width === 0 ? text : text.replaceAll(new RegExp(`.{${width}}`, "g"), `$&${end}`);
}

const json: Encoding = { name: "JSON", encode: (text) => JSON.stringify(text).slice(1, -1) };

const unicodeEscapes: Encoding = {
  name: "\\u",
  encode: (text) =>
    Array.from(
      { length: text.length },
      (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join(""),
};

const url: Encoding = { name: "URL", encode: (text) => encodeURIComponent(bytes(text).toString()) };

const lowerUrl: Encoding = {
  name: "URL in lower case",
  encode: (text) => url.encode(text).replace(/%[0-9A-F]{2}/g, (part) => part.toLowerCase()),
};

const everyByteUrl: Encoding = {
  name: "URL, every byte",
  encode: (text) =>
    Array.from(bytes(text), (byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
};

const form: Encoding = {
  name: "form",
  encode: (text) => new URLSearchParams([["", text]]).toString().slice(1),
};

const points = (text: string, one: (point: number) => string): string =>
  Array.from(text, (sign) => one(sign.codePointAt(0) ?? 0)).join("");

const padded = (value: number, base: number, length: number): string =>
  value.toString(base).padStart(length, "0");

const bracedEscapes: Encoding = {
  name: "\\u{}",
  encode: (text) => points(text, (point) => `\\u{${point.toString(16)}}`),
};

const longEscapes: Encoding = {
  name: "\\U",
  encode: (text) => points(text, (point) => `\\U${padded(point, 16, 8)}`),
};

/** As git and printf quote bytes. */
const octal: Encoding = {
  name: "octal",
  encode: (text) => Array.from(bytes(text), (byte) => `\\${padded(byte, 8, 3)}`).join(""),
};

const byteEscapes: Encoding = {
  name: "\\x",
  encode: (text) => Array.from(bytes(text), (byte) => `\\x${padded(byte, 16, 2)}`).join(""),
};

const html: Encoding = {
  name: "HTML",
  encode: (text) =>
    text.replaceAll(/[&<>"']/g, (sign) => `&${signs.get(sign) ?? `#${sign.charCodeAt(0)}`};`),
};
const signs = new Map([
  ["&", "amp"],
  ["<", "lt"],
  [">", "gt"],
  ['"', "quot"],
]);

const entities: Encoding = {
  name: "entities",
  encode: (text) =>
    points(text, (point) => (point % 2 === 0 ? `&#${point};` : `&#x${padded(point, 16, 4)};`)),
};

/** Behind every ninth byte a line ends, unless that may be inside of an escape; what those begin with is encoded. */
const quotedPrintable: Encoding = {
  name: "quoted-printable",
  encode: (text) =>
    Array.from(bytes(text), (byte, index) => {
      const plain = byte >= 33 && byte <= 126 && !"=\\%&".includes(String.fromCharCode(byte));
      const sign = plain ? String.fromCharCode(byte) : `=${padded(byte, 16, 2).toUpperCase()}`;
      return index % 9 === 8 && !text.includes("\\") ? `${sign}=\r\n` : sign;
    }).join(""),
};

const width = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 80 }));
const lineEnd = fc.constantFrom("\n", "\r\n", "\n  ");

const base64 = fc
  .record({ width, lineEnd, alphabet: fc.constantFrom("base64", "base64url") })
  .map(({ width, lineEnd, alphabet }): Encoding => ({
    name: `${alphabet} in lines of ${width} with ${JSON.stringify(lineEnd)}`,
    encode: (text) =>
      wrapped(bytes(text).toString(alphabet === "base64" ? "base64" : "base64url"), width, lineEnd),
  }));

const hex = fc
  .record({ width, lineEnd, upper: fc.boolean(), between: fc.constantFrom("", "", ":", " ") })
  .map(({ width, lineEnd, upper, between }): Encoding => ({
    name: `hex${upper ? " in capitals" : ""} in lines of ${width} with ${JSON.stringify([between, lineEnd])}`,
    encode: (text) => {
      const pairs = Array.from(bytes(text), (byte) => byte.toString(16).padStart(2, "0"));
      const joined = pairs.join(between);
      return between === ""
        ? wrapped(upper ? joined.toUpperCase() : joined, width, lineEnd)
        : joined;
    },
  }));

const decimals = [", ", ",", " ", ",\n  ", "\n", "   "].map((between): Encoding => ({
  name: `decimals with ${JSON.stringify(between)}`,
  encode: (text) => `[${Array.from(bytes(text)).join(between)}]`,
}));

const escapes: fc.Arbitrary<Encoding> = fc.constantFrom(
  json,
  unicodeEscapes,
  url,
  lowerUrl,
  everyByteUrl,
  bracedEscapes,
  html,
  entities,
);

/** A form, or bytes in the way of mails or programs. */
const innermost: fc.Arbitrary<Encoding> = fc.constantFrom(
  form,
  quotedPrintable,
  octal,
  byteEscapes,
  longEscapes,
  ...decimals,
);

/** Base64 and hex at most three deep, escapes between them as often as one likes. */
export const encodings: fc.Arbitrary<readonly Encoding[]> = fc
  .tuple(
    fc.option(innermost, { nil: undefined, freq: 3 }),
    fc.array(fc.tuple(fc.array(escapes, { maxLength: 2 }), fc.oneof(base64, hex)), {
      maxLength: 3,
    }),
    fc.array(escapes, { maxLength: 4 }),
  )
  .map(([first, deep, last]) => [
    ...(first === undefined ? [] : [first]),
    // Decimals are one of three levels.
    ...deep
      .slice(decimals.some((one) => one === first) ? 1 : 0)
      .flatMap(([before, one]) => [...before, one]),
    ...last,
  ]);

/** Escapes of escapes of escapes fill the memory: a text of this length is left as it is. */
const LONG = 4_000;

export function encodeAll(text: string, chain: readonly Encoding[]): string {
  return chain.reduce(
    (result, { encode }) => (result.length > LONG ? result : encode(result)),
    text,
  );
}
