/** Text that comes in pieces is redacted as the whole is, wherever it was cut, and safe places are safe. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { CutFinder } from "../../src/events/cut-finder.ts";
import { createRedactor } from "../../src/events/redact.ts";
import { credentialSpans } from "../../src/events/secret-patterns.ts";
import { createSecretSearch } from "../../src/events/secret-search.ts";
import { encodeAll, encodings } from "../rig/encodings.ts";
import { holds } from "../rig/fuzz.ts";
import { linearInTime } from "../rig/growth.ts";

const known = [
  "correct horse battery staple",
  "hunter2-hunter2",
  "S3cr3t(with{signs};and more)",
  "first line of it\nsecond line of it",
  "p%41ss\\u0041word",
  "geheimnis-für-ümläute",
  "deadbeefdeadbeef",
  "ghij",
  `ghp_${"0aB1cD2eF3".repeat(5)}`,
];
const redactor = createRedactor(known);
const key = "-----BEGIN RSA PRIVATE KEY-----";
const keyEnd = "-----END RSA PRIVATE KEY-----";
/** What is masked whoever it belongs to, whole and in parts, and what comes close to it. */
const credentials = [
  `${key}\n${"MIIEpAIBAAKCAQEA\n".repeat(3)}${keyEnd}`,
  `${key}\\n${"MIIEpAIBAAKCAQEA\\n".repeat(3)}${keyEnd}`,
  `${key}\nProc-Type: 4,ENCRYPTED\n\n${"MIIEpAIBAAKCAQEA\n".repeat(3)}${keyEnd}`,
  `${key}\nMIIEpAIBAAKCAQEA`,
  key,
  keyEnd,
  "Authorization: Bearer abc(def)ghi",
  '{"authorization" : "Basic dXNlcjpwYXNz(1)"}',
  "authorization:\u3000bearer\u3000a(b)c",
  "bearer 0123456789abcdefghij",
  "https://user:pass(wo)rd@host/path",
  "://:a@b",
  `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl`,
  "AKIAABCDEFGHIJKLMNOP",
  "xoxb-0123456789-abc",
  "sk-0123456789abcdefghijkl",
  "github_pat_0123456789abcdefghij",
  "authorization",
  "bearer ",
  "-----BEGIN ",
];
const plain = [
  ...Array.from(" \n\t\r,:;-=.()[]{}\"'`<>|/\\%@#&*^$x0"),
  "\r\n",
  "\n    ",
  "\\n  ",
  "%0A",
  "\\u005c",
  "%5c",
  "***",
  "the quick brown fox",
  "or more of it",
  "// 12 34 ab cd",
  "日本語。",
  "é",
  "😀",
  "\u3000",
  "\u00a0",
  "\ud83d",
  "ghi",
  "correct horse",
  "staple",
];

/** Known secrets in any encoding, whole, overlapping, or cut short. */
const hidden = fc
  .tuple(fc.constantFrom(...known), encodings, fc.nat(3), fc.boolean())
  .map(([secret, chain, less, twice]) => {
    const encoded = encodeAll(twice ? `${secret}${secret.slice(3)}` : secret, chain);
    return less === 0 ? encoded.slice(0, -5) : encoded;
  });
const text = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...plain) },
      { weight: 2, arbitrary: hidden },
      { weight: 1, arbitrary: fc.constantFrom(...credentials) },
    ),
    { maxLength: 14 },
  )
  .map((parts) => parts.join(""));

/** With a pause behind every so many pieces. */
function piecewise(whole: string, sizes: readonly number[], every = Infinity): string {
  const { push, pause, end } = redactor.stream();
  let joined = "";
  for (let from = 0, n = 0; from < whole.length; n += 1) {
    const size = sizes.length === 0 ? whole.length : Math.max(1, sizes[n % sizes.length] ?? 1);
    joined += push(whole.slice(from, from + size));
    from += size;
    if ((n + 1) % every === 0) joined += pause();
  }
  return joined + end();
}

test("however a text is cut, the pieces joined are the redaction of the whole", async (t) => {
  const sizes = fc.array(fc.nat(12), { minLength: 1, maxLength: 8 });
  const property = fc.property(text, sizes, (whole, some) => {
    const expected = redactor.text(whole);
    assert.equal(piecewise(whole, some), expected);
    assert.equal(piecewise(whole, [1]), expected);
  });
  await holds(t, property, 200);
});

/** Lines of at least eight characters, where a secret of several lines begins one: four bytes of it stand in each. */
const lines = fc
  .tuple(
    fc.constantFrom(...known),
    fc.constantFrom("utf8" as const, "base64" as const, "hex" as const),
    fc.integer({ min: 8, max: 40 }),
  )
  .map(([secret, form, width]) => {
    const encoded = Buffer.from(secret).toString(form);
    return encoded.replaceAll(new RegExp(`.{${width}}(?=[^=])`, "g"), "$&\n");
  });

test("a pause anywhere changes nothing in what is shown", async (t) => {
  const words = fc.constantFrom(
    "\n",
    "\r\n",
    "the quick brown fox",
    "!\n",
    " 12 34 ",
    "é😀",
    "--- ",
    "\u001b[1m",
  );
  const part = fc.oneof(lines, words, fc.constantFrom(...credentials));
  const property = fc.property(
    fc.array(part, { maxLength: 14 }),
    fc.array(fc.nat(40), { minLength: 1, maxLength: 8 }),
    fc.integer({ min: 1, max: 5 }),
    (parts, sizes, every) => {
      const whole = parts.join(" ");
      assert.equal(piecewise(whole, sizes, every), redactor.text(whole));
    },
  );
  await holds(t, property, 60);
});

test("where a pause comes after less than four bytes of a secret, the rest is masked", async (t) => {
  const search = createSecretSearch(known);
  const property = fc.property(
    text,
    fc.array(fc.nat(40), { minLength: 1, maxLength: 8 }),
    (whole, sizes) => {
      const shown = piecewise(whole, sizes, 1);
      assert.deepEqual(search.spans(shown), [], shown);
    },
  );
  await holds(t, property, 15);
});

test("a line without the beginning of a secret appears in a pause", () => {
  const { push, pause, end } = redactor.stream();
  assert.equal(push("ends with a word\n"), "ends with ");
  assert.equal(pause(), "a word\n");
  assert.equal(pause(), "");
  assert.equal(push("is it the correct horse\n") + pause(), "is it the ");
  assert.equal(push("or another\n") + pause(), "correct horse\nor another\n");
  assert.equal(push("or the correct horse\n") + pause() + end(), "or the correct horse\n");
});

test("so it is in a text that is longer than the window", async (t) => {
  const filler = fc.constantFrom("QUJD", "12 34 ", "ab\n", "é", "\\u0041", "😀", "w");
  const property = fc.property(
    fc.array(fc.tuple(text, filler, fc.integer({ min: 1, max: 12_000 })), { maxLength: 4 }),
    fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 5 }),
    (parts, sizes) => {
      const whole = parts.map(([one, fill, times]) => one + fill.repeat(times)).join("");
      assert.equal(piecewise(whole, sizes), redactor.text(whole));
    },
  );
  await holds(t, property, 25);
});

test("nothing that is masked goes over a place where the text may be cut", async (t) => {
  // Of one that has no space in it, every space is known to be no part.
  const searches = [known, ["hunter2-hunter2", "deadbeefdeadbeef"]].map(createSecretSearch);
  const property = fc.property(text, fc.constantFrom(...searches), (whole, search) => {
    const cuts: number[] = [];
    new CutFinder(() => search).read(whole, (offset) => cuts.push(offset));
    for (const { from, to } of [...search.spans(whole), ...credentialSpans(whole)]) {
      const within = cuts.find((cut) => from < cut && cut < to);
      assert.equal(within, undefined, JSON.stringify({ whole, from, to, cut: within }));
    }
    // Nor is anything missed by looking at the parts alone.
    const parts = cuts.map((cut, index) => whole.slice(cuts[index - 1] ?? 0, cut));
    const found = (one: string): boolean =>
      search.spans(one).length + credentialSpans(one).length > 0;
    const alone = [...parts, whole.slice(cuts.at(-1) ?? 0)].some(found);
    assert.equal(alone, found(whole), JSON.stringify({ whole, cuts }));
  });
  await holds(t, property, 700);
});

test("a secret in a text without a safe place is found wherever the window ends", async (t) => {
  const property = fc.property(
    fc.integer({ min: 16_000, max: 70_000 }),
    fc.constantFrom("w", "QUJD", "12 34 ", "\\n", "日"),
    fc.constantFrom(...known),
    encodings,
    (length, fill, secret, chain) => {
      const before = fill.repeat(Math.ceil(length / fill.length)).slice(0, length);
      const encoded = encodeAll(secret, chain.slice(0, 2));
      const shown = redactor.text(`${before}<${encoded}>${before}`);
      assert.ok(!shown.includes(encoded), JSON.stringify({ length, fill, secret, chain }));
      assert.ok(shown.includes("***"));
    },
  );
  await holds(t, property, 25);
});

test("what is held back is a few words of ordinary text, and bounded in any other", () => {
  const longest = Math.max(...known.map((secret) => Buffer.byteLength(secret)));
  for (const [fill, most] of [
    ["The quick brown fox jumps over the lazy dog. ", 40],
    ["const first = list.map(({ id }) => id);\n", 40],
    ["文字が流れてくる。", 1],
    ["QUJDREVGR0hJSktM", 2 * (16 * 1024 + 8 * (longest + 8))],
    ["12 34 ", 2 * (16 * 1024 + 8 * (longest + 8))],
  ] as const) {
    const { push, end } = redactor.stream();
    let held = 0;
    let worst = 0;
    for (const piece of fill.repeat(Math.ceil(200_000 / fill.length)).match(/[^]{1,5}/g) ?? []) {
      held += piece.length - push(piece).length;
      worst = Math.max(worst, held);
    }
    assert.ok(worst <= most, `${fill}: ${worst}`);
    assert.equal(held - end().length, 0);
    assert.equal(end(), "", "nothing is kept");
  }
});

test("the cost of a stream is linear in the text, however small the pieces", () => {
  const { stream } = redactor;
  for (const [name, fill] of Object.entries({
    prose: "The quick brown fox jumps. ",
    base64: "QUJDREVGR0hJSktM",
    numbers: "12 34 ",
    escapes: "\\u0041\\\\n%41",
    entities: "&#x41;&#&amp;",
    quotedPrintable: "=41==A=\n",
    key: `${key}\nMIIEpAIBAAKCAQEA\n`,
    nearly: "correct horse battery ",
    schemes: "authorization: bearer ",
    dashes: "-----BEGIN A",
    slashes: "://a:b",
  })) {
    linearInTime({
      name,
      sizes: [4_000, 64_000],
      make: (length) => fill.repeat(Math.ceil(length / fill.length)).slice(0, length),
      run: (whole) => {
        const { push, end } = stream();
        for (let at = 0; at < whole.length; at += 1) push(whole.charAt(at));
        end();
      },
    });
  }
});
