import assert from "node:assert/strict";
import { test } from "node:test";
import { compileValueCheck, type ValueCheck } from "../../src/document/value-check.ts";

/** `count` parts: the object itself and its fields. */
function schemaOf(count: number): object {
  const fields = Array.from({ length: count - 1 }, (_, index) => [`p${index}`, { type: "string" }]);
  return { type: "object", properties: Object.fromEntries(fields) };
}

function checkOf(schema: object): ValueCheck {
  const compiled = compileValueCheck(schema);
  assert.ok(compiled.kind === "compiled");
  return compiled.check;
}

test("values can be checked against a schema of the largest size", () => {
  const check = checkOf(schemaOf(1_000));
  assert.deepEqual(check({ p0: "a", p998: "b" }), []);
  assert.deepEqual(
    check({ p998: 1 }).map(({ path }) => path),
    [["p998"]],
  );
  const larger = compileValueCheck(schemaOf(1_001));
  assert.deepEqual(larger, { kind: "invalid", reason: "it has more than 1000 parts" });
});

test("of a large schema the first problem is explained, of others all", () => {
  const wrong = { p0: 1, p1: 2, p2: 3 };
  assert.equal(checkOf(schemaOf(300))(wrong).length, 3);
  assert.equal(checkOf(schemaOf(301))(wrong).length, 1);
});
