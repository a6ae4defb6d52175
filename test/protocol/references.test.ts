import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { interpolate, type Names, referencesIn } from "../../src/protocol/params.ts";

const variables = new Map<string, unknown>([
  ["n", 3],
  ["text", "a"],
  ["list", [1, { deep: true }]],
  ["nothing", null],
  ["evil", "${{variables.text}}"],
]);
const results = new Map<string, unknown>([
  ["build", { id: "b1", warnings: ["w1", "w2"], "a b": 1 }],
  ["__proto__", "own"],
]);
const names: Names = {
  variable: (name) => variables.get(name),
  result: (id) => results.get(id),
  status: (id) => (id === "build" ? "succeeded" : undefined),
};

function replaced(value: unknown, limit = 1000): unknown {
  const result = interpolate({ value }, names, limit);
  if (result.kind === "unresolved") return `unresolved: ${result.reason}`;
  return Reflect.get(Object(result.value), "value");
}

describe("interpolate", () => {
  const cases: readonly (readonly [string, unknown, unknown])[] = [
    ["keeps the type of a whole text", "${{variables.n}}", 3],
    ["keeps a list", "${{variables.list}}", [1, { deep: true }]],
    ["inserts in a text", "x${{variables.n}}y${{variables.text}}", "x3ya"],
    ["finds properties of results", "${{results.build.warnings.1}}", "w2"],
    ["finds keys with spaces", "${{results.build.a b}}", 1],
    ["gives a status", "${{tasks.build.status}}", "succeeded"],
    ["leaves keys alone", { "${{variables.n}}": 1 }, { "${{variables.n}}": 1 }],
    ["reads what it inserts no second time", "${{variables.evil}}", "${{variables.text}}"],
    ["has an escape", "$${{variables.n}}", "${{variables.n}}"],
    ["has an escape before a reference", "$${{ ${{variables.n}}", "${{ 3"],
    ["keeps other dollars", "$5 $$ ${x} $$${{", "$5 $$ ${x} $${{"],
  ];
  for (const [name, template, expected] of cases) {
    it(name, () => assert.deepEqual(replaced(template), expected));
  }

  for (const template of [
    ..."${{variables.missing}} ${{variables.list.2}} ${{variables.text.length}}".split(" "),
    ..."${{variables.list.constructor}} ${{results.build.__proto__}}".split(" "),
    ..."${{tasks.other.status}} ${{env.HOME}} ${{variables.}}".split(" "),
    "${{ unclosed",
    "${{a ${{variables.n}}",
  ]) {
    it(`fails on ${template}`, () => {
      assert.match(String(replaced(`x ${template}`)), /^unresolved: /);
      assert.match(String(replaced(template)), /^unresolved: /);
    });
  }

  it("finds an id that is the name of a property of every object", () => {
    assert.equal(replaced("${{results.__proto__}}"), "own");
  });

  it("ends at the limit, however often something large is named", () => {
    results.set("large", "x".repeat(100_000));
    assert.match(String(replaced("${{results.large}}".repeat(10_000), 1_000_000)), /larger than/);
    assert.match(
      String(
        replaced(
          Array.from({ length: 10_000 }, () => "${{results.large}}"),
          1_000_000,
        ),
      ),
      /larger than/,
    );
  });

  it("copies: what is replaced and what is inserted stay as they are", () => {
    const copy = replaced("${{variables.list}}");
    assert.ok(Array.isArray(copy));
    copy.push("more");
    assert.deepEqual(variables.get("list"), [1, { deep: true }]);
  });
});

describe("referencesIn", () => {
  it("finds references with their paths, and what looks like one", () => {
    const all = referencesIn({ a: ["x${{results.b.c}}"], d: "${{foo}} $${{variables.x}}" });
    assert.deepEqual(
      all.map(({ path, part }) => [path.join("."), part.kind, part.source]),
      [
        ["a.0", "reference", "${{results.b.c}}"],
        ["d", "invalid", "${{foo}}"],
      ],
    );
  });
});
