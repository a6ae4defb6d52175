import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { diagnosticLine } from "../../src/document/diagnostic.ts";
import { schemaCheck, reportedProblems } from "../../src/document/schema-check.ts";

const object = (properties: object, required: string[] = []): object => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const ref = (name: string): object => ({ $ref: `#/$defs/${name}` });

const check = schemaCheck(
  {
    ...object({
      size: { type: "integer", minimum: 1, maximum: 9 },
      share: { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 },
      color: { enum: ["red", "green", 3] },
      fixed: { const: 7 },
      word: { type: "string", minLength: 1 },
      flag: { type: "boolean" },
      pair: {
        type: "array",
        prefixItems: [{ type: "boolean" }, ref("shape")],
        minItems: 2,
        maxItems: 2,
      },
      one: { ...object({ left: {}, right: {} }), minProperties: 1, maxProperties: 1 },
      mode: { oneOf: [{ type: "string", enum: ["slow", "fast"] }, ref("modes")] },
      shell: { anyOf: [{ const: true }, { type: "array", items: { type: "string" } }] },
      named: {
        type: "object",
        propertyNames: { pattern: "^[a-z-]+$" },
        additionalProperties: object({
          text: { type: ["string", "array"], items: { type: "string" } },
        }),
      },
      shape: ref("shape"),
      place: {
        oneOf: [
          object({ line: { type: "number" }, column: { type: "number" } }, ["line", "column"]),
          object({ offset: { type: "number" } }, ["offset"]),
        ],
      },
    }),
    $defs: {
      modes: object({ speed: { type: "number" } }, ["speed"]),
      shape: {
        type: "object",
        required: ["kind"],
        discriminator: { propertyName: "kind" },
        oneOf: [ref("dot"), ref("group")],
      },
      dot: object({ kind: { const: "Dot" }, at: { type: "number" } }, ["kind", "at"]),
      group: object(
        { kind: { const: "Group" }, parts: { type: "array", items: ref("shape"), minItems: 1 } },
        ["kind", "parts"],
      ),
    },
  },
  "thing",
);

const lines = (value: unknown): string[] => check.diagnose(value).map(diagnosticLine);

describe("schema errors as sentences", () => {
  const known =
    "known fields: size, share, color, fixed, word, flag, pair, one, mode, shell, named, shape, place";
  const cases: readonly (readonly [value: unknown, ...lines: string[]])[] = [
    [{}],
    [[], "thing: Must be an object, not a list."],
    [null, "thing: Must be an object, not null."],
    ["x".repeat(50), "thing: Must be an object, not another text."],
    [{ size: "3" }, 'thing.size: Must be a whole number, not the text "3". (write 3)'],
    [{ size: 1.5 }, "thing.size: Must be a whole number, not 1.5."],
    [{ size: 0 }, "thing.size: Must be at least 1, not 0."],
    [{ size: 10 }, "thing.size: Must be at most 9, not 10."],
    [{ share: 0 }, "thing.share: Must be more than 0, not 0."],
    [{ share: 1 }, "thing.share: Must be less than 1, not 1."],
    [{ share: Number.NaN }, "thing.share: Must be a number, not NaN."],
    [{ share: Number.POSITIVE_INFINITY }, "thing.share: Must be a number, not Infinity."],
    [
      { color: "gren" },
      'thing.color: Must be "red", "green" or 3, not the text "gren". (did you mean "green"?)',
    ],
    [{ color: {} }, 'thing.color: Must be "red", "green" or 3, not an object.'],
    [{ fixed: 8 }, "thing.fixed: Must be 7, not 8."],
    [{ word: "" }, "thing.word: Must not be empty."],
    [{ flag: "yes" }, 'thing.flag: Must be true or false, not the text "yes". (write true)'],
    [{ flag: () => 1 }, "thing.flag: Must be true or false, not a function."],
    [{ wrod: "x" }, 'thing.wrod: Unknown field "wrod". (did you mean "word"?)'],
    [{ "no such": 1 }, `thing["no such"]: Unknown field "no such". (${known})`],
    [{ pair: [true] }, "thing.pair: Must have at least 2 elements."],
    [
      { pair: [1, { kind: "Dot" }, 3] },
      "thing.pair: Must have at most 2 elements.",
      "thing.pair[0]: Must be true or false, not 1.",
      "thing.pair[1].at: This field is required.",
    ],
    [{ one: {} }, 'thing.one: Must have exactly one of the fields "left" or "right".'],
    [
      { one: { left: 1, right: 1 } },
      'thing.one: Must have exactly one of the fields "left" or "right".',
    ],
    [
      { one: { left: 1, lefft: 1 } },
      'thing.one.lefft: Unknown field "lefft". (did you mean "left"?)',
    ],
    [{ one: { lefft: 1 } }, 'thing.one.lefft: Unknown field "lefft". (did you mean "left"?)'],
    [{ named: { "A B": {} } }, 'thing.named["A B"]: "A B" can\'t be a name here.'],
    [{ named: { "a-b": { text: ["x", 1] } } }, 'thing.named["a-b"].text[1]: Must be text, not 1.'],
    [{ named: { ab: { text: 1 } } }, 'thing.named["ab"].text: Must be text or a list, not 1.'],
  ];
  for (const [value, ...expected] of cases) {
    it(expected[0] ?? "are none for a value that fits", () => {
      assert.deepEqual(lines(value), expected);
    });
  }
});

describe("unions", () => {
  const cases: readonly (readonly [value: unknown, ...lines: string[]])[] = [
    [{ mode: "fast" }],
    [{ mode: { speed: 1 } }],
    [
      { mode: "fsat" },
      'thing.mode: Must be "slow" or "fast", not the text "fsat". (did you mean "fast"?)',
    ],
    [{ mode: 3 }, "thing.mode: Must be text or an object, not 3."],
    [{ mode: {} }, "thing.mode.speed: This field is required."],
    [{ mode: { sped: 1 } }, 'thing.mode.sped: Unknown field "sped". (did you mean "speed"?)'],
    [{ shell: false }, "thing.shell: Must be true or a list, not false."],
    [{ shell: "ls" }, 'thing.shell: Must be true or a list, not the text "ls".'],
    [{ shell: ["ls", 1] }, "thing.shell[1]: Must be text, not 1."],
    [
      { size: "a", shell: 1, flag: 1 },
      'thing.size: Must be a whole number, not the text "a".',
      "thing.flag: Must be true or false, not 1.",
      "thing.shell: Must be true or a list, not 1.",
    ],
    [{ place: {} }, "thing.place.offset: This field is required."],
    [{ place: { line: 1 } }, "thing.place.column: This field is required."],
    [{ shape: {} }, "thing.shape.kind: This field is required. (write Dot or Group)"],
    [{ shape: [] }, "thing.shape: Must be an object, not a list."],
    [{ shape: { kind: 3 } }, 'thing.shape.kind: Must be "Dot" or "Group", not 3.'],
    [
      { shape: { kind: "Gruop", parts: 3 } },
      'thing.shape.kind: Must be "Dot" or "Group", not the text "Gruop". (did you mean "Group"?)',
    ],
    [{ shape: { kind: "Group" } }, "thing.shape.parts: This field is required."],
    [
      { shape: { kind: "Group", part: [] } },
      'thing.shape.part: Unknown field "part". (did you mean "parts"?)',
    ],
    [
      {
        shape: {
          kind: "Group",
          parts: [
            { kind: "Group", parts: [] },
            { kind: "Dot", at: "x" },
          ],
        },
      },
      "thing.shape.parts[0].parts: Must have at least one element.",
      'thing.shape.parts[1].at: Must be a number, not the text "x".',
    ],
  ];
  for (const [value, ...expected] of cases) {
    it(`are explained by the case that was meant: ${JSON.stringify(value)}`, () => {
      assert.deepEqual(lines(value).sort(), expected.sort());
    });
  }

  it("with a discriminator cost no more with each level", () => {
    let shape: object = { kind: "Dot" };
    for (let level = 0; level < 100; level++) shape = { kind: "Group", parts: [shape] };
    assert.equal(lines({ shape }).length, 1);
  });
});

describe("a compiled schema", () => {
  it("accepts what has no problems", () => {
    assert.equal(check.accepts({ size: 3 }), true);
    assert.equal(check.accepts({ size: 30 }), false);
    assert.deepEqual(check.problems({ size: 3 }), []);
  });

  it("sees own fields only", () => {
    const strict = schemaCheck(object({ toString: { type: "number" } }, ["toString"]), "x");
    assert.deepEqual(strict.diagnose({}).map(diagnosticLine), [
      "x.toString: This field is required.",
    ]);
  });

  it("brackets the names that an author chose and dots the fields of the schema", () => {
    assert.equal(check.codePath(["named", "text", "text", 0]), 'thing.named["text"].text[0]');
    assert.equal(check.codePath(["shape", "parts", 1, "kind"]), "thing.shape.parts[1].kind");
    assert.equal(check.codePath(["pair", 1, "parts"]), "thing.pair[1].parts");
    assert.equal(check.codePath(["named", 'q"\n']), 'thing.named["q\\"\\n"]');
    assert.equal(check.codePath([]), "thing");
  });

  it("finds names with slashes, tildes and digits", () => {
    assert.deepEqual(lines({ named: { "a/b~c": 1 } }), [
      'thing.named["a/b~c"]: "a/b~c" can\'t be a name here.',
      'thing.named["a/b~c"]: Must be an object, not 1.',
    ]);
    assert.deepEqual(
      check
        .problems({ named: { 0: 1 } })
        .map(({ path }) => path)
        .at(-1),
      ["named", "0"],
    );
  });

  it("places problems in a text, in reading order", () => {
    const place = {
      file: "f",
      locate: (path: readonly (string | number)[]) => ({
        line: path[0] === "size" ? 9 : 2,
        column: 1,
      }),
    };
    assert.deepEqual(check.diagnose({ size: 0, flag: 1 }, place).map(diagnosticLine), [
      "f:2:1: thing.flag: Must be true or false, not 1.",
      "f:9:1: thing.size: Must be at least 1, not 0.",
    ]);
  });

  it("explains a bounded number of problems, and says so", () => {
    const many = Array.from({ length: reportedProblems + 5 }, () => 1);
    const inspected = check.inspect({ shell: many });
    assert.ok(inspected.kind === "refused" && !inspected.complete);
    assert.equal(inspected.problems.length, reportedProblems);
    const single = check.inspect({ shell: [1] });
    assert.ok(single.kind === "refused" && single.complete);
  });
});
