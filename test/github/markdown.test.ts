import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { safeCell, safeMarkdown } from "../../src/github/markdown.ts";
import { alive, structure } from "./alive.ts";
import { hostile, hostileText, longTexts } from "./hostile.ts";
import { rounds } from "../rig/nightly.ts";

const links = ["https://github.com/o/r/blob/"];
const maxLength = 65_536;
const safe = (text: string): string => safeMarkdown(text, { maxLength, allowedLinks: links }).text;

/** Lines of foreign Markdown, and what passes of them. */
function becomes(cases: readonly (readonly [string, string])[]): void {
  for (const [text, expected] of cases) assert.equal(safe(text), expected, text);
}

test("what a report is made of passes as it is, also a second time", () => {
  const report = [
    "# Review of `4f2a91c`",
    "The commit **moves** the _retry_ loop, not ~~the other~~.\\\nSee [attempt.ts](https://github.com/o/r/blob/c0ffee/src/attempt.ts#L3-L5).",
    "1. First\n2. Second\n   - nested\n   - `a | b`",
    "- tight\n- list",
    "> A quote\n>\n> - with a list",
    "| Test | Result |\n| - | - |\n| `a\\|b` | 3 &#124; 4 |",
    "```ts\nconst a = `x`;\n\tindented();\n```",
    "***",
    "Fin 日本 é \u{1F600}",
  ].join("\n\n");
  const once = safe(report);
  assert.equal(once, report.replace("***", "___"));
  assert.equal(safe(once), once);
});

test("code keeps the spaces at its ends", () => {
  becomes([["``  a  `` and ` `", "`  a  ` and ` `"]]);
});

test("what GitHub would make a mention, a reference, a commit, an address or mathematics of is code", () => {
  becomes([
    ["Thanks @everyone and @org/team!", "Thanks `@everyone` and `@org/team`!"],
    ["Fixes #1, closes o/r#2 and GH-3.", "Fixes `#1`, closes `o/r#2` and `GH-3`."],
    ["\\@a &#64;b &#35;1", "`@a` `@b` `#1`"],
    [
      "see https://x.example/a_b_c, www.x.example",
      "see `https://x.example/a_b_c`, `www.x.example`",
    ],
    ["a $x^2$ and $`y`$", "a `$x^2$` and `$y$`"],
    ["C# 1, a @ b, item # 1, e-mail", "C# 1, a @ b, item # 1, e-mail"],
  ]);
});

test("a foreign link is its text and its address, and so is an image", () => {
  becomes([
    ["[here](https://x.example/?q=1 'title')", "here (`https://x.example/?q=1`)"],
    ["![beacon](https://x.example/p.png?id=1)", "beacon (`https://x.example/p.png?id=1`)"],
    ["[a](javascript:alert) [b](data:x,y)", "&#91;a&#93;(javascript:alert) &#91;b&#93;(data:x,y)"],
    ["![a](https://github.com/o/r/blob/c/d.png)", "a (`https://github.com/o/r/blob/c/d.png`)"],
  ]);
});

test("no line begins with a fence of tildes, which would end where the text says", () => {
  const end = "\n\n```\n~~~~\n@everyone ![i](https://x.example/p) <b>hi</b>\n```";
  for (const start of ["&#32;~~~~x~~~~", "~~&#32;~~ x", "(~~~~x\n&#32;~~~~", "&nbsp;~~~~x~~~~"]) {
    const text = safe(start + end);
    assert.doesNotMatch(text.split("```")[0] ?? "", /^\s*~{3}/m, text);
    assert.deepEqual(alive(text, { links }), [], text);
  }
});

test("only links to the allowed places pass, however their path is written", () => {
  becomes([
    ["[a](https://github.com/o/r/blob/c/./d)", "[a](https://github.com/o/r/blob/c/d)"],
    ["[@a](https://github.com/o/r/blob/c/d)", "[`@a`](https://github.com/o/r/blob/c/d)"],
  ]);
  for (const path of [
    "/../../../evil",
    "/%2e%2e/%2E%2e/%2e./evil",
    "@evil.example/",
    "/c/..\\..\\..\\evil",
  ]) {
    const text = safe(`[a](https://github.com/o/r/blob${path})`);
    assert.deepEqual(alive(text, { links }), [], text);
  }
});

test("HTML, hidden markers, footnotes, alerts and boxes are text", () => {
  becomes([
    ["<img src=x onerror=y> <b>a</b>", "&#60;img src=x onerror=y&#62; &#60;b&#62;a&#60;/b&#62;"],
    ["<!-- agent-jobs:report job=a -->", "&#60;!-- agent-jobs:report job=a --&#62;"],
    ["\\~~a\\~~ \\*b\\*", "&#126;&#126;a&#126;&#126; &#42;b&#42;"],
    ["> [!WARNING]\n> a", "> &#91;!WARNING&#93;\n> a"],
    ["- [ ] a\n- [x] b", "- &#91; &#93; a\n- &#91;x&#93; b"],
  ]);
});

test("a fence ends only where ours does, and is not one that GitHub draws or applies", () => {
  becomes([
    ["```suggestion\nrm -rf\n```", "```\nrm -rf\n```"],
    ["~~~ Mermaid x\ngraph\n~~~", "```\ngraph\n```"],
    ["````md\n```\n@a\n```\n````", "````md\n```\n@a\n```\n````"],
    ["~~~\n```\n~~~", "````\n```\n````"],
    ["``` ts\nnever closed", "```ts\nnever closed\n```"],
    ["    indented\n    ```", "````\nindented\n```\n````"],
  ]);
});

test("control, bidirectional and invisible characters are seen, from entities and in code as well", () => {
  becomes([
    ["a\u001B[31mred\u202Eb\u200Bc\0", "ared\uFFFDb\uFFFDc\uFFFD"],
    ["&#x202e;&#8203;&#27;&#10;a", "\uFFFD\uFFFD\uFFFD a"],
    ["`a\u202Eb`\n\n```\nc\u202Ed\te\n```", "`a\uFFFDb`\n\n```\nc\uFFFDd\te\n```"],
  ]);
});

test("a cell has no line end and no bare pipe", () => {
  const cell = (text: string): string => safeCell(text, { maxLength: 100, allowedLinks: links });
  assert.equal(
    cell("a\nb | **c** | `d|e` `f\\|@g`\r\n\r\n# h"),
    "a b &#124; **c** &#124; `d\\|e` `f\\ \\|@g` # h",
  );
  assert.equal(cell("x".repeat(200)).length, 100);
  fc.assert(
    fc.property(hostile, (text) => {
      const row = `| a | b |\n| - | - |\n| ${cell(text)} | end |`;
      assert.equal(structure(row), structure("| a | b |\n| - | - |\n| c | end |"), row);
      assert.deepEqual(alive(row, { links }), [], row);
      // GitHub splits rows before it looks for code, and takes each character behind a backslash for escaped.
      assert.equal(row.split("\n")[2]?.replace(/\\./g, "").split("|").length, 4, row);
    }),
    rounds(1000),
  );
});

test("whatever the text, nothing of the result is alive, and a second time changes little", () => {
  assert.deepEqual(alive(safe(hostileText), { links }), []);
  fc.assert(
    fc.property(hostile, (text) => {
      const once = safe(text);
      assert.deepEqual(alive(once, { links }), [], once);
      // Our text before it and behind it stays what it is.
      const around = structure(`before\n\n${once}\n\n***\n\n\`\`\`\nafter\n\`\`\`\n`);
      assert.match(around, /^paragraph_open inline paragraph_close .*hr fence$/, once);
    }),
    rounds(2000),
  );
});

test("a text that is too long is cut, and the result is not longer than allowed", () => {
  const long = safeMarkdown(`**${"word ".repeat(30_000)}**`, { maxLength });
  assert.equal(long.whole, false);
  assert.ok(long.text.length <= maxLength && long.text.length > 0.9 * maxLength);
  assert.deepEqual(safeMarkdown("a".repeat(100), { maxLength: 100 }).whole, true);
  // Each character becomes several.
  const short = safeMarkdown("<b".repeat(1000), { maxLength: 1000 });
  assert.ok(!short.whole && short.text.length <= 1000 && short.text.length > 700);
  assert.equal(safeMarkdown("a", { maxLength: 0 }).text, "");
});

test("lists that follow each other stay apart, and what is nested without end stays readable", () => {
  becomes([["- a\n\n* b\n\n+ c\n1. d\n2) e", "- a\n\n* b\n\n+ c\n\n1. d\n\n2) e"]]);
  const emphasis = safeMarkdown(`${"*a ".repeat(50_000)}x${" b*".repeat(50_000)}`, {
    maxLength: 1_000_000,
  });
  assert.match(emphasis.text, /^\*a \*a \*a .* a a x b b .* b\*$/);
  assert.equal(emphasis.text.match(/\*/g)?.length, 16);
});

test("a megabyte of anything is harmless, and fits", () => {
  for (const text of longTexts(1_000_000)) {
    const { text: result } = safeMarkdown(text, { maxLength: 20_000, allowedLinks: links });
    assert.ok(result.length <= 20_000, text.slice(0, 20));
    assert.deepEqual(alive(result, { links }).slice(0, 3), [], text.slice(0, 20));
    safeCell(text, { maxLength: 1000 });
  }
});
