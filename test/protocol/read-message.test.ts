import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { readMessage } from "../../src/protocol/read-message.ts";
import { documentOf, prototype, shortly } from "./rig.ts";

const plain = documentOf(null, { stop: true, response: "Done." });

function problemsOf(answer: unknown): string[] {
  const read = readMessage(answer);
  return read.kind === "rejected" ? shortly(read.problems) : [];
}

describe("the published schema", () => {
  const file = new URL("../../../schema/action-protocol.schema.json", import.meta.url);
  const schema: object = JSON.parse(readFileSync(file, "utf8"));
  const published = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false });

  it("is valid, and accepts the six prototypes", () => {
    const validate = published.compile(schema);
    for (const number of [1, 2, 3, 4, 5, 6]) {
      assert.equal(validate(JSON.parse(prototype(number))), true, `prototype ${number}`);
    }
  });

  it("describes the params of the internals", () => {
    const validate = published.compile({ ...schema, $id: "urn:again:1" });
    const manager = (params: object): boolean =>
      validate(JSON.parse(documentOf([{ action: "task_manager", type: "internal", params }])));
    assert.equal(manager({ operation: "wait", ids: ["a"], mode: "any", timeoutSeconds: 5 }), true);
    assert.equal(
      manager({ operation: "get_result", ids: ["a"], offset: "${{variables.o}}" }),
      true,
    );
    assert.equal(manager({ operation: "pause" }), false);
    assert.equal(manager({ operation: "list", extra: 1 }), false);
    const card = (params: object): boolean =>
      validate(JSON.parse(documentOf([{ action: "trap_card", type: "internal", params }])));
    const look = { action: "look", type: "tool", params: {} };
    assert.equal(card({ operation: "register", id: "now", action: look }), true);
    assert.equal(card({ operation: "list" }), true);
    assert.equal(card({ operation: "register", id: "now" }), false);
    assert.equal(card({ operation: "remove" }), false);
  });
});

describe("readMessage", () => {
  it("reads a document that is a value, and leaves the value alone", () => {
    const value: unknown = Object.freeze(JSON.parse(plain));
    const read = readMessage(value);
    assert.equal(read.kind === "read" && read.document.response, "Done.");
  });

  it("strips one surrounding code fence", () => {
    for (const fenced of [
      `\`\`\`json\n${plain}\n\`\`\``,
      `\n\n\`\`\`\n${plain}\n\`\`\`\n`,
      `\`\`\`\`json\r\n${plain}\r\n\`\`\`\``,
      `~~~\n${plain}\n~~~`,
      `  ${plain}  \n`,
    ]) {
      assert.deepEqual(problemsOf(fenced), [], fenced);
    }
  });

  const bad: Readonly<Record<string, string>> = {
    "an empty answer": " \n",
    prose: "I will build the project now.",
    "prose before a fence": `Here it is:\n\`\`\`json\n${plain}\n\`\`\``,
    "two documents": `${plain}\n${plain}`,
    "a fence that isn't closed": `\`\`\`json\n${plain}`,
    "a trailing comma": plain.replace(/\}$/, ",}"),
    "a duplicate key": plain.replace("{", `{"stop":false,`),
    "a byte order mark": `\uFEFF${plain}`,
    "100,000 brackets": "[".repeat(100_000),
  };
  for (const [name, answer] of Object.entries(bad)) {
    it(`rejects ${name}`, () => {
      assert.deepEqual([...new Set(problemsOf(answer))], ["not_json "]);
    });
  }

  it("says where the JSON is wrong", () => {
    const read = readMessage(`{\n  "status": SUCCESS\n}`);
    assert.ok(read.kind === "rejected");
    assert.match(read.problems[0]?.message ?? "", /line 2, column 13/);
  });

  it("rejects answers that are too large, before they are parsed", () => {
    assert.deepEqual(problemsOf(`"${"x".repeat(10_000_000)}"`), ["too_large "]);
    const actions = Array.from({ length: 10_000 }, () => ({ action: "a", type: "tool" }));
    assert.deepEqual(problemsOf(documentOf(actions)), ["too_large "]);
  });

  it("lists a bounded number of problems", () => {
    const thoughts = (length: number): string =>
      documentOf([], { thoughts: Array.from({ length }, () => 1) });
    assert.equal(problemsOf(thoughts(900)).length, 21);
    assert.equal(problemsOf(thoughts(5000)).length, 21);
  });

  it("finds a fault far behind in a long list", () => {
    const thoughts = Array.from({ length: 1000 }, () => ({ type: "PLAN", content: "" }));
    assert.deepEqual(problemsOf(documentOf([], { thoughts: [...thoughts, { type: "PLAN" }] })), [
      "schema /thoughts/1000/content",
    ]);
  });

  it("bounds what it says about each problem", () => {
    const long = "x".repeat(200_000);
    const fields = { [`${long}1`]: 1, [`${long}2`]: 1, context: { variables: { [long]: 1 } } };
    const read = readMessage(documentOf([], fields));
    assert.ok(read.kind === "rejected");
    assert.equal(read.problems.length, 3);
    for (const { path, message } of read.problems) {
      assert.ok(path.length <= 300 && path.endsWith("…"), path.slice(0, 400));
      assert.ok(message.length <= 500, message.slice(0, 600));
    }
  });

  it("rejects __proto__ as a key anywhere", () => {
    const inParams = documentOf([{ action: "a", type: "tool", params: { x: [{ y: 1 }] } }]);
    assert.deepEqual(problemsOf(inParams.replace(`"y"`, `"__proto__"`)), [
      "forbidden_name /actions/0/params/x/0/__proto__",
    ]);
    assert.deepEqual(problemsOf(plain.replace("{", `{"__proto__":{},`)), [
      "forbidden_name /__proto__",
    ]);
  });

  const shapes: Readonly<Record<string, readonly [string, string]>> = {
    null: ["null", "schema "],
    "an unknown status": [documentOf([], { status: "DONE" }), "schema /status"],
    "a missing field": [plain.replace(`"stop":true,`, ""), "schema /stop"],
    "an unknown field": [documentOf([], { extra: 1 }), "schema /extra"],
    "more than 32 actions": [documentOf(Array.from({ length: 33 }, () => a())), "schema /actions"],
    "an id with a dot": [documentOf([a({ action_id: "a.b" })]), "schema /actions/0/action_id"],
    "a long id": [documentOf([a({ action_id: "a".repeat(65) })]), "schema /actions/0/action_id"],
    "an empty group": [documentOf([a({ sub_actions: [] })]), "schema /actions/0/sub_actions"],
    "a variable with a hyphen": [
      documentOf([], { context: { variables: { "a-b": 1 } } }),
      "schema /context/variables/a-b",
    ],
    "an unknown security level": [
      documentOf([], { context: { security_level: "root" } }),
      "schema /context/security_level",
    ],
  };
  for (const [name, [answer, expected]] of Object.entries(shapes)) {
    it(`rejects ${name}`, () => assert.deepEqual(problemsOf(answer), [expected]));
  }
});

function a(fields: object = {}): Readonly<Record<string, unknown>> {
  return { action: "a", type: "tool", params: {}, ...fields };
}
