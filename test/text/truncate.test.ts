import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  truncateUnredacted,
  truncate,
  truncateStart,
  truncateStartUnredacted,
  withOutput,
} from "../../src/text/truncate.ts";

const texts = fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { maxLength: 20 });

test("what is left of a truncated text is whole words of it, at its beginning or at its end", () => {
  fc.assert(
    fc.property(texts, fc.nat(60), (words, limit) => {
      const text = words.join(" ");
      const [beginning, end] = [
        truncateUnredacted(text, limit),
        truncateStartUnredacted(text, limit),
      ];
      assert.ok(text.startsWith(beginning) && text.endsWith(end));
      assert.ok(beginning.length <= limit && end.length <= limit);
      const all = new Set([...words, ""]);
      for (const word of [...beginning.split(" "), ...end.split(" ")]) {
        assert.ok(all.has(word), `${word} is no word of ${text}`);
      }
    }),
  );
});

test("a text that fits is left as it is, and one without an end of a word is left out", () => {
  assert.equal(truncateUnredacted("a secret", 8), "a secret");
  assert.equal(truncateStartUnredacted("a secret", 8), "a secret");
  assert.equal(truncateUnredacted("x".repeat(100), 50), "");
  assert.equal(truncateStartUnredacted("x".repeat(100), 50), "");
});

test("no character is halved where a text is truncated", () => {
  const emoji = fc.array(fc.constantFrom("😀", "a", " ", "𝒳"), { maxLength: 20 });
  fc.assert(
    fc.property(emoji, fc.nat(30), (characters, limit) => {
      const text = characters.join("");
      for (const short of [truncate, truncateStart, truncateUnredacted]) {
        assert.doesNotMatch(short(text, limit), /\p{Cs}/u, short.name);
        assert.ok(short(text, limit).length <= limit + 1);
        if (text.length <= limit) assert.equal(short(text, limit), text);
      }
      assert.ok(text.endsWith(truncateStart(text, limit)));
    }),
  );
});

test("a reason has the lines of an output that say what failed, or the last ones", () => {
  const counters = ["# tests 1", "# fail 1", "# skipped 0", "# todo 0", "# duration_ms 40"];
  const tap = ["TAP version 13", "# Subtest: a", "not ok 1 - a", "  error: |-", "    190 !== 180"];
  assert.equal(
    withOutput("It failed", [...tap, ...counters].join("\n")),
    "It failed. From its output: not ok 1 - a\n190 !== 180",
  );
  const vitest = ["FAIL  a.test.ts > a", "AssertionError: expected 190 to be 180", ...counters];
  assert.match(withOutput("No", vitest.join("\n")), /^No\. From its output: FAIL {2}a.*\nAsser/);
  const ends = ["one", "two", "a.ts:1:2: error: no such name", "make: *** [all] Stopped"];
  assert.match(withOutput("No", ends.join("\n")), /^No\. The end of its output: two\na\.ts/);
  assert.match(withOutput("No", "a\nb\nc\nd"), /^No\. The end of its output: b\nc\nd$/);
});
