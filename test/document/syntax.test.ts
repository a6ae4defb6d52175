import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { readDocument } from "../../src/document/read-document.ts";
import type { Path, Position } from "../../src/document/diagnostic.ts";
import { faultLines, plainly, valueOf } from "../entry/rig.ts";
import { cpuTime } from "../rig/growth.ts";

describe("JSON", () => {
  const faults: readonly (readonly [text: string, line: string])[] = [
    ['{"a": [1, 2', "f:1:12: The file ends in the middle of a value. (is it complete?)"],
    ['{"a": "x', "f:1:7: A string is not closed on its line. (write \\n for a line break)"],
    ['{"a": 1,}', 'f:1:9: Expected a key in double quotes, found "}".'],
    ['{"a": 1 "b": 2}', 'f:1:9: Expected "," or the end of the list or object, found "\\"".'],
    ['{"a" 1}', 'f:1:6: Expected ":" after the key, found "1".'],
    ["[1, ]", 'f:1:5: Expected a value, found "]".'],
    ["{}{}", 'f:1:3: Expected the end of the file, found "{".'],
    ['{"a": tru}', 'f:1:7: "tru" is not JSON. (put texts in double quotes)'],
    [
      "// no\n{}",
      "f:1:1: Comments are not allowed in JSON. (a YAML file (.yml) may have comments)",
    ],
    ['{"a": "\t"}', "f:1:7: A string contains a control character. (write \\t for a tab)"],
    ['["\\x"]', 'f:1:2: Not valid JSON: invalid escape character, at "\\"".'],
    ['{"a": 1,\n "a": 2}', 'f:2:2: Duplicate key "a".'],
    ['{"__proto__": 1, "__proto__": 2}', 'f:1:18: Duplicate key "__proto__".'],
  ];
  for (const [text, line] of faults) {
    it(`says what is wrong with ${JSON.stringify(text)}`, () => {
      assert.deepEqual(faultLines(text, "json"), [line]);
    });
  }

  it("names every duplicate key", () => {
    assert.equal(faultLines('{"a": 1, "a": 2, "b": {"c": 1, "c": 2}}', "json").length, 2);
  });
});

describe("YAML", () => {
  const faults: readonly (readonly [text: string, line: RegExp])[] = [
    ["a: 'x", /^f:1:4: Not valid YAML: This text has no closing '\.$/],
    ["a: [1, 2", /^f:1:9: Not valid YAML: Flow sequence .* end with a \]\.$/],
    ["a: b: c", /^f:1:4: Not valid YAML: Unquoted text can't contain ": "\./],
    ["\ta: 1", /^f:1:1: Not valid YAML: Tabs are not allowed as indentation\.$/],
    ["a: 1\n---\nb: 2", /^f:2:1: The file contains more than one YAML document\. \(remove ---\)$/],
    ["a: 1\nb: 2\na: 3", /^f:3:1: Duplicate key "a"\.$/],
    ["1: a\n'1': b", /^f:2:1: Duplicate key "1"\.$/],
    ["~: a", /^f:1:1: A key must be a string\. \(put it in quotes\)$/],
    ["? [a, b]\n: c", /^f:1:3: A key must be a string\./],
    ["a: !foo x", /^f:1:4: Not valid YAML: Unresolved tag: !foo\. \(quote it: "!foo x"\)$/],
    ["a: *x", /^f:1:4: There is no anchor &x before this alias\.$/],
    [
      "a: **/*.md",
      /^f:1:4: `\*\*\/\*\.md` is read as a YAML alias\. \(quote it: "\*\*\/\*\.md"\)$/,
    ],
    ["a: &a [*a]", /^f:1:8: The anchor &a contains itself\.$/],
    ["a: {<<: [1]}", /^f:1:9: Only objects can be merged with <<\.$/],
    ["a: !!binary aGk=", /^f:1:\d+: (?:A value must be a string|Not valid YAML)/],
  ];
  for (const [text, line] of faults) {
    it(`says what is wrong with ${JSON.stringify(text)}`, () => {
      const lines = faultLines(text, "yaml");
      assert.equal(lines.length, 1, lines.join("\n"));
      assert.match(lines[0] ?? "", line);
    });
  }

  it("is version 1.2, even where a file asks for 1.1", () => {
    const value = { a: "no", b: "on", c: "0o17x", d: 15, e: "2001-01-01" };
    const text = "a: no\nb: on\nc: 0o17x\nd: 0xF\ne: 2001-01-01\n";
    assert.deepEqual(plainly(valueOf(text, "yaml")), value);
    assert.deepEqual(plainly(valueOf(`%YAML 1.1\n---\n${text}`, "yaml")), value);
  });

  it("takes numbers and booleans as keys in the way they are written", () => {
    assert.deepEqual(plainly(valueOf("404: a\ntrue: b\n1.0: c\n", "yaml")), {
      404: "a",
      true: "b",
      "1.0": "c",
    });
  });

  it("resolves aliases, of values and of keys", () => {
    const text = "a: &x {p: [1]}\nb: *x\nc: &k name\n*k : 2\n";
    const value = { a: { p: [1] }, b: { p: [1] }, c: "name", name: 2 };
    assert.deepEqual(plainly(valueOf(text, "yaml")), value);
  });

  it("merges with <<, where fields of the object itself and earlier sources win", () => {
    const text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz: {<<: [*x, *y], a: 0}\nq: {'<<': 1}\n";
    assert.deepEqual(plainly(valueOf(text, "yaml")), {
      x: { a: 1, b: 1 },
      y: { b: 2, c: 2 },
      z: { a: 0, b: 1, c: 2 },
      q: { "<<": 1 },
    });
  });

  it("merges __proto__ as a key like any other", () => {
    const value = valueOf("x: &x {__proto__: {p: 1}}\ny: {<<: *x}\n", "yaml");
    assert.equal(JSON.stringify(value), '{"x":{"__proto__":{"p":1}},"y":{"__proto__":{"p":1}}}');
  });

  it("refuses aliases that would blow up", () => {
    const levels = "bcdefghij".split("").map((name, index) => {
      const below = `*${"abcdefghi"[index] ?? ""}`;
      return `${name}: &${name} [${Array(9).fill(below).join(", ")}]`;
    });
    const laughs = `a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n${levels.join("\n")}\n`;
    const line = /^f:\d+:\d+: With all aliases expanded, the file has more than 10 MB\.$/;
    assert.match(faultLines(laughs, "yaml")[0] ?? "", line);
    // Values without a text take memory, too.
    const lists = Array.from(
      { length: 17 },
      (_, level) => `a${level + 1}: &a${level + 1} [*a${level}, *a${level}]\n`,
    );
    assert.match(faultLines(`a0: &a0 []\n${lists.join("")}`, "yaml")[0] ?? "", line);
    const long = `a: &a ${"x".repeat(100_000)}\nb: [${Array(100).fill("*a").join(", ")}]\n`;
    assert.match(faultLines(long, "yaml")[0] ?? "", line);
    const merged = `a: &a {${Array.from({ length: 2000 }, (_, i) => `k${i}: x`).join(", ")}}\n`;
    const merging = Array.from({ length: 2000 }, (_, index) => `m${index}: {<<: *a}`).join("\n");
    assert.match(faultLines(merged + merging, "yaml")[0] ?? "", line);
  });
});

describe("locate", () => {
  const at = (text: string, format: "json" | "yaml", path: Path): string => {
    const read = readDocument(text, { format });
    if (read.kind === "rejected") return "rejected";
    const { line, column } = read.locate(path);
    return `${line}:${column}`;
  };

  it("gives the position of the value", () => {
    const json = '{\n  "a": [1,\n    {"b": "é", "c": true}]}';
    const yaml = "a:\n  - 1\n  - b: é\n    c: true\n";
    const paths: Path[] = [[], ["a"], ["a", 0], ["a", 1], ["a", 1, "b"], ["a", 1, "c"]];
    assert.deepEqual(
      paths.map((path) => at(json, "json", path)),
      ["1:1", "2:8", "2:9", "3:5", "3:11", "3:21"],
    );
    assert.deepEqual(
      paths.map((path) => at(yaml, "yaml", path)),
      ["1:1", "2:3", "2:5", "3:5", "3:8", "4:8"],
    );
  });

  it("gives the nearest parent of what is not there", () => {
    const text = '{"a": {"b": [1]}}';
    for (const format of ["json", "yaml"] as const) {
      assert.equal(at(text, format, ["x", "y"]), "1:1");
      assert.equal(at(text, format, ["a", "x"]), "1:7");
      assert.equal(at(text, format, ["a", "b", 5, "y"]), "1:13");
      assert.equal(at(text, format, ["a", "b", 0, "y"]), "1:14");
      assert.equal(at(text, format, ["a", "toString"]), "1:7");
      assert.equal(at(text, format, ["a", "b", "length"]), "1:13");
    }
  });

  it("finds an empty value of YAML at its key", () => {
    assert.equal(at("a:\n  b:\n  c: 1\n", "yaml", ["a", "b"]), "2:3");
  });

  it("looks through aliases, to the text that they stand for", () => {
    const text = "a: &x\n  p: 1\nb: *x\nc: {<<: *x}\n";
    assert.equal(at(text, "yaml", ["b"]), "3:4");
    assert.equal(at(text, "yaml", ["b", "p"]), "2:6");
    assert.equal(at(text, "yaml", ["c", "p"]), "4:4");
  });

  it("counts lines that end with CRLF", () => {
    assert.equal(at("a: 1\r\nb: 2\r\n", "yaml", ["b"]), "2:4");
    assert.equal(at('{\r\n"b": 2}', "json", ["b"]), "2:6");
  });

  it("points at the text of every scalar, wherever it stands", () => {
    const scalars = fc.dictionary(
      fc.string({ minLength: 1 }),
      fc.array(fc.dictionary(fc.string(), fc.nat(), { maxKeys: 4 }), { maxLength: 4 }),
      { maxKeys: 4 },
    );
    fc.assert(
      fc.property(scalars, fc.constantFrom("json", "yaml"), (value, format) => {
        const text = JSON.stringify(value, null, 2);
        const lines = text.split("\n");
        const read = readDocument(text, { format });
        if (read.kind === "rejected") return assert.fail(text);
        const textAt = ({ line, column }: Position): string =>
          (lines[line - 1] ?? "").slice(column - 1).replace(/,$/, "");
        for (const [name, list] of Object.entries(value)) {
          list.forEach((item, index) => {
            for (const [key, number] of Object.entries(item)) {
              assert.equal(textAt(read.locate([name, index, key])), String(number));
            }
          });
        }
      }),
    );
  });

  it("answers twenty thousand questions about a large object without delay", () => {
    const keys = Array.from({ length: 20_000 }, (_, index) => `key-${index}`);
    const text = `{${keys.map((name) => `"${name}": [1]`).join(",\n")}}`;
    for (const format of ["json", "yaml"] as const) {
      const read = readDocument(text, { format });
      if (read.kind === "rejected") assert.fail("rejected");
      const took = cpuTime(() =>
        keys.forEach((name, index) => assert.equal(read.locate([name, 0]).line, index + 1)),
      );
      assert.ok(took < 4000, `${took} ms`);
    }
  });
});
