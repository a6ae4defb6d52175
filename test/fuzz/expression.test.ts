/** Whatever regular expression a rehearsal brings: it is refused, or answers in time, and as JavaScript would. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { compileExpression } from "../../src/document/expression.ts";
import { holds } from "../rig/fuzz.ts";

const atom = fc.constantFrom(
  ...String.raw`a b 0 1 . \d \w \W \s \S \b \B [ab] [^a] [\w-] \n \u0061 \u{61} \x61 \p{L} 😀 ^ $`.split(
    " ",
  ),
  " ",
);
const quantifier = fc.constantFrom("", "", ..."* + ? *? +? {2} {0,3} {1,} {300}".split(" "));

/** Nested repetition and overlapping alternatives: what backtracking dies of. */
const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc
      .tuple(atom, quantifier)
      .map(([one, times]) => (/^(?:\\[bB]|[\^$])$/.test(one) ? one : one + times)),
    fc.tuple(tie("pattern"), tie("pattern")).map(([a, b]) => a + b),
    fc.tuple(tie("pattern"), tie("pattern")).map(([a, b]) => `(?:${a}|${b})`),
    fc.tuple(tie("pattern"), quantifier).map(([a, times]) => `(${a})${times}`),
    fc.tuple(tie("pattern"), quantifier).map(([a, times]) => `(?:${a})${times}`),
  ),
}));
const letters = fc.constantFrom("a", "b", "0", "1", " ", "\n", "😀", "_", "-");
const shortText = fc.array(letters, { maxLength: 8 }).map((all) => all.join(""));
const longText = fc
  .tuple(
    fc.array(letters, { minLength: 1, maxLength: 6 }),
    fc.integer({ min: 1, max: 20_000 }),
    shortText,
  )
  .map(([unit, times, end]) => unit.join("").repeat(times) + end);

test("every regular expression answers, for every text", async (t) => {
  const property = fc.property(
    fc.oneof(pattern, fc.stringMatching(/^[ab()*+?|{}0-9[\]\\.^$]{0,60}$/)),
    longText,
    (source, text) => {
      const compiled = compileExpression(source);
      // Backtracking takes years: the test would not end.
      if (compiled.kind === "compiled") compiled.expression.mismatch(text);
    },
  );
  await holds(t, property, 150);
});

test("it answers as JavaScript does", async (t) => {
  const property = fc.property(
    // JavaScript's own engine is the oracle for counts and texts of this size.
    pattern.filter((source) => !source.includes("{300}") && source.length < 40),
    shortText,
    (source, text) => {
      const compiled = compileExpression(source);
      if (compiled.kind === "refused") return;
      // V8 looks for \B within a surrogate pair too, which the standard does not say.
      if (source.includes("\\B") && text.includes("😀")) return;
      const found = new RegExp(source, "u").test(text);
      assert.equal(
        compiled.expression.mismatch(text),
        found ? undefined : `does not match /${source}/`,
      );
    },
  );
  await holds(t, property, 2000);
});

test("an expression is matched against so much text as fits into half a second, and says so", () => {
  const slow = compileExpression("(?:(?:a?b?){300}c?).{300}$");
  assert.equal(slow.kind, "compiled");
  if (slow.kind !== "compiled") return;
  assert.match(
    slow.expression.mismatch("ab".repeat(100_000)) ?? "",
    /^has 200000 characters, but .* is limited to texts of \d+ characters$/,
  );
  const refused = (source: string): string => {
    const compiled = compileExpression(source);
    return compiled.kind === "refused" ? compiled.reason : "compiled";
  };
  assert.match(refused("(?:a?b?c?){900}"), /too large/);
  assert.match(refused("a".repeat(1001)), /longer than 1000 characters/);
  assert.match(refused("(?:(?:a{1000}){1000}){1000}"), /not supported/);
  assert.match(refused(`${"(".repeat(499)}a${")".repeat(499)}`), /compiled/);
});
