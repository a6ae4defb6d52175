import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createRedactor } from "../../src/events/redact.ts";
import { encodeAll, encodings } from "../rig/encodings.ts";
import { holds } from "../rig/fuzz.ts";

const character = fc.constantFrom(
  ...Array.from("abcXYZ019-_.+/=%&$\"'\\ ~!:@{}[]<>#?,;|^`ü€\n"),
  "😀",
);

/** What somebody may have for a secret: eight bytes or more that are no escapes. */
const secret = fc
  .array(character, { minLength: 8, maxLength: 60 })
  .map((parts) => parts.join(""))
  .filter((text) => text.replace(/[\s\\*=]|%[0-9a-f]{2}/gi, "").length >= 8);

const around = fc
  .array(fc.constantFrom("a", "key=", " ", "\n", '"', "x1", "é", "/", "token: "), { maxLength: 6 })
  .map((parts) => parts.join(""));

test("no secret survives, however it was encoded, and redacting twice is redacting once", async (t) => {
  const property = fc.property(
    secret,
    around,
    around,
    encodings,
    around,
    around,
    (value, before, after, chain, left, right) => {
      const { text } = createRedactor([value]);
      const inner = before + value + after;
      const encoded = `${left} ${encodeAll(inner, chain)} ${right}`;
      const masked = text(encoded);
      const story = JSON.stringify({
        value,
        chain: chain.map(({ name }) => name),
        encoded,
        masked,
      });
      assert.ok(masked.includes("***"), story);
      const stars = masked.split("***").length - 1;
      const gone = encoded.length - masked.length + 3 * stars;
      assert.ok(gone >= value.trim().replaceAll(/\s*\n\s*/g, "").length / 2, story);
      assert.equal(text(masked), masked, story);
    },
  );
  await holds(t, property, 1500);
});

test("short secrets are found in every encoding too", async (t) => {
  const short = fc.stringMatching(/^[A-Za-z0-9!@#$^&_-]{4,7}$/);
  const property = fc.property(short, encodings, (value, chain) => {
    const encoded = encodeAll(`<${value}>`, chain);
    const masked = createRedactor([value]).text(encoded);
    assert.ok(
      masked.includes("***"),
      JSON.stringify({ value, chain: chain.map(({ name }) => name), encoded, masked }),
    );
  });
  await holds(t, property, 500);
});
