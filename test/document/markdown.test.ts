import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readMarkdown, type MarkdownFile } from "../../src/document/markdown.ts";

function read(text: string): MarkdownFile {
  const result = readMarkdown(text, "a.md");
  return result.kind === "read" ? result.document : assert.fail(JSON.stringify(result));
}

const headings = (text: string): readonly string[] =>
  read(text).headings.map(
    ({ level, text: name, at }) => `${at.line}:${at.column} ${level} ${name}`,
  );

describe("the headings of a Markdown file", () => {
  it("are lines with signs, as CommonMark reads them", () => {
    assert.deepEqual(headings("# A\n## B ##\n   ### C#\n#\n####### no\n#no\n\\# no\n"), [
      "1:1 1 A",
      "2:1 2 B",
      "3:4 3 C#",
      "4:1 1 ",
    ]);
    assert.deepEqual(headings("# *A* `b` #x"), ["1:1 1 *A* `b` #x"]);
  });

  it("are none in fences, code, lists, quotes and HTML, nor lines below a text", () => {
    const text =
      "```\n# a\n```\n~~~ x\n# a\n```\n~~~\n\n    # a\n\n- # a\n\n> # a\n\n<div>\n# a\n</div>\n\n<!--\n\n# a\n-->\n\ntext\n===\nmore\n---\n\n# B";
    assert.deepEqual(headings(text), ["29:1 1 B"]);
  });
});

describe("the code fences of a Markdown file", () => {
  it("have a tag, a content and the places of it", () => {
    const { fences } = read(
      "a\n\n- b\n\n   ~~~ Sh x\n   cd\n     ls\n   ~~~\n\n> ```\n> q\n> ```\n",
    );
    assert.deepEqual(
      fences.map(({ info, content, at, isClosed }) => [info, content, at, isClosed]),
      [
        ["Sh x", "cd\n  ls\n", { line: 5, column: 4 }, true],
        ["", "q\n", { line: 10, column: 3 }, true],
      ],
    );
    assert.deepEqual(fences[0]?.locate(0), { line: 6, column: 4 });
    assert.deepEqual(fences[0]?.locate(5), { line: 7, column: 6 });
    assert.deepEqual(fences[1]?.locate(0), { line: 11, column: 3 });
  });

  it("are closed by a fence, not by the end", () => {
    const closed = (text: string): readonly boolean[] =>
      read(text).fences.map(({ isClosed }) => isClosed);
    for (const text of ["```\na\n```", "```\n```", "```\n\n```\n", "````\n```\n````"])
      assert.deepEqual(closed(text), [true], text);
    for (const text of ["```\na", "```\na\n", "```", "```\n\n", "```\n````x\n", "- ```\n  a\n\nb"])
      assert.deepEqual(closed(text), [false], text);
  });
});

describe("the front matter of a Markdown file", () => {
  it("is YAML, with places in the file", () => {
    const { frontMatter, lines, headings: found } = read("---\na: 1\nb:\n  - x\n---\n# A\n");
    assert.deepEqual(JSON.parse(JSON.stringify(frontMatter?.value)), { a: 1, b: ["x"] });
    assert.deepEqual(frontMatter?.locate(["b", 0]), { line: 4, column: 5 });
    assert.deepEqual(lines, ["", "", "", "", "", "# A", ""]);
    assert.deepEqual(found[0]?.at, { line: 6, column: 1 });
  });

  it("is none without a second fence, below the first line, or without content", () => {
    for (const text of [
      "---\na: 1\n",
      "\n---\na: 1\n---\n",
      "---\n\n# x\n---\nb",
      " ---\na: 1\n---\n",
    ])
      assert.equal(read(text).frontMatter, undefined, text);
  });

  it("is refused where it is wrong", () => {
    const result = readMarkdown("---\na: 1\na: 2\n---\n", "a.md");
    assert.deepEqual(result, {
      kind: "rejected",
      diagnostics: [
        { file: "a.md", line: 3, column: 1, codePath: "", reason: 'Duplicate key "a".' },
      ],
    });
  });
});
