import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { ToolNames } from "../../src/sessions/session-tools.ts";
import { holds } from "../rig/fuzz.ts";

const functionsOf = (tools: readonly string[], others: readonly string[] = []): string[] => {
  const names = new ToolNames(tools, others);
  return tools.map((name) => names.functionOf(name));
};

test("where a name is taken or too long, a hash makes it another", () => {
  const [own, ofServer, other] = functionsOf(["docs-search", "docs/search", "docs.search"]);
  assert.equal(own, "docs-search");
  assert.match(String(ofServer), /^docs-search-[0-9a-f]{8}$/);
  assert.match(String(other), /^docs-search-[0-9a-f]{8}$/);
  assert.notEqual(ofServer, other);
  for (const taken of ["grep", "sql", "job_boolean_true", "of_host"]) {
    const [name = ""] = functionsOf([taken], ["of_host"]);
    assert.match(name, new RegExp(`^${taken}-[0-9a-f]{8}$`));
  }
  const [long = ""] = functionsOf([`docs/${"x".repeat(100)}`]);
  assert.match(long, /^docs-x{50}-[0-9a-f]{8}$/);
  assert.equal(long.length, 64);
});

test("no tool can take the function of another, whatever a server calls its tools", () => {
  const [victim = ""] = functionsOf(["docs-search", "docs/search"]).slice(1);
  const tools = ["docs-search", "docs/search", victim.replace("-", "/"), victim];
  assert.equal(new Set(functionsOf(tools)).size, tools.length);
  const [, long = ""] = functionsOf(["crm-eu/query", "crm/eu-query"]);
  const names = new ToolNames(["crm-eu/query", "crm/eu-query", long.replace("-", "/")]);
  for (const name of ["crm-eu/query", long.replace("-", "/")])
    assert.equal(names.toolOf(names.functionOf(name)), name);
});

const part = fc.string({
  unit: fc.constantFrom("a", "b", "-", "_", ".", "ö"),
  minLength: 1,
  maxLength: 70,
});
const tool = fc.oneof(
  fc.tuple(part, part).map(([server, name]) => `${server}/${name}`),
  part,
  fc.constantFrom("bash", "view", "a/b", "a-b", "a.b"),
);

test("any tools have names that are valid, distinct, led back, and the same in every order", async (t) => {
  await holds(
    t,
    fc.property(fc.uniqueArray(tool, { maxLength: 12 }), (tools) => {
      const names = new ToolNames(tools);
      const known = tools.map((name) => names.functionOf(name));
      for (const name of known) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
      assert.equal(new Set(known).size, tools.length);
      assert.deepEqual(
        known.map((name) => names.toolOf(name)),
        tools,
      );
      const turned = new ToolNames(tools.toReversed());
      assert.deepEqual(
        tools.map((name) => turned.functionOf(name)),
        known,
      );
    }),
    200,
  );
});
