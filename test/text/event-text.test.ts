import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cleanEventText, MAX_EVENT_TEXT } from "../../src/text/harmless-text.ts";
import { cpuTime } from "../rig/growth.ts";

const clean = (text: string): string => cleanEventText(text).text;

describe("the text of an event", () => {
  it("keeps what a person sees, in any language", () => {
    const text = "Fix #12: résumé\n\tÜber 日本語 العربية 👍 `code` <b>bold</b> -- a --> b";
    assert.equal(clean(text), text);
  });

  it("loses HTML comments, also unclosed ones", () => {
    assert.equal(clean("a<!-- hidden\n-->b<!---->c<!-->d<!--->e"), "abcde");
    assert.equal(clean("a<!-- hidden"), "a");
    assert.equal(clean("a<!-- one -- > still --!> hidden -->b"), "ab");
  });

  it("loses comments whose markers are put together by what is removed", () => {
    assert.equal(clean("a<!-<!-- x -->- hidden -->b"), "ab");
    assert.equal(clean("a<<!---->!-- hidden -->b"), "ab");
    assert.equal(clean("a<!\u200B-\u2060- hidden -->b"), "ab");
    assert.equal(clean("a<\u0000!-- hidden -->b"), "ab");
  });

  it("loses invisible and bidirectional characters", () => {
    const tags = "ignore"
      .split("")
      .map((sign) => String.fromCodePoint(0xe0000 + (sign.codePointAt(0) ?? 0)));
    const hidden = `\u200B\u200C\u200D\u2060\uFEFF\u00AD\u061C\u180E\u3164\uFFA0\u115F\uFE0F\uFFF9\uFFFB${tags.join("")}\u{E0100}`;
    const bidi = "\u200E\u200F\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069";
    assert.equal(clean(`a${hidden}${bidi}b`), "ab");
  });

  it("loses control characters, and its line ends become plain", () => {
    assert.equal(clean("a\u001B[31mred\u0007\u0008\u0085\u009Bb\u007F"), "a[31mredb");
    assert.equal(clean("a\r\nb\rc\u2028d\u2029e\tf"), "a\nb\nc\nd\ne\tf");
    assert.equal(clean("a\uD800b"), "a\uFFFDb");
  });

  it("is cut, and never through the middle of a character", () => {
    assert.deepEqual(cleanEventText("x".repeat(MAX_EVENT_TEXT)), {
      text: "x".repeat(MAX_EVENT_TEXT),
      cut: 0,
    });
    assert.deepEqual(cleanEventText(`${"x".repeat(MAX_EVENT_TEXT - 1)}👍y`), {
      text: "x".repeat(MAX_EVENT_TEXT - 1),
      cut: 3,
    });
  });

  it("is cleaned in linear time", () => {
    const took = cpuTime(() => {
      assert.equal(clean("<!---->".repeat(300_000)), "");
      assert.equal(clean("<!--".repeat(500_000)), "");
      assert.equal(clean(`${"<".repeat(50_000)}x`).length, 50_001);
    });
    assert.ok(took < 5_000, `${took} ms`);
  });
});
