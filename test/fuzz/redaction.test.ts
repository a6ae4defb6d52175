/** No secret appears, however it is encoded, cut into pieces or colored; everything else comes through unchanged. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import { withoutSequences } from "../../src/text/harmless-text.ts";
import { createRedactor, type Redactor } from "../../src/redaction/redactor.ts";
import { anyCharacter } from "../rig/any-character.ts";
import { holds } from "../rig/fuzz.ts";
import { linearInTime } from "../rig/growth.ts";

/* The ways in which a secret is written down by programs that are recognized. */

interface Encoding {
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

const encodings: readonly Encoding[] = Object.entries(texts).map(([name, encode]) => ({
  name,
  encode: (secret, before, after) => encode(before + secret + after),
}));

const encoding: fc.Arbitrary<Encoding> = fc.constantFrom(...encodings);

const known = [
  "correct horse battery staple",
  "hunter2-hunter2",
  'S3cr3t(with{"signs"};&more)',
  "first line of it\nsecond line of it",
  "geheimnis-für-ümläute",
  "deadbeefdeadbeef",
  "aaaa",
  `ghp_${"0aB1cD2eF3".repeat(5)}`,
];
const redactor = createRedactor(known);
const key = "-----BEGIN RSA PRIVATE KEY-----";
const keyEnd = "-----END RSA PRIVATE KEY-----";
const credentials = [
  `${key}\n${"MIIEpAIBAAKCAQEA\n".repeat(3)}${keyEnd}`,
  `${key}\\n${"MIIEpAIBAAKCAQEA\\n".repeat(3)}${keyEnd}`,
  `${key}\nMIIEpAIBAAKCAQEA`,
  "Authorization: Bearer abc(def)ghi",
  '{"authorization" : "Basic dXNlcjpwYXNz(1)"}',
  "bearer 0123456789abcdefghij",
  "https://user:pass(wo)rd@host/path",
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
  "AKIAABCDEFGHIJKLMNOP",
  "xoxb-0123456789-abc",
  "sk-0123456789abcdefghijkl",
  "github_pat_0123456789abcdefghij",
  `sk-${"0123456789abcdef".repeat(4)}\nNEXT=1`,
];
/** Ordinary text, and what looks like the beginning of a secret. */
const plain = [
  ...Array.from(" \n\t\r,:;-=.()[]{}\"'`<>|/\\%@#&*^$x0é😀日。\u3000\u00a0\ud83d\u001b\u200b\0"),
  "\r\n",
  "\n    ",
  "\\n  ",
  "the quick brown fox",
  "// 12 34 ab cd",
  "correct horse",
  ..."%0A *** staple aaa \u001b[31m \u001b]0;title\u0007 hunter2-\u001b[1mhunter".split(" "),
  ..."authorization bearer eyJ eyJhbGciOi. sk- xoxb- AKIA ghp_ :// ://a:b".split(" "),
  "authorization: ",
  "bearer ",
  "Basic ",
  "-----BEGIN ",
  key,
  keyEnd,
  "QUJDREVGR0hJSktM".repeat(4),
  "0123456789abcdef".repeat(5),
];

const hidden = [
  ..."\u001b[0m \u001b[01;31m\u001b[K \u001b[38;2;1;2;3m \u009b1m \u001b(B".split(" "),
  "\u001b]8;;http://a.b/c\u001b\\",
  "\u001b]0;a title\u0007",
  ...Array.from("\0\b\u007f\u200b\u00ad\ufeff\u202e"),
];

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 });

function streamed(text: string, lengths: readonly number[], by: Redactor = redactor): string {
  const { push, end } = by.stream();
  let joined = "";
  for (let from = 0, n = 0; from < text.length; n += 1) {
    const length = lengths[n % lengths.length] ?? 1;
    joined += push(text.slice(from, from + length));
    from += length;
  }
  return joined + end();
}

/** The part of an encoded text that depends on the secret alone, line breaks removed. */
function coreOf(name: string, encoded: string, secret: string, before: string): string {
  const line = encoded.replaceAll("\n", "");
  const [first, length] = [Buffer.byteLength(before), Buffer.byteLength(secret)];
  if (name.includes("hex")) return line.slice(first * 2, (first + length) * 2);
  return line.slice(Math.ceil((first * 8) / 6), Math.floor(((first + length) * 8) / 6));
}

const character = fc.constantFrom(
  ...Array.from("abcXYZ0189-_.+/=%&$\"'\\ ~!:@{}[]<>#?,;|^`ü€\n"),
  "😀",
);
const secret = fc
  .array(character, { minLength: 8, maxLength: 60 })
  .map((parts) => parts.join("").trim())
  .filter((text) => text.length >= 8);
const around = fc
  .array(fc.constantFrom("k", "key=", " ", "\n", '"', "x1", "é", "/", "token: "), { maxLength: 6 })
  .map((parts) => parts.join(""));

test("no secret appears, however it is encoded and cut into pieces", async (t) => {
  const property = fc.property(
    secret,
    around,
    around,
    encoding,
    around,
    sizes,
    (value, before, after, { name, encode }, left, lengths) => {
      const one = createRedactor([value]);
      const encoded = encode(value, before, after);
      const whole = `${left} ${encoded} ${left}`;
      const masked = one.text(whole);
      const story = JSON.stringify({ value, name, whole, masked });
      assert.ok(masked.includes("***"), story);
      assert.equal(streamed(whole, lengths, one), masked, story);
      if (/base64|hex/.test(name)) {
        const core = coreOf(name, encoded, value, before);
        assert.ok(!masked.replaceAll("\n", "").includes(core), story);
        const stars = masked.split("***").length - 1;
        assert.ok(whole.length - masked.length + 3 * stars >= core.length, story);
      } else {
        assert.ok(!masked.includes(encode(value, "", "")), story);
        assert.equal(
          masked,
          `${left} ${encode("", before, "")}***${encode("", "", after)} ${left}`,
        );
      }
    },
  );
  await holds(t, property, 1500);
});

test("short secrets are found in every encoding", async (t) => {
  const short = fc.stringMatching(/^[A-Za-z0-9!@#$^&_-]{4,7}$/);
  const property = fc.property(short, encoding, (value, { name, encode }) => {
    const encoded = encode(value, "<", ">");
    const masked = createRedactor([value]).text(encoded);
    assert.ok(masked.includes("***"), JSON.stringify({ value, name, encoded, masked }));
  });
  await holds(t, property, 500);
});

/** Known secrets in any encoding, whole, overlapping, or cut short; credentials; ordinary text. */
const text = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...plain) },
      {
        weight: 2,
        arbitrary: fc
          .tuple(fc.constantFrom(...known), encoding, fc.nat(3), fc.boolean())
          .map(([value, { encode }, less, twice]) => {
            const encoded = encode(twice ? `${value}${value.slice(3)}` : value, "a", "");
            return less === 0 ? encoded.slice(0, -5) : encoded;
          }),
      },
      { weight: 1, arbitrary: fc.constantFrom(...credentials) },
    ),
    { maxLength: 14 },
  )
  .map((parts) => parts.join(""));

test("however a text is cut, the pieces joined are the redaction of the whole", async (t) => {
  const property = fc.property(text, sizes, (whole, some) => {
    const expected = redactor.text(whole);
    assert.equal(streamed(whole, some), expected, JSON.stringify({ whole }));
    assert.equal(streamed(whole, [1]), expected, JSON.stringify({ whole }));
  });
  await holds(t, property, 1000);
});

test("a text without a secret comes through unchanged and whole", async (t) => {
  const harmless = [
    ...plain.filter((one) => ![key, "://a:b", "authorization: "].includes(one)),
    ...encodings.map(({ encode }) => encode("nothing of that kind, but long enough", "", "")),
  ];
  const part = fc.oneof(fc.constantFrom(...harmless), fc.string({ unit: anyCharacter }));
  // Directly behind "bearer ", the encoded ones would look like tokens.
  const parts = fc.array(part, { maxLength: 14 }).map((all) => all.join(", "));
  const property = fc.property(parts, sizes, (whole, some) => {
    const none = createRedactor(["correct-horse-battery-staple", "S3cr3t"]);
    assert.equal(none.text(whole), whole);
    assert.equal(streamed(whole, some, none), whole);
  });
  await holds(t, property, 500);
});

const shown: readonly ((text: string) => string)[] = [
  (text) => text,
  withoutSequences,
  stripVTControlCharacters,
  (text) => stripVTControlCharacters(text).replaceAll(/[\p{Cc}\p{Cf}]/gu, ""),
];

test("no secret appears where colors or control characters stand in it", async (t) => {
  const places = fc.array(fc.tuple(fc.nat(10_000), fc.constantFrom(...hidden)), {
    minLength: 1,
    maxLength: 5,
  });
  const property = fc.property(
    fc.constantFrom(...known, ...credentials.slice(-5, -1)),
    places,
    fc.constantFrom("", "word ", "\u001b[32mok\u001b[0m ", "é\n"),
    sizes,
    (value, parts, before, lengths) => {
      const letters = Array.from(value);
      for (const [at, part] of parts) letters[at % letters.length] += part;
      const whole = `${before}${letters.join("")} ${before}`;
      const masked = redactor.text(whole);
      assert.equal(streamed(whole, lengths), masked, JSON.stringify({ whole }));
      for (const show of shown) {
        assert.ok(!show(masked).includes(value), JSON.stringify({ whole, masked }));
      }
    },
  );
  await holds(t, property, 500);
});

test("what was removed once leaves nothing to remove", async (t) => {
  const part = fc.constantFrom(...hidden, "\u001b", "[", "0", "m", "]", "\u009b", "\\", "a");
  const property = fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
    const once = withoutSequences(parts.join(""));
    assert.equal(withoutSequences(once), once);
  });
  await holds(t, property, 500);
});

test("only what may be a secret is held back", () => {
  for (const [fill, most, begin = ""] of [
    ["The quick brown fox jumps over the lazy dog. ", 8],
    ["const first = list.map(({ id }) => id);\n", 8],
    ["\u001b[90m12:00:01\u001b[39m \u001b[32mINFO\u001b[39m all is well here\u001b[0m\n", 8],
    ["文字が流れてくる。", 0],
    ["QUJDREVGR0hJSktM", 8],
    ["eyJ.a", 16 * 1024 * 1.2],
    ["MIIEpAIBAAKCAQEA\n", 16 * 1024 * 1.2, key],
  ] as const) {
    const { push, end } = redactor.stream();
    let held = 0;
    let worst = 0;
    const whole = begin + fill.repeat(Math.ceil(100_000 / fill.length));
    for (const piece of whole.match(/[^]{1,5}/g) ?? []) {
      const passed = push(piece);
      held = passed.includes("***") ? 0 : held + piece.length - passed.length;
      worst = Math.max(worst, held);
    }
    assert.ok(worst <= most, `${fill}: ${worst}`);
    end();
    assert.equal(end(), "", "nothing is kept");
  }
});

test("the cost is linear in the text, whatever is repeated in it, and however small the pieces", () => {
  const many = Array.from(
    { length: 300 },
    (_, n) => `a${bytes(`secret number ${n}`).toString("base64")}`,
  );
  const indented = Array.from({ length: 1_500 }, (_, n) => `${" ".repeat(12)}line number ${n}`);
  const one = createRedactor([...known, "aaaab", ...many, `x\n${indented.join("\n")}`]);
  const tokens =
    "eyJ eyJa. eyJ. . a. a- - _ gh ghp_ ghp_. sk- sk-a xoxb- AKIA :// ://a: a:b@ @ : ://:";
  const fills = [
    tokens.split(" "),
    "://a:b authorization authorization: a\0 \\ \\n \n a \u001b[ \u001b[0; \u001b]0;title ü 😀".split(
      " ",
    ),
    [key, `${key}\n`, keyEnd, `${key}\nMIIEpAIBAAKCAQEA\n`, "-----BEGIN ", "-----BEGIN A"],
    ["authorization: ", "authorization: bearer ", "bearer ", "basic a1", " "],
    ["The quick brown fox jumps. ", "correct horse battery ", "secret number "],
    ["QUJDREVGR0hJSktM", "YWFhYWFh", `${"QUJDREVGR0hJSktM".repeat(4)}\n`],
    [`${"a".repeat(60)}\n`, `${"a".repeat(60)}\\n`, `${"aaaab".repeat(12)}\n`],
    ["\u001b[32mINFO\u001b[0m all is well "],
  ].flat();
  for (const fill of fills) {
    const make = (length: number): string =>
      fill.repeat(Math.ceil(length / fill.length)).slice(0, length);
    const sizes = [2_000, 16_000] as const;
    linearInTime({
      name: `pieces of ${fill}`,
      sizes,
      make,
      run: (whole) => streamed(whole, [1], one),
    });
    linearInTime({ name: fill, sizes, make, run: (whole) => one.text(whole + key + whole) });
  }
});
