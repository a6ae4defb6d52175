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

const escapes: fc.Arbitrary<Encoding> = fc.constantFrom(
  json,
  unicodeEscapes,
  url,
  lowerUrl,
  everyByteUrl,
);

/** Base64 and hex at most three deep, escapes between them as often as one likes; a form at the inside only. */
export const encodings: fc.Arbitrary<readonly Encoding[]> = fc
  .tuple(
    fc.option(fc.constant(form), { nil: undefined, freq: 5 }),
    fc.array(fc.tuple(fc.array(escapes, { maxLength: 2 }), fc.oneof(base64, hex)), {
      maxLength: 3,
    }),
    fc.array(escapes, { maxLength: 4 }),
  )
  .map(([first, deep, last]) => [
    ...(first === undefined ? [] : [first]),
    ...deep.flatMap(([before, one]) => [...before, one]),
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
