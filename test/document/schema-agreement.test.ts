import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { parse } from "yaml";
import { schemaCheck } from "../../src/document/schema-check.ts";
import { entrySchema } from "../../src/entry/entry-schema.ts";
import { eventSchema } from "../../src/events/event.ts";
import { messageSchema } from "../../src/protocol/read-message.ts";
import { rehearsalSchema } from "../../src/rehearsal/format/rehearsal-schema.ts";
import { everyEvent } from "../events/every-event.ts";
import { rounds } from "../rig/nightly.ts";

const root = join(import.meta.dirname, "..", "..", "..");

function documents(isMeant: (name: string) => boolean): readonly unknown[] {
  return ["entries", "examples/recipes"].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter(isMeant)
      .map((name): unknown => parse(readFileSync(join(root, folder, name), "utf8"))),
  );
}

const call = { action_id: "a", action: "read", type: "tool", params: { file: "x" } };
const message = {
  status: "EXECUTING",
  context: { knowledge_relics: ["facts", "rules"] },
  thoughts: [{ type: "PLAN", content: "…", actions: [call] }],
  actions: [
    { ...call, depends_on: ["b"], display: { type: "status_message" } },
    {
      ...call,
      action: "task_manager",
      type: "internal",
      params: { operation: "wait", mode: "any" },
    },
    { action_id: "b", action: "group", type: "internal", sub_actions: [call] },
  ],
  stop: false,
  response: null,
};

const cases: readonly (readonly [name: string, schema: object, documents: readonly unknown[]])[] = [
  ["an entry", entrySchema, documents((name) => /^[^.]+\.ya?ml$/.test(name))],
  ["a rehearsal", rehearsalSchema, documents((name) => name.endsWith(".rehearsal.yml"))],
  ["an event", eventSchema, everyEvent.map((event) => ({ at: 1, runId: "r", ...event }))],
  ["a message of the action protocol", messageSchema, [message]],
];

type Place = { readonly of: object; readonly key: string };

function placesIn(value: unknown): Place[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) => [{ of: value, key }, ...placesIn(below)]);
}

for (const [name, schema, valid] of cases) {
  test(`the check of ${name} accepts what ajv accepts`, () => {
    const ours = schemaCheck(schema, "it");
    const theirs = new Ajv2020({ discriminator: true, strict: false }).compile(schema);
    assert.ok(valid.length > 0);
    fc.assert(
      fc.property(
        fc.constantFrom(...valid),
        fc.nat(),
        fc.oneof(
          fc.constant(undefined),
          fc.constantFrom<unknown>(0, -1, "", "x", "a b", null, [], {}, true, ["x"], {
            kind: "Seq",
          }),
          fc.jsonValue(),
        ),
        fc.boolean(),
        (document, at, value, renamed) => {
          const changed: unknown = structuredClone(document);
          const places = placesIn(changed);
          const place = places[at % places.length];
          assert.ok(place !== undefined);
          const { of, key } = place;
          if (renamed) Reflect.set(of, `${key}x`, Reflect.get(of, key));
          if (value !== undefined) Reflect.set(of, key, value);
          else if (Array.isArray(of)) of.pop();
          else Reflect.deleteProperty(of, key);
          assert.equal(ours.accepts(changed), theirs(changed), JSON.stringify(changed));
        },
      ),
      rounds(500),
    );
  });
}
