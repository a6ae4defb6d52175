import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { overridingLimits } from "../../src/entry/limits.ts";
import { rehearsalSchema } from "../../src/rehearsal/format/rehearsal-schema.ts";
import { refused } from "./rig.ts";

// From build/test/rehearsal, or wherever else the tests were compiled to.
const page = await readFile(new URL("../../../docs/rehearsals.md", import.meta.url), "utf8");

test("the examples of the page are valid rehearsals", () => {
  const examples = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text ?? "");
  assert.equal(examples.length, 7);
  for (const example of examples) {
    const part = example.startsWith("decisions:");
    const indented = example.replace(/^/gm, "  ");
    const whole = part ? `entry: a.yml\nsessions: []\nexpect:\n${indented}` : example;
    assert.deepEqual(refused(whole), []);
  }
});

test("the page names every field", () => {
  const missing = new Set<string>();
  const visit = (schema: unknown): void => {
    if (typeof schema !== "object" || schema === null) return;
    for (const [key, value] of Object.entries(schema)) {
      if (key === "properties") {
        for (const name of Object.keys(Object(value))) {
          if (!new RegExp(`\\b${name.replace("$", "\\$?")}\\b`).test(page)) missing.add(name);
        }
        Object.values(Object(value)).forEach(visit);
      } else if (["items", "anyOf", "oneOf"].includes(key)) visit(value);
      else if (key === "$defs") Object.values(Object(value)).forEach(visit);
    }
  };
  visit(rehearsalSchema);
  // The limits have a page of their own.
  for (const name of Object.keys(overridingLimits)) missing.delete(name);
  assert.deepEqual([...missing], []);
});
