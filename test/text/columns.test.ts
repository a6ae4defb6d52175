import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import stringWidth from "fast-string-width";
import { fitColumns, fit } from "../../src/text/truncate.ts";
import { harmless, oneLine, paragraph } from "../../src/text/harmless-text.ts";
import { clockText, costText, costWords, countText } from "../../src/text/numbers.ts";
import { anyCharacter } from "../rig/any-character.ts";
import { rounds } from "../rig/nightly.ts";

test("escape sequences, controls and bidirectional marks do not survive", () => {
  assert.equal(harmless("\u001B[31mred\u001B[0m \u001B]0;title\u0007x"), "red x");
  assert.equal(harmless("a\u202Eb\u2066c\u200Bd\u0008e\u0080f\u007F"), "a�b�c�d�e�f�");
  assert.equal(harmless("\uD800x"), "�x");
  assert.equal(harmless("a\r\nb\rc\u2028d\te"), "a\nb\nc\nd e");
  assert.equal(harmless("é 日本 👩‍👩‍👧 ⚠️"), "é 日本 👩‍👩‍👧 ⚠️");
});

test("nothing that moves the cursor passes, whatever the text", () => {
  const nasty = fc.array(
    fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.constantFrom("\u001B", "[", "\u009B", "2J", "\r", "\u001B]8;;", "\u0007", "\u001B["),
    ),
  );
  fc.assert(
    fc.property(nasty, (parts) => {
      assert.doesNotMatch(harmless(parts.join("")), /[^\P{Cc}\n]|[\u202A-\u202E\u2066-\u2069]/u);
      assert.doesNotMatch(oneLine(parts.join(""), 50), /[\r\n]/);
      assert.ok(oneLine(parts.join(""), 50).length <= 50);
    }),
    rounds(1000, 10),
  );
});

test("lines are folded into one", () => {
  assert.equal(oneLine("  a  \n\n  b\nc ", 100), "a ⏎ b ⏎ c");
  assert.equal(oneLine("x".repeat(30), 10), `${"x".repeat(9)}…`);
  assert.equal(oneLine("🚀🚀🚀", 4), "🚀…");
  assert.equal(oneLine("y".repeat(10_000_000), 10).length, 10);
});

test("a paragraph is bounded in lines and in length", () => {
  assert.deepEqual(paragraph("a\nb", 5, 100), ["a", "b"]);
  assert.deepEqual(paragraph("a\nb\nc", 2, 100), ["a", "b", "…"]);
  assert.deepEqual(paragraph("abcdef", 5, 3), ["abc", "…"]);
});

test("a text is fitted to columns, not to characters", () => {
  assert.equal(fit("日本語", 8), "日本語  ");
  assert.equal(fit("日本語", 5), "日本…");
  assert.equal(fit("日本語", 4), "日… ");
  assert.equal(fit("7", 3, "right"), "  7");
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 20 }), (text, width) => {
      const line = harmless(text).replaceAll("\n", " ");
      assert.ok(stringWidth(fitColumns(line, width)) <= width);
    }),
  );
});

for (const [credits, text] of [
  [0, "0 credits (0 USD)"],
  [1, "1 credit (0.01 USD)"],
  [0.996, "1 credit (0.01 USD)"],
  [12.4, "12.4 credits (0.12 USD)"],
  [30, "30 credits (0.30 USD)"],
  [1012.345, "1,012.35 credits (10.12 USD)"],
  [0.43, "0.43 credits (0.0043 USD)"],
  [0.003, "0.003 credits (under 0.0001 USD)"],
] as const)
  test(`${credits} credits are shown in USD, too`, () => assert.equal(costText(credits), text));

test("a cost that is unknown names the models without a price", () => {
  assert.deepEqual(costWords({ cost: 0, unpriced: [] }), []);
  assert.deepEqual(costWords({ cost: 2, unpriced: ["a", "b"] }), [
    "2 credits (0.02 USD)",
    "no price for a, b",
  ]);
});

test("times and counts are short", () => {
  assert.deepEqual([0, 59_999, 61_000, 3_600_000, 36_061_000, -5].map(clockText), [
    "00:00",
    "00:59",
    "01:01",
    "1:00:00",
    "10:01:01",
    "00:00",
  ]);
  assert.deepEqual(
    [0, 999, 1000, 12_345, 99_950, 123_456, 999_499, 999_500, 4_500_000, 2e9].map(countText),
    ["0", "999", "1.0k", "12.3k", "100k", "123k", "999k", "1.0M", "4.5M", "2.0G"],
  );
});
