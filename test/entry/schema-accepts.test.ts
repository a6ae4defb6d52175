import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { parse } from "yaml";
import { validate as isEntry } from "../../src/generated/schema-accepts.ts";
import { compileSchema } from "../../src/document/schema-check.ts";
import { entrySchema } from "../../src/entry/entry-schema.ts";
import { rounds } from "../rig/nightly.ts";

const schema = compileSchema(entrySchema, "entry");
const root = join(import.meta.dirname, "..", "..", "..");
const entries: readonly unknown[] = ["entries", "examples/recipes"].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => /\.ya?ml$/.test(name) && !name.includes(".rehearsal."))
    .map((name): unknown => parse(readFileSync(join(root, folder, name), "utf8"))),
);

type Place = { readonly of: object; readonly key: string };

function placesIn(value: unknown): Place[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) => [{ of: value, key }, ...placesIn(below)]);
}

test("the compiled check of an entry says what the schema says", () => {
  assert.ok(entries.length >= 3);
  for (const entry of entries) assert.equal(isEntry(entry), true);
  fc.assert(
    fc.property(
      fc.constantFrom(...entries),
      fc.nat(),
      fc.oneof(
        fc.constant(undefined),
        fc.constantFrom<unknown>(0, -1, "", "x", "a b", null, [], {}, true, ["x"], { kind: "Seq" }),
        fc.jsonValue(),
      ),
      fc.boolean(),
      (entry, at, value, renamed) => {
        const changed: unknown = structuredClone(entry);
        const places = placesIn(changed);
        const place = places[at % places.length];
        assert.ok(place !== undefined);
        const { of, key } = place;
        if (renamed) Reflect.set(of, `${key}x`, Reflect.get(of, key));
        if (value === undefined) Reflect.deleteProperty(of, key);
        else Reflect.set(of, key, value);
        assert.equal(isEntry(changed), schema.accepts(changed), JSON.stringify(changed));
      },
    ),
    rounds(2_000),
  );
});
