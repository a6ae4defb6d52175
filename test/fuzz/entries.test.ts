/** Entries of every shape: what reads them never throws, and everything that is wrong has a place. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { schemaFaults } from "../../src/document/schema-faults.ts";
import { compileValueCheck } from "../../src/document/value-check.ts";
import { loadEntry } from "../../src/entry/prepare.ts";
import { holds } from "../rig/fuzz.ts";

const name = fc.constantFrom("a", "b", "build", "docs", "bash", "a b", "__proto__", "constructor");
const tool = fc.constantFrom("a", "docs/a", "docs/", "/", "a/b/c", "bash", "job_boolean_true", "");
const value = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom<unknown>("x", "env:A", "env:", "../x", "http://x", "!x"),
  },
  fc.constantFrom<unknown>(0, -1, 1, true, null, "", [], {}, ["x"], [""], { type: "object" }),
  fc.jsonValue({ maxDepth: 2 }),
);
const keywords = ["type", "properties", "items", "$ref", "allOf", "required", "pattern", "enum"];
const others = ["$async", "id", "nullable", "discriminator", "dependencies", "$data", "a"];
const keyword = fc.constantFrom(...keywords, ...others, "not", "if", "$defs");
const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<unknown>(true, {}, { type: "string" }, "object", "#", "#/allOf/0", "[", ["a"]),
    fc.jsonValue({ maxDepth: 1 }),
    fc.dictionary(keyword, tie("schema"), { maxKeys: 4 }),
    fc.array(tie("schema"), { maxLength: 2 }),
  ),
}));

function some(fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<object> {
  const mostly = Object.fromEntries(
    Object.entries(fields).map(([key, arbitrary]) => [
      key,
      fc.oneof({ weight: 8, arbitrary }, value),
    ]),
  );
  return fc.record(mostly, { requiredKeys: [] });
}

const texts = fc.constantFrom("x", "Do it.", "$a");
const many = (one: fc.Arbitrary<unknown>): fc.Arbitrary<object> =>
  fc.dictionary(name, one, { maxKeys: 3 });
const list = (one: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> => fc.array(one, { maxLength: 3 });

const entry = some({
  models: fc.constant({ driving: "m" }),
  tasks: many(
    some({
      prompt: texts,
      model: fc.constant({ category: "driving" }),
      protocol: fc.constant("actions"),
      iterations: fc.integer({ min: -1, max: 1001 }),
      preThinking: fc.constantFrom(false, true, { iterations: 1 }),
      relics: list(name),
      monuments: list(name),
      permissions: some({ preset: fc.constantFrom("all", "none"), tools: list(tool) }),
      criteria: some({ toolExecuted: list(tool), failureAction: fc.constant({ retryTimes: 1 }) }),
    }),
  ),
  jobs: many(fc.constant({ work: { kind: "Ref", taskId: "a" } })),
  tools: many(
    some({
      description: texts,
      parameters: schema,
      command: list(texts),
      module: fc.constantFrom("x.ts", "../x.ts"),
      build: some({ command: list(texts), inputs: list(fc.constantFrom("**", "+(a)", "{a,b}")) }),
    }),
  ),
  mcpServers: many(
    some({
      command: texts,
      url: fc.constantFrom("http://x", "x"),
      env: many(value),
      headers: many(value),
      tools: list(tool),
    }),
  ),
  relics: many(some({ description: texts, files: list(fc.constantFrom("**", "../x", "!x")) })),
  monuments: many(some({ tools: list(tool), relics: list(name) })),
});

test("an entry is loaded, or every problem has a line, a column and a reason", async (t) => {
  await holds(
    t,
    fc.property(entry, (data) => {
      const loaded = loadEntry(JSON.stringify(data, null, 1), "e.json");
      const found = loaded.kind === "loaded" ? loaded.warnings : loaded.diagnostics;
      if (loaded.kind === "rejected") assert.ok(found.length > 0);
      for (const { line, column, reason, codePath } of found) {
        assert.ok(line !== undefined && line > 0 && column !== undefined && column > 0, reason);
        assert.match(codePath, /^entry/);
        assert.match(reason, /\.$/);
      }
      const places = found.map(({ codePath, reason }) => `${codePath}: ${reason}`);
      assert.deepEqual(places, [...new Set(places)]);
    }),
    500,
  );
});

test("a schema without faults compiles, and its check answers", async (t) => {
  await holds(
    t,
    fc.property(
      fc.dictionary(keyword, schema, { maxKeys: 5 }),
      fc.jsonValue(),
      (parameters, data) => {
        if (schemaFaults(parameters).length > 0) return;
        const compiled = compileValueCheck(parameters);
        assert.equal(compiled.kind, "compiled");
        if (compiled.kind === "compiled") assert.ok(Array.isArray(compiled.check(data)));
      },
    ),
    500,
  );
});
