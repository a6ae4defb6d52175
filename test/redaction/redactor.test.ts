import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { createRedactor, holdsCredential, redactedValue } from "../../src/redaction/redactor.ts";
import { rounds } from "../rig/nightly.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const base64url = (text: string): string => Buffer.from(text).toString("base64url");
/** Written in two parts, so that no scanner takes this file for a leak. */
const joined = (start: string, rest: string): string => start + rest;
const jwt = `${base64url('{"alg":"RS256","typ":"JWT"}')}.${base64url('{"sub":"1234567890","iat":1516239022}')}.${"Sig-_x9".repeat(40)}`;
const pem = `-----BEGIN RSA PRIVATE KEY-----\n${"MIIEowIBAAKCAQEAx1y2z3AbCdEfGhIjKlMnOpQrStUvWxYz0123456789+/ab\n".repeat(5)}c2hvcnQ=\n-----END RSA PRIVATE KEY-----`;

const installation = joined("gh", `s_${"A1b2C3d4".repeat(5)}_${jwt}.${"e5.F6_g7-".repeat(20)}Z`);
const credentials: Record<string, string> = {
  "personal token": joined("gh", `p_${"a1B2c3D4e5".repeat(4)}`).slice(0, 40),
  "installation token": installation,
  "fine-grained token": joined("github", `_pat_${"11ABCDEFG0aBcDeFgHiJ_".repeat(4)}`),
  JWT: jwt,
  "AWS key": joined("AK", "IAIOSFODNN7EXAMPLE"),
  "AWS session key": joined("AS", "IAY34FZKBOKMUTVV7A"),
  "Slack token": joined("xo", "xb-123456789012-1234567890123-AbCdEfGhIjKl"),
  "OpenAI key": joined("s", `k-${"abcDEF123456".repeat(4)}`),
  "OpenAI project key": joined("s", `k-proj-${"aB3_-dEf".repeat(8)}`),
  "Anthropic key": joined("s", `k-ant-api03-${"Zy9_".repeat(20)}AA`),
  "private key": pem,
  "private key in JSON": pem.replaceAll("\n", "\\n"),
};

describe("patterns", () => {
  for (const [name, secret] of Object.entries(credentials)) {
    test(`a ${name} is masked wherever it stands`, () => {
      const { text } = createRedactor([]);
      assert.equal(text(secret), "***");
      assert.equal(text(`A=${secret}\nB=1\nC=${secret}`), "A=***\nB=1\nC=***");
      assert.ok(holdsCredential(`a ${secret} b`));
      assert.equal(text(`key=${secret}\n`), "key=***\n");
      assert.equal(text(`{"a":"${secret}"}`), '{"a":"***"}');
      assert.equal(text(`(${secret}) and '${secret}'`), "(***) and '***'");
    });
  }

  test("an installation token has about 520 characters, and none of them is left", () => {
    assert.ok(installation.length > 480, `${installation.length}`);
    assert.equal(createRedactor([]).text(`a ${installation} b`), "a *** b");
  });

  test("the values of authorization headers and the credentials of URLs are masked", () => {
    const { text } = createRedactor([]);
    assert.equal(text("Authorization: Bearer abc.def"), "Authorization: Bearer ***");
    assert.equal(text("authorization: basic dXNlcjpwdw=="), "authorization: basic ***");
    assert.equal(text('{"Authorization":"Bearer abc"}'), '{"Authorization":"Bearer ***"}');
    assert.equal(
      text('"{\\"authorization\\": \\"Bearer abc\\"}"'),
      '"{\\"authorization\\": \\"Bearer ***\\"}"',
    );
    assert.equal(
      text("curl -H 'Authorization: Bearer x1' u"),
      "curl -H 'Authorization: Bearer ***' u",
    );
    assert.equal(text(`Bearer ${"a1".repeat(12)}`), "Bearer ***");
    assert.equal(
      text("git clone https://me:p@ss:w0rd@github.com/a/b"),
      "git clone https://***@github.com/a/b",
    );
    assert.equal(text("https://:onlypassword@h/"), "https://***@h/");
  });

  test("a private key that was cut off is masked as far as it goes", () => {
    const { text } = createRedactor([]);
    assert.equal(text(pem.slice(0, 200)), "***");
    assert.equal(text("find -----BEGIN PRIVATE KEY----- in files"), "find *** in files");
    assert.equal(text(`${pem.slice(0, 200)}\n\nthen ${pem} end`), "***\n\nthen *** end");
  });
});

test("ordinary text is left alone", () => {
  const { text } = createRedactor(["correct-horse-battery"]);
  for (const ordinary of [
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "550e8400-e29b-41d4-a716-446655440000",
    `data:image/png;base64,${Buffer.from(Array.from({ length: 30_000 }, (_, i) => (i * i * 31 + i * 7) % 256)).toString("base64")}`,
    "https://example.com:8080/a@b?c=d:e@f",
    "ssh://git@github.com/a/b.git git@github.com:a/b.git http://localhost:3000/@scope/pkg",
    '{"url":"http://localhost:8080","mail":"me@example.com"}',
    "The bearer of bad news; basic auth; authorization is required: yes.",
    "fetch(u, { headers: { Authorization: `Bearer ${token}` } })",
    "task-1234567890123456789012345 disk-0123456789abcdef0123456789",
    'class="sk-folding-cube-with-a-very-long-name"',
    "node.js v20.19.0 a.b.c.d.e import.meta.url 1.2.3-beta.4",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    "AKIA and ASIA, gh_p, ghp_short, xoxb, sk-, eyJ",
    "// eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbXX0= a source map",
    "*** is fine, ** bold **, and ****",
  ]) {
    assert.equal(text(ordinary), ordinary);
    assert.ok(!holdsCredential(ordinary));
  }
});

describe("known values", () => {
  test("its base64 and hex are masked when they go on in the next line, as encoders print them", () => {
    const long = "correct-horse/battery+staple-".repeat(4);
    const redactor = createRedactor([long]);
    for (const end of ["\n", "\r\n", String.raw`\n`, String.raw`\\r\\n`]) {
      for (const before of ["", "a", "ab", "x".repeat(50), `${"line\n".repeat(3)}y`]) {
        for (const width of [48, 60, 64, 76]) {
          for (const form of ["base64", "hex"] as const) {
            const encoded = Buffer.from(`${before}${long}${"z".repeat(90)}`).toString(form);
            const inner = Buffer.from(`abc${long}`).toString(form).slice(8, -8);
            const lines = encoded.replaceAll(new RegExp(`.{${width}}`, "g"), `$&${end}`);
            const masked = redactor.text(lines).replaceAll(end, "");
            assert.match(masked, /\*\*\*/);
            for (let at = 0; at + 12 <= inner.length; at += 1)
              assert.ok(!masked.includes(inner.slice(at, at + 12)), masked);
            assert.ok(masked.endsWith(encoded.slice(-80)), "what comes after it stays");
          }
        }
      }
    }
    const text = `${"a".repeat(50)}\nb`;
    assert.equal(redactor.text(text), text);
  });

  test("a secret is found behind what looks like the start of an escape, and before what ends one", () => {
    const redactor = createRedactor(["nopassword%", "41bc-password", "x41-password\\"]);
    for (const quote of [
      (text: string) => text,
      encodeURIComponent,
      (t: string) => JSON.stringify(t),
    ]) {
      for (const known of ["nopassword%", "41bc-password", "x41-password\\"]) {
        for (const [before, after] of [
          ["\\", "20"],
          ["%", "20"],
          ["%4", "n"],
          ["", "u0041"],
        ]) {
          const masked = redactor.text(quote(`${before}${known}${after}`));
          assert.ok(masked.includes("***") && !masked.includes("password"), masked);
        }
      }
    }
  });

  test("a short value is masked inside base64 and hex, and nothing is over the end of a line", () => {
    const redactor = createRedactor(["abcd"]);
    assert.equal(redactor.text("ab\ncd, ab\\ncd, ab%0Acd"), "ab\ncd, ab\\ncd, ab%0Acd");
    assert.equal(
      redactor.text(`${base64("xabcdx")} ${Buffer.from("abcd").toString("hex")}`),
      "eG***R4 ***",
    );
  });

  test("of a token that somebody else has masked in part, the rest is masked too", () => {
    const redactor = createRedactor([installation]);
    const rest = installation.slice(40);
    assert.equal(redactor.text(`TOKEN=******${rest}\n`), "TOKEN=*********\n");
    assert.equal(redactor.text(encodeURIComponent(rest)), "***");
  });

  test("of a secret with several lines each line is masked, also alone", () => {
    const redactor = createRedactor(["first-line-1\r\nsecond-line-2\nx\n"]);
    assert.equal(redactor.text("first-line-1\nand second-line-2."), "***\nand ***.");
    assert.equal(redactor.text("x"), "x");
    assert.equal(redactor.text("first-line-1\r\nsecond-line-2\nx"), "***");
  });

  test("values of fewer than four characters and white space are ignored", () => {
    const redactor = createRedactor(["", " \n", "abc", " yes ", "****"]);
    assert.equal(redactor.text("abc yes ****"), "abc yes ****");
    redactor.addSecret("abcd");
    assert.equal(redactor.text("abcd"), "***");
  });

  test("values that overlap leave nothing of each other", () => {
    assert.equal(createRedactor(["abcdef", "defghi"]).text("-abcdefghi-"), "-***-");
    assert.equal(createRedactor(["aaaa"]).text("aaaaaaa"), "***");
  });

  test("a known value inside a longer token does not save the rest of the token", () => {
    assert.equal(createRedactor(["A1b2"]).text(`t ${installation}`), "t ***");
  });

  test("a known value that overlaps with a token leaves nothing of either", () => {
    const { text } = createRedactor(["MPLE-suffix", "prefix-AKIA"]);
    assert.equal(text(`(prefix-${credentials["AWS key"]}-suffix)`), "(***)");
  });

  test("a lone surrogate in a secret is no problem", () => {
    assert.equal(createRedactor(["abc\uD800def"]).text("abc\uD800def"), "***");
  });
});

test("redacting twice is redacting once, and no known value is left", () => {
  const piece = fc.constantFrom(
    ..."a b * ** : @ //".split(" "),
    " ",
    "\n",
    "abab",
    ...Object.values(credentials),
  );
  const string = fc.array(piece, { maxLength: 12 }).map((parts) => parts.join(" "));
  const secret = fc
    .array(fc.constantFrom("a", "b", ":"), { minLength: 4, maxLength: 6 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(secret, { maxLength: 3 }), string, (secrets, input) => {
      const { text } = createRedactor(secrets);
      const once = text(input);
      assert.equal(text(once), once);
      for (const known of secrets) {
        assert.ok(!once.includes(known), JSON.stringify({ secrets, input, once }));
      }
    }),
    rounds(2000),
  );
});

const redact = (text: string): string => text.replaceAll("secret", "***");

test("an object that stands in several places is redacted in each of them", () => {
  const shared = { key: "secret" };
  const copy = { key: "***" };
  assert.deepEqual(redactedValue([shared, { inner: shared }, shared], redact), [
    copy,
    { inner: copy },
    copy,
  ]);
});

test("more than 200 objects in each other are cut, and as many beside each other are not", () => {
  let deep: unknown = "secret";
  for (let level = 0; level < 201; level += 1) deep = [deep];
  assert.match(JSON.stringify(redactedValue(deep, redact)), /^\[{200}"\[too deep\]"\]{200}$/);
  const wide = Array.from({ length: 300 }, () => ["secret"]);
  assert.deepEqual(
    redactedValue(wide, redact),
    wide.map(() => ["***"]),
  );
});
