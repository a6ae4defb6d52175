/** Whatever a model answers: it is read or rejected with reasons, never a throw, and what is planned is sound. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createCatalogue } from "../../src/protocol/catalogue.ts";
import { preflight } from "../../src/protocol/preflight.ts";
import { readMessage } from "../../src/protocol/read-message.ts";
import { interpolate, partsOf, referencesIn } from "../../src/protocol/params.ts";
import { tool } from "../protocol/rig.ts";
import { holds } from "../rig/fuzz.ts";

const catalogue = createCatalogue({
  tools: [tool("read", { readOnly: true, parallelSafe: true }), tool("write")],
  relics: [{ name: "docs", read: () => Promise.resolve({ kind: "timed_out" }) }],
  monuments: [{ name: "all", tools: ["read", "write"], relics: ["docs"] }],
});
const known = {
  iteration: 1,
  hasTask: (id: string) => id === "old",
  hasVariable: (name: string) => name === "v",
};

const id = fc.constantFrom("a", "b", "c", "old", "__proto__", "constructor", "a.b", "", "i1-1");
const template = fc
  .array(
    fc.constantFrom(
      ..."${{ }} $ $${{ variables.v results.a.x results. tasks.b.status x".split(" "),
      " ",
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(""));
const value = fc.oneof(template, fc.jsonValue({ maxDepth: 3 }), fc.constant({ "": [null] }));
const optional = { requiredKeys: [] };
const { action } = fc.letrec<{ action: unknown }>((tie) => ({
  action: fc.oneof(
    { maxDepth: 4 },
    fc.record(
      {
        action_id: id,
        action: fc.constantFrom(
          ..."read write docs all.read task_manager trap_card __proto__ x".split(" "),
        ),
        type: fc.constantFrom("tool", "internal", "relic", "monument", "other"),
        params: fc.dictionary(
          fc.constantFrom("operation", "ids", "id", "action", "query", "__proto__", "p"),
          fc.oneof(value, tie("action"), id, fc.constantFrom("list", "register", "wait")),
        ),
        execution: fc.constantFrom("SYNC", "ASYNC"),
        depends_on: fc.oneof(id, fc.array(id, { maxLength: 3 })),
        display: fc.constantFrom(null, { type: "progress_bar" }, "x"),
        sub_actions: fc.array(tie("action"), { maxLength: 4 }),
      },
      { requiredKeys: ["action", "type"] },
    ),
    value,
  ),
}));
const documents = fc.record(
  {
    status: fc.constantFrom("SUCCESS", "EXECUTING", "DONE"),
    context: fc.record(
      {
        variables: fc.dictionary(fc.constantFrom("v", "w", "__proto__"), value),
        knowledge_relics: fc.array(id),
      },
      optional,
    ),
    thoughts: fc.array(
      fc.record(
        {
          type: fc.constant("PLAN"),
          content: fc.string(),
          actions: fc.array(action, { maxLength: 2 }),
        },
        { requiredKeys: ["type", "content"] },
      ),
      { maxLength: 2 },
    ),
    actions: fc.option(fc.array(action, { maxLength: 6 })),
    stop: fc.boolean(),
    response: fc.option(fc.string()),
  },
  { requiredKeys: ["thoughts", "actions", "stop", "response", "status"] },
);
/** Nothing is wrong with these, except that some of them depend on each other in a circle, or on themselves. */
const sound = fc
  .uniqueArray(fc.constantFrom("a", "b", "c", "d", "e"), { minLength: 1 })
  .chain((ids) =>
    fc.tuple(
      ...ids.map((action_id, index) =>
        fc.record(
          {
            action_id: fc.constant(action_id),
            action: fc.constantFrom("read", "write"),
            type: fc.constant("tool"),
            params: fc.record({
              p: fc.constantFrom(
                "",
                ...ids.slice(0, index).map((other) => `\${{results.${other}}}`),
              ),
            }),
            depends_on: fc.oneof(
              {
                weight: 9,
                arbitrary: fc.subarray(["old", ...ids.slice(0, index)], { minLength: 1 }),
              },
              fc.subarray(ids, { minLength: 1 }),
            ),
          },
          { requiredKeys: ["action_id", "action", "type", "params"] },
        ),
      ),
    ),
  )
  .map((actions) => ({ status: "EXECUTING", thoughts: [], actions, stop: true, response: null }));
const answers = fc.oneof(
  sound,
  sound,
  documents.map((document) => JSON.stringify(document)),
  documents,
  fc.tuple(documents, fc.nat(), fc.string({ maxLength: 5 })).map(([document, at, noise]) => {
    const text = JSON.stringify(document);
    return text.slice(0, at % text.length) + noise + text.slice(at % text.length);
  }),
  fc.string(),
  fc.anything(),
  documents.map((document) => `\`\`\`json\n${JSON.stringify(document, null, 1)}\n\`\`\``),
);

test("every answer is read or rejected with reasons", async (t) => {
  let planned = 0;
  await holds(
    t,
    fc.property(answers, (answer) => {
      const read = readMessage(answer);
      const result = read.kind === "read" ? preflight(read.document, catalogue, known) : read;
      if (result.kind === "rejected") {
        assert.ok(result.problems.length > 0);
        for (const { path, message } of result.problems) {
          assert.match(path, /^(?:\/|$)/);
          assert.ok(message.length < 1000, message);
        }
        return;
      }
      planned += 1;
      const ids = result.actions.map((one) => one.id);
      assert.equal(new Set(ids).size, ids.length);
      assert.ok(ids.length <= 32);
      for (const one of result.actions) {
        assert.match(one.id, /^[\w-]{1,64}$/);
        for (const producer of one.requires)
          assert.ok(producer === "old" || ids.includes(producer));
      }
    }),
    120,
  );
  assert.ok(planned > 1, `${planned} documents were planned`);
});

test("every template is replaced or has a reason, and finds nothing that isn't its own", async (t) => {
  const variables = new Map<string, unknown>([["v", { x: 1 }]]);
  await holds(
    t,
    fc.property(fc.oneof(template, fc.string(), fc.jsonValue()), (one) => {
      referencesIn(one);
      const result = interpolate(
        one,
        {
          variable: (name) => variables.get(name),
          result: () => undefined,
          status: () => undefined,
        },
        10_000,
      );
      if (typeof one !== "string" || result.kind === "unresolved") return;
      if (partsOf(one).every(({ kind }) => kind === "text")) {
        assert.equal(result.value, one.replaceAll("$${{", "${{"));
      }
    }),
    500,
  );
});
