import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { documentLimits, formatOfFile, readDocument } from "../../src/document/read-document.ts";
import { isRecord } from "../../src/text/guards.ts";
import { faultLines, plainly, valueOf } from "../entry/rig.ts";
import { rounds } from "../rig/nightly.ts";

const formats = ["json", "yaml"] as const;

/** Data that JSON can hold, with keys that objects are touchy about. */
const data = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(
      fc.string(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => (one === 0 ? 0 : one)),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toString", "<<", "1")),
      tie("value"),
      { maxKeys: 4, noNullPrototype: true },
    ),
  ),
}));

describe("formatOfFile", () => {
  it("goes by the extension, in any case", () => {
    assert.deepEqual(["a.json", "a.JSON", "a.yml", "dir.json/a.yaml"].map(formatOfFile), [
      "json",
      "json",
      "yaml",
      "yaml",
    ]);
    assert.deepEqual(
      ["a.txt", "json", "a.json/b", "", "a.yml."].filter(
        (name) => formatOfFile(name) !== undefined,
      ),
      [],
    );
  });
});

describe("readDocument", () => {
  it("reads what JSON.stringify writes, in both formats", () => {
    fc.assert(
      fc.property(data.value, fc.constantFrom(...formats), (value, format) => {
        const text = JSON.stringify(value, null, 1);
        if (format === "yaml" && value === null) return;
        assert.equal(JSON.stringify(valueOf(text, format)), JSON.stringify(value));
      }),
    );
  });

  it("accepts as JSON exactly what JSON.parse accepts", () => {
    const pieces = fc.constantFrom(
      ..."[]{},:\"\\ \n\t01-+.eE/*'".split(""),
      "true",
      "false",
      "null",
      '"a"',
      '"b":',
      "\\u00e9",
      "\\x",
      "//",
      "/*",
      "NaN",
      "\u00a0",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        const keys = [...text.matchAll(/"((?:[^"\\]|\\.)*)"\s*:/g)].map((match) => match[1]);
        fc.pre(new Set(keys).size === keys.length);
        let expected = true;
        try {
          JSON.parse(text);
        } catch {
          expected = false;
        }
        assert.equal(readDocument(text, { format: "json" }).kind === "read", expected, text);
      }),
      rounds(2000),
    );
  });

  it("never throws, whatever the text", () => {
    const soup = fc.constantFrom(
      ..."[]{},:-?&*!|>'\"#%@` \n\t~0a".split(""),
      ..."- |? |: |a: |&a |*a |!!x |---\n|...\n|<<: |\n  |\n    |\u00e9".split("|"),
    );
    fc.assert(
      fc.property(
        fc.array(soup, { maxLength: 60 }),
        fc.constantFrom(...formats),
        (parts, format) => {
          const result = readDocument(parts.join(""), { format });
          if (result.kind === "rejected") assert.ok(result.diagnostics.length > 0);
          else JSON.stringify(result.value);
        },
      ),
      rounds(1500),
    );
  });

  it("never throws, whatever the bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.constantFrom(...formats), (bytes, format) => {
        readDocument(bytes, { format });
      }),
    );
  });

  it("gives objects no prototype to inherit from or to pollute", () => {
    for (const format of formats) {
      const text = '{"__proto__": {"polluted": 1}, "constructor": {"prototype": 2}, "a": {}}';
      const value = valueOf(text, format);
      assert.ok(isRecord(value));
      assert.deepEqual(Object.keys(value), ["__proto__", "constructor", "a"]);
      assert.ok(isRecord(value["a"]));
      assert.equal(value["a"]["toString"], undefined);
      assert.equal(value["a"]["constructor"], undefined);
      assert.equal(value["a"]["__proto__"], undefined);
      assert.equal(value["toString"], undefined);
      assert.equal(Reflect.get({}, "polluted"), undefined);
    }
  });

  it("accepts a byte order mark, in bytes and in text, and does not count it", () => {
    for (const format of formats) {
      assert.deepEqual(plainly(valueOf('\uFEFF{"a": 1}', format)), { a: 1 });
      assert.deepEqual(plainly(valueOf(Buffer.from('\uFEFF{"a": 1}'), format)), { a: 1 });
      assert.match(faultLines('\uFEFF{"a": 1, "a": 2}', format)[0] ?? "", /^f:1:10: Duplicate/);
    }
  });

  it("refuses what is not text", () => {
    const notText = ["f: The file is not UTF-8 text. (save it as UTF-8)"];
    for (const format of formats) {
      assert.deepEqual(faultLines(Uint8Array.of(0x89, 0x50, 0x4e, 0x47), format), notText);
      assert.deepEqual(faultLines(Buffer.from("\uFEFFa: 1", "utf16le"), format), notText);
      assert.deepEqual(faultLines("a\0b", format), ["f:1:2: The file is binary."]);
    }
  });

  it("refuses what is empty", () => {
    for (const text of ["", " \n\t", "\uFEFF"]) {
      for (const format of formats)
        assert.deepEqual(faultLines(text, format), ["f: The file is empty."]);
    }
    assert.deepEqual(faultLines("# only a comment\n", "yaml"), ["f:1:1: The file is empty."]);
    assert.deepEqual(faultLines("---\n", "yaml"), []);
  });

  it("refuses more than 10 MB before it looks at it", () => {
    const line = ["f: The file has 10.0 MB. The maximum is 10 MB."];
    const tooMuch = `"${"x".repeat(documentLimits.bytes)}"`;
    for (const format of formats) {
      assert.deepEqual(faultLines(tooMuch, format), line);
      assert.deepEqual(faultLines(Buffer.from(tooMuch), format), line);
      const accents = `"${"é".repeat(documentLimits.bytes / 2)}"`;
      assert.deepEqual(faultLines(accents, format), line);
    }
    const justEnough = `"${"x".repeat(documentLimits.bytes - 2)}"`;
    assert.equal(valueOf(justEnough, "json"), justEnough.slice(1, -1));
  });
});

describe("nesting", () => {
  const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

  it("is allowed to exactly 100 levels in both formats", () => {
    for (const format of formats) {
      assert.deepEqual(faultLines(nested(100), format), []);
      assert.deepEqual(faultLines(nested(101), format), [
        "f:1:101: Nested deeper than 100 levels.",
      ]);
      const object = `${'{"a":'.repeat(101)}1${"}".repeat(101)}`;
      assert.match(faultLines(object, format)[0] ?? "", /Nested deeper than 100 levels\.$/);
      assert.deepEqual(faultLines(object.slice(5, -1), format), []);
    }
  });

  it("is counted over lines as well as within one", () => {
    const lines = (depth: number, sign: string): string =>
      Array.from({ length: depth }, (_, level) => " ".repeat(level) + sign).join("\n");
    for (const sign of ["a:", "-", "- "]) {
      assert.deepEqual(faultLines(lines(100, sign), "yaml"), []);
      assert.match(
        faultLines(lines(101, sign), "yaml")[0] ?? "",
        /Nested deeper than 100 levels\.$/,
      );
    }
  });

  for (const unit of [
    "[",
    "- ",
    "? ",
    ": ",
    "{a: ",
    "{? ",
    "[? ",
    "a: ",
    "- a: ",
    '{"a":',
    "[[a]: ",
    "- [",
  ]) {
    it(`is refused where ${JSON.stringify(unit)} is repeated many thousand times`, () => {
      const line = faultLines(unit.repeat(20_000), "yaml")[0] ?? "";
      assert.match(line, /^f:1:\d+: (?:Nested deeper than 100 levels\.|Not valid YAML: )/);
    });
  }

  it("is refused in JSON however the brackets are hidden", () => {
    const deep = "[".repeat(100_000);
    const tooDeep = /Nested deeper than 100 levels\.$/;
    assert.match(faultLines(deep, "json")[0] ?? "", tooDeep);
    assert.match(faultLines('{"a":'.repeat(100_000), "json")[0] ?? "", tooDeep);
    assert.match(faultLines(`"never closed ${deep}\n${deep}`, "json")[0] ?? "", /is not closed/);
    assert.match(
      faultLines(`/* " */ ${deep}`, "json")[0] ?? "",
      /^f:1:1: Comments are not allowed/,
    );
    assert.match(faultLines(`// "\n${deep}`, "json")[0] ?? "", /^f:1:1: Comments are not allowed/);
  });

  it("does not count brackets in strings, comments and block text", () => {
    const brackets = `[[{{${"[".repeat(500)}`;
    assert.deepEqual(faultLines(JSON.stringify({ [brackets]: `\\"${brackets}` }), "json"), []);
    const dashes = "- ".repeat(500);
    const text = `a: "${brackets}"\nb: '${brackets}'\n# ${brackets}\nc: |\n  ${brackets}\n  ${dashes}\nd: x ${brackets}\n`;
    assert.deepEqual(faultLines(text, "yaml"), []);
  });

  it("is counted through aliases", () => {
    const base = `a: &a ${nested(60)}\n`;
    assert.deepEqual(faultLines(`${base}b: ${"[".repeat(39)}*a${"]".repeat(39)}`, "yaml"), []);
    assert.match(
      faultLines(`${base}b: ${"[".repeat(40)}*a${"]".repeat(40)}`, "yaml")[0] ?? "",
      /^f:2:44: Nested deeper than 100 levels\.$/,
    );
  });
});
