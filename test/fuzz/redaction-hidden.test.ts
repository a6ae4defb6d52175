/** A secret with something hidden between its characters is masked, in whatever way a text comes and is shown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import { visibleText, withoutSequences } from "../../src/events/hidden-text.ts";
import { resultOf } from "../../src/calls/tool-output.ts";
import { createRedactor } from "../../src/events/redact.ts";
import { holds } from "../rig/fuzz.ts";
import { linearInTime } from "../rig/growth.ts";

const known = [
  "correct horse battery",
  "hunter2-hunter2",
  "S3cr3t(with{signs};and)",
  "ümläute-für-8",
];
const tokens = [
  "ghs_TOKENtokenTOKENtoken0123456789abcd",
  "github_pat_0123456789abcdefghij",
  "AKIAABCDEFGHIJKLMNOP",
  "sk-0123456789abcdefghijkl",
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
];
const key = `-----BEGIN RSA PRIVATE KEY-----\n${"MIIEpAIBAAKCAQEA0123\n".repeat(3)}-----END RSA PRIVATE KEY-----`;
const redactor = createRedactor(known);

const hidden = fc.oneof(
  fc.constantFrom(
    "\u001b[0m",
    "\u001b[01;31m\u001b[K",
    "\u001b[m",
    "\u001b[38;2;1;2;3m",
    "\u009b1m",
    "\u001b[s",
    "\u001b[?25l",
    "\u001b[1 q",
    "\u001b7",
    "\u001bc",
    "\u001b(B",
    "\u001b#8",
    "\u001b]0;a title: b(c)\u0007",
    "\u001b]8;;http://a.b/c\u001b\\",
    "\u001bPq#0\u001b\\",
    "\0",
    "\b",
    "\u0007",
    "\u000b",
    "\f",
    "\u007f",
    "\u0085",
    "\u009c",
    "\u00ad",
    "\u200b",
    "\u200d",
    "\u202e",
    "\u2060",
    "\ufeff",
    "\ufe0f",
    "\u{e0041}",
    "\u2028",
    "\ud83d",
    "\udc00",
    "\ue000",
  ),
  fc
    .tuple(fc.array(fc.nat(255), { maxLength: 4 }), fc.constantFrom(...Array.from("ABCDHJKmhlnsu")))
    .map(([numbers, end]) => `\u001b[${numbers.join(";")}${end}`),
);
const plain = fc.constantFrom(
  "",
  " ",
  "\n",
  "(",
  "word ",
  "12 34 ",
  "QUJD\n",
  "é",
  "\u001b[32mok\u001b[0m ",
);
/** An escape character alone may hide what follows, or not: with sequences of two characters it is ambiguous. */
const alone = fc.constantFrom("\u001b", "\u001b[0m", "\0", "\u001b]0;title\u0007");
const placed = fc.oneof(hidden, alone).chain((one) =>
  fc.array(fc.tuple(fc.nat(10_000), one === "\u001b" ? alone : hidden), {
    minLength: 1,
    maxLength: 5,
  }),
);
const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 });

/** `parts` at places inside of `secret`, or around it. */
function interspersed(secret: string, parts: readonly (readonly [number, string])[]): string {
  const between = new Map<number, string>();
  const letters = Array.from(secret);
  for (const [at, part] of parts) {
    const index = at % (letters.length + 1);
    between.set(index, (between.get(index) ?? "") + part);
  }
  return [...letters, ""].map((letter, index) => (between.get(index) ?? "") + letter).join("");
}

function pieces(text: string, lengths: readonly number[]): string[] {
  const result: string[] = [];
  for (let from = 0; from < text.length; from += result.at(-1)?.length ?? 1) {
    result.push(text.slice(from, from + (lengths[result.length % lengths.length] ?? 1)));
  }
  return result;
}

/** What a reader may make of a text. */
const shown: readonly ((text: string) => string)[] = [
  (text) => text,
  visibleText,
  withoutSequences,
  stripVTControlCharacters,
  (text) => stripVTControlCharacters(text).replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, ""),
  (text) => text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}]/gu, ""),
];

function streamed(text: string, lengths: readonly number[]): string {
  const { push, end } = redactor.stream();
  return pieces(text, lengths).map(push).join("") + end();
}

function asEvents(text: string, lengths: readonly number[]): string {
  const { activities } = createRedactor(known);
  const deltas = pieces(text, lengths).flatMap((piece) =>
    activities("s", { kind: "tool.delta", toolCallId: "1", text: piece }),
  );
  deltas.push(...activities("s", { kind: "tool.ended", toolCallId: "1", succeeded: true }));
  return deltas.map((one) => ("text" in one ? one.text : "")).join("");
}

test("no secret is left, whatever is hidden in it, and however it comes and is shown", async (t) => {
  const property = fc.property(
    fc.constantFrom(...known, ...tokens, key),
    placed,
    fc.array(plain, { maxLength: 4 }),
    fc.array(plain, { maxLength: 4 }),
    sizes,
    (secret, parts, before, after, lengths) => {
      const split = interspersed(secret, parts);
      const whole = `${before.join("")} ${split} ${after.join("")}`;
      const masked = redactor.text(whole);
      const story = JSON.stringify({ whole, masked });
      assert.equal(streamed(whole, lengths), masked, story);
      assert.equal(redactor.text(masked), masked, story);
      const json = JSON.stringify(resultOf(redactor.text(JSON.stringify(whole)), redactor.stream));
      const value = asEvents(whole, lengths);
      for (const show of shown) {
        for (const text of [masked, value, ...(secret === key ? [] : [String(JSON.parse(json))])]) {
          assert.ok(!show(text).includes(secret), story);
          if (secret === key) assert.ok(!show(text).includes("MIIEpAIBAAKCAQEA0123"), story);
        }
      }
    },
  );
  await holds(t, property, 400);
});

test("what was removed once leaves nothing to remove", async (t) => {
  const part = fc.oneof(hidden, fc.constantFrom("\u001b", "[", "0", "m", "]", "\u009b", "\\", "a"));
  const property = fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
    const once = withoutSequences(parts.join(""));
    assert.equal(withoutSequences(once), once);
  });
  await holds(t, property, 500);
});

test("the time is linear in the text, also where it is full of what is hidden", () => {
  for (const [name, fill] of Object.entries({
    colors: "\u001b[32mINFO\u001b[0m all is well ",
    escapes: "\u001b",
    beginnings: "\u001b[",
    numbers: "\u001b[0;",
    titles: "\u001b]0;title",
    eightBit: "\u009d",
    nul: "a\0",
    backslashes: "\\",
    spelled: "\\u001b[0mword ",
    spelledTitles: "\\u001b]x",
    invisible: "\u200b",
    surrogates: "\ud83d",
  })) {
    linearInTime({
      name,
      sizes: [4_000, 64_000],
      make: (length) => fill.repeat(Math.ceil(length / fill.length)).slice(0, length),
      run: (text) => streamed(text, [64]),
    });
  }
});

test("of colored output only the last words are held back", () => {
  const { push } = redactor.stream();
  const line = "\u001b[90m12:00:01\u001b[39m \u001b[32mINFO\u001b[39m all is well here\u001b[0m\n";
  let held = 0;
  for (let count = 0; count < 200; count += 1) {
    held += line.length - push(line).length;
    assert.ok(held <= 2 * line.length, `${held}`);
  }
});
