/** Checking arguments that a model sends, against schemas that a tool or an MCP server has: in linear time, or not at all. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { compileValueCheck, type ValueCheck } from "../../src/document/value-check.ts";
import { holds } from "../rig/fuzz.ts";
import { linearInTime } from "../rig/growth.ts";

function checkOf(schema: object): ValueCheck {
  const compiled = compileValueCheck(schema);
  assert.ok(compiled.kind === "compiled", JSON.stringify(compiled));
  return compiled.check;
}

const times = <T>(size: number, make: (index: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => make(index));
const nested = (size: number): unknown => {
  let value: unknown = {};
  for (let depth = 0; depth < size; depth += 1) value = { next: value };
  return value;
};
const tree = { next: { $ref: "#" } };
const item = { type: "object", required: ["x", "y"], properties: { z: { type: "string" } } };

interface Attack {
  readonly schema: object;
  readonly make: (size: number) => unknown;
}

const attacks: Readonly<Record<string, Attack>> = {
  "a pattern that backtracks": {
    schema: { pattern: "^(a+)+$" },
    make: (size) => `${"a".repeat(size)}!`,
  },
  "a pattern of names that backtracks": {
    schema: { patternProperties: { "^(a|a)*$": { type: "string" } } },
    make: (size) => ({ [`${"a".repeat(size)}!`]: 1 }),
  },
  "a pattern for each name": {
    schema: { propertyNames: { pattern: "^(a+)+$" } },
    make: (size) => Object.fromEntries(times(size / 30, (at) => [`${"a".repeat(30)}${at}`, 1])),
  },
  "unique objects": {
    schema: { uniqueItems: true },
    make: (size) => times(size, (at) => ({ at, list: [at] })),
  },
  "alternatives that each lead to the whole": {
    schema: {
      anyOf: [
        { properties: tree, required: ["next"] },
        { properties: tree, required: ["end"] },
      ],
    },
    make: nested,
  },
  "exactly one of alternatives that each lead to the whole": {
    schema: { oneOf: [{ properties: tree }, { properties: tree }, { properties: tree }] },
    make: nested,
  },
  "references under an unknown keyword": {
    schema: {
      $ref: "#/parts/a",
      parts: {
        a: { allOf: [{ properties: { next: { $ref: "#/parts/a" } } }, { $ref: "#/parts/b" }] },
        b: { properties: { next: { $ref: "#/parts/a" } } },
      },
    },
    make: nested,
  },
  anchors: {
    schema: {
      $ref: "#a",
      $defs: {
        a: {
          $anchor: "a",
          allOf: [
            { properties: { next: { $ref: "#a" } } },
            { properties: { next: { $dynamicRef: "#a" } } },
          ],
        },
      },
    },
    make: nested,
  },
  "wrong items of one definition": {
    schema: { items: { $ref: "#/$defs/item" }, $defs: { item } },
    make: (size) => times(size, () => ({})),
  },
  "items against many objects": {
    schema: { items: { enum: times(500, (id) => ({ id, kind: "x" })) } },
    make: (size) => times(size, () => ({ id: 499, kind: "x" })),
  },
  "items against many schemas": {
    schema: { items: { allOf: times(400, (at) => ({ not: { const: at } })) } },
    make: (size) => times(size, () => -1),
  },
  "a long text against many lengths": {
    schema: { allOf: times(500, (at) => ({ maxLength: 1_000_000 + at })) },
    make: (size) => "x".repeat(size * 10),
  },
  "many names against many objects": {
    schema: { allOf: times(300, () => ({ additionalProperties: true, minProperties: 1 })) },
    make: (size) => Object.fromEntries(times(size, (at) => [`k${at}`, at])),
  },
};

for (const [name, { schema, make }] of Object.entries(attacks)) {
  test(`${name}: checked in linear time, or refused`, () => {
    const check = checkOf(schema);
    // What is exponential takes too long at this depth, and what is refused doesn't: no ratio of times says that.
    linearInTime({ name, make, run: check, sizes: [26, 26] });
    linearInTime({ name, make, run: check, sizes: [2_000, 16_000] });
  });
}

test("a value that can't be checked is refused with a reason", () => {
  const reasons = (schema: object, value: unknown): readonly string[] =>
    checkOf(schema)(value).map(({ reason }) => reason);
  const large = ["Is too large to be checked against its JSON Schema."];
  const deep = ["Is nested too deeply to be checked against its JSON Schema."];
  const { oneOf } = { oneOf: times(3, () => ({ properties: tree })) };
  assert.deepEqual(reasons({ oneOf: [...oneOf, { not: {} }] }, nested(200)), large);
  assert.deepEqual(reasons({ properties: tree }, nested(100_000)), deep);
  assert.deepEqual(reasons({ $ref: "#" }, {}), deep);
});

test("a schema is invalid if its references lead to anything but its own schemas", () => {
  const hidden = { anyOf: [{ properties: tree }, { $ref: "#/enum/0" }] };
  for (const schema of [
    { enum: [hidden], $ref: "#/enum/0" },
    { const: { $anchor: "a", ...hidden }, $ref: "#a" },
    { default: { $id: "b.json", ...hidden }, $ref: "b.json" },
    { $ref: "other.json" },
  ]) {
    assert.equal(compileValueCheck(schema).kind, "invalid", JSON.stringify(schema));
  }
});

test("a pattern that can't be matched in linear time is invalid, or left to the server", () => {
  const schema = { properties: { a: { type: "string", pattern: "^(?!x)y" } } };
  const strict = compileValueCheck(schema);
  assert.ok(strict.kind === "invalid" && strict.reason.includes("could take forever"));
  const lenient = compileValueCheck(schema, { lenient: true });
  assert.ok(lenient.kind === "compiled");
  assert.deepEqual(lenient.check({ a: "x" }), []);
  assert.equal(lenient.check({ a: 1 }).length, 1);
  assert.equal(compileValueCheck({ pattern: "(" }, { lenient: true }).kind, "invalid");
});

test("ordinary large arguments are checked", () => {
  const check = checkOf({
    type: "object",
    properties: {
      text: { type: "string", pattern: "^[^\\0]*$" },
      rows: { type: "array", items: { $ref: "#/$defs/row" }, uniqueItems: true },
    },
    $defs: { row: { type: "object", required: ["id"], properties: { id: { type: "integer" } } } },
  });
  const rows = times(20_000, (id) => ({ id }));
  assert.deepEqual(check({ text: "x".repeat(200_000), rows }), []);
  assert.equal(check({ rows: [...rows, { id: 3 }] })[0]?.keyword, "uniqueItems");
});

test("a schema of somebody else is refused if compiling it would take long", () => {
  const reasonOf = (schema: object): string => {
    const compiled = compileValueCheck(schema, { lenient: true });
    return compiled.kind === "compiled" ? "" : compiled.reason;
  };
  const parts = "it has more than 200 parts";
  const properties = (count: number): object => ({
    properties: Object.fromEntries(times(count, (at) => [`p${at}`, { type: "string" }])),
  });
  const names = (count: number): object =>
    Object.fromEntries(times(count, (at) => [`p${at}`, ["a", "b"]]));
  const inOneAnother = (depth: number): object =>
    times(depth, (at) => at).reduce<object>((items) => ({ items }), {});
  assert.equal(reasonOf(properties(199)), "");
  assert.equal(reasonOf(properties(200)), parts);
  assert.equal(reasonOf({ dependentRequired: names(300) }), parts);
  assert.equal(reasonOf({ dependencies: names(300) }), parts);
  assert.equal(reasonOf(inOneAnother(50)), "");
  assert.equal(reasonOf(inOneAnother(51)), "it is nested more than 50 levels deep");
  // The author of an entry waits only for what they have written.
  assert.equal(compileValueCheck(properties(900)).kind, "compiled");
});

test("long regular expressions of somebody else are left to them", () => {
  const short = { pattern: "^a+$" };
  const checkLeniently = (schema: object, value: unknown): number => {
    const compiled = compileValueCheck(schema, { lenient: true });
    return compiled.kind === "compiled" ? compiled.check(value).length : -1;
  };
  const long = `^${"\\p{L}".repeat(200)}$`;
  assert.equal(checkLeniently({ prefixItems: [short, { pattern: long }] }, ["b", "1"]), 1);
  assert.equal(checkLeniently({ prefixItems: [short, { pattern: long }] }, ["a", "1"]), 0);
});

test("schemas compile in linear time, or are refused", () => {
  const schemas: Readonly<Record<string, (size: number) => object>> = {
    references: (size) => ({
      $defs: { a: { enum: times(size / 20, (at) => at) } },
      allOf: times(size / 40, () => ({ $ref: "#/$defs/a" })),
    }),
    patterns: (size) => ({
      patternProperties: Object.fromEntries(
        times(size / 40, (at) => [`^a{${at % 900}}x${at}`, {}]),
      ),
      additionalProperties: false,
    }),
    properties: (size) => ({
      properties: Object.fromEntries(times(size / 20, (at) => [`p${at}`, { type: "string" }])),
      unevaluatedProperties: false,
    }),
    alternatives: (size) => ({
      anyOf: times(size / 60, (at) => ({ properties: { [`p${at}`]: {} } })),
      unevaluatedProperties: false,
    }),
    "one in another": (size) => {
      let schema: object = {};
      for (let at = 0; at < size / 40; at += 1) schema = { foo: [schema], bar: { enum: [1] } };
      return schema;
    },
  };
  for (const [name, make] of Object.entries(schemas)) {
    linearInTime({
      name,
      make,
      run: (schema) => compileValueCheck(schema),
      sizes: [4_000, 16_000],
    });
  }
});

const leaf = fc.oneof(
  fc.integer({ min: -2, max: 2 }),
  fc.constantFrom("", "a", "ab", "b"),
  fc.boolean(),
  fc.constant(null),
);
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "ab", "b", "c"), tie("value"), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
})).value;
const names = fc.constantFrom("a", "ab", "b", "c");
const schemas = fc.letrec<{ schema: object | boolean }>((tie) => {
  const schema = tie("schema");
  const list = fc.array(schema, { minLength: 1, maxLength: 2 });
  const keywords: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    type: fc.constantFrom("object", "array", "string", "integer", ["string", "null"]),
    enum: fc.array(value, { minLength: 1, maxLength: 3 }),
    const: value,
    pattern: fc.constantFrom("^a", "b$", "^(a|b)+$"),
    minLength: fc.nat(2),
    maximum: fc.integer({ min: -1, max: 1 }),
    uniqueItems: fc.boolean(),
    required: fc.uniqueArray(names, { maxLength: 2 }),
    properties: fc.dictionary(names, schema, { maxKeys: 2 }),
    patternProperties: fc.dictionary(fc.constantFrom("^a", "b$"), schema, { maxKeys: 2 }),
    additionalProperties: schema,
    propertyNames: schema,
    dependentSchemas: fc.dictionary(names, schema, { maxKeys: 1 }),
    dependencies: fc.dictionary(names, fc.oneof(schema, fc.constant(["b"])), { maxKeys: 1 }),
    items: schema,
    prefixItems: list,
    contains: schema,
    allOf: list,
    anyOf: list,
    oneOf: list,
    not: schema,
    if: schema,
    // eslint-disable-next-line unicorn/no-thenable
    then: schema,
    else: schema,
    unevaluatedProperties: schema,
    unevaluatedItems: schema,
    $ref: fc.constantFrom("#/$defs/a", "#/$defs/b", "#b"),
    default: value,
    unknown: schema,
  };
  const field = fc.oneof(
    { maxDepth: 3 },
    ...Object.entries(keywords).map(([name, drawn]) => drawn.map((one) => ({ [name]: one }))),
  );
  const several = fc.array(field, { minLength: 1, maxLength: 3 });
  return {
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.boolean(),
      several.map((fields) => Object.fromEntries(fields.flatMap((one) => Object.entries(one)))),
    ),
  };
}).schema;

test("accepts what the JSON Schema accepts", async (t) => {
  const plain = new Ajv2020({
    strict: false,
    meta: false,
    validateSchema: false,
    logger: false,
    ownProperties: true,
  });
  const defs = { a: { type: ["object", "array"] }, b: { $anchor: "b", enum: [1, "a", { a: 1 }] } };
  const property = fc.property(schemas, fc.array(value, { maxLength: 5 }), (drawn, values) => {
    const schema = { ...(typeof drawn === "boolean" ? { not: !drawn } : drawn), $defs: defs };
    const validate = plain.compile(schema);
    const check = checkOf(schema);
    for (const one of values)
      assert.equal(check(one).length === 0, validate(one), JSON.stringify(one));
  });
  await holds(t, property, 100);
});
