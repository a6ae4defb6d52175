import assert from "node:assert/strict";
import { test } from "node:test";
import { compileValueCheck, type ValueCheck } from "../../src/document/value-check.ts";
import { linearInTime } from "../rig/growth.ts";

function checkOf(schema: object): ValueCheck {
  const compiled = compileValueCheck(schema);
  assert.ok(compiled.kind === "compiled", JSON.stringify(compiled));
  return compiled.check;
}

test("all that is wrong is explained, up to 100 problems", () => {
  const fields = Array.from({ length: 1_000 }, (_, at) => [`p${at}`, { type: "string" }]);
  const check = checkOf({ type: "object", properties: Object.fromEntries(fields) });
  assert.deepEqual(check({ p0: "a", p998: "b" }), []);
  assert.deepEqual(
    check({ p0: 1, p1: "b", p998: 3 }).map(({ path }) => path),
    [["p0"], ["p998"]],
  );
  const all = Object.fromEntries(fields.map(([name]) => [name, 1]));
  assert.equal(check(all).length, 100);
});

test("a value that is nested too deeply is refused with a reason", () => {
  let deep: unknown = {};
  for (let depth = 0; depth < 100_000; depth += 1) deep = { next: deep };
  for (const [schema, value] of [
    [{ properties: { next: { $ref: "#" } } }, deep],
    [{ $ref: "#" }, {}],
  ] as const)
    assert.deepEqual(
      checkOf(schema)(value).map(({ reason }) => reason),
      ["Is nested too deeply to be checked against its JSON Schema."],
    );
});

test("a reference to another document makes a schema invalid", () => {
  assert.equal(compileValueCheck({ $ref: "other.json" }).kind, "invalid");
});

test("a pattern takes linear time, or makes a schema invalid", () => {
  const compiled = compileValueCheck({ properties: { a: { pattern: "^(?!x)y" } } });
  assert.ok(compiled.kind === "invalid" && compiled.reason.includes("could take forever"));
  // With backtracking, this takes years.
  assert.equal(checkOf({ pattern: "^(a+)+$" })(`${"a".repeat(10_000)}!`).length, 1);
  const names = checkOf({ patternProperties: { "^(a|a)*$": { type: "string" } } });
  assert.deepEqual(names({ [`${"a".repeat(10_000)}!`]: 1 }), []);
  assert.deepEqual(checkOf({ pattern: "^[^\\0]*$" })("x".repeat(200_000)), []);
});

test("a list takes linear time, whatever its elements have to be", () => {
  const check = checkOf({
    properties: {
      each: { items: { $ref: "#/$defs/text" } },
      unique: { uniqueItems: true },
    },
    $defs: { text: { type: "string" } },
  });
  linearInTime({
    name: "wrong elements behind a reference",
    make: (size) => ({ each: Array.from({ length: size }, () => 1) }),
    run: check,
    sizes: [1_000, 16_000],
  });
  linearInTime({
    name: "wrong elements of a schema that refers to itself",
    make: (size) => ({ in: Array.from({ length: size }, () => 1) }),
    run: checkOf({
      $ref: "#/$defs/node",
      $defs: { node: { type: "object", properties: { in: { items: { $ref: "#/$defs/node" } } } } },
    }),
    sizes: [1_000, 16_000],
  });
  linearInTime({
    name: "unique elements",
    make: (size) => ({ unique: Array.from({ length: size }, (_, id) => ({ id })) }),
    run: check,
    sizes: [1_000, 16_000],
  });
});

test("an element is twice in a list if it is the same JSON value, in any order of its fields", () => {
  const check = checkOf({ uniqueItems: true });
  for (const list of [
    [1, "1", true, "true", null, [], {}, [1], { a: 1 }, { b: 1 }],
    [{ a: { b: 1, c: 2 } }, { a: { c: 1, b: 2 } }],
  ])
    assert.deepEqual(check(list), []);
  for (const list of [
    [0, -0],
    [{ a: { b: 1, c: [2] } }, 1, { a: { c: [2], b: 1 } }],
  ])
    assert.deepEqual(
      check(list).map(({ reason }) => reason),
      ["Must not have an element twice."],
    );
  assert.deepEqual(checkOf({ uniqueItems: false })([1, 1]), []);
});
