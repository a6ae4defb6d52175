/** Refusing a document in time that grows no faster than the document, whatever is wrong with it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createCatalogue } from "../../src/protocol/catalogue.ts";
import { preflight, type Preflight } from "../../src/protocol/preflight.ts";
import { problemsText } from "../../src/protocol/delivery.ts";
import { readMessage } from "../../src/protocol/read-message.ts";
import { linearInTime } from "../rig/growth.ts";
import { nightly } from "../rig/nightly.ts";
import {
  action,
  anyParams,
  documentOf,
  group,
  internal,
  type Json,
  tool,
} from "../protocol/rig.ts";

const item = { type: "object", required: ["x", "y", "z"], properties: { next: {} } };
const catalogue = createCatalogue({
  tools: [
    tool("any"),
    tool("none", { parameters: { ...anyParams, additionalProperties: false } }),
    tool("items", {
      parameters: {
        ...anyParams,
        properties: { items: { type: "array", items: { $ref: "#/$defs/item" } } },
        $defs: { item },
      },
    }),
  ],
});
const known = { iteration: 1, hasTask: () => false, hasVariable: () => false };

function refuse(answer: string): Preflight {
  const read = readMessage(answer);
  return read.kind === "read" ? preflight(read.document, catalogue, known) : read;
}

const times = <T>(size: number, make: (index: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => make(index));
const params = (fields: Json, name = "any"): string =>
  documentOf([action(name, { params: fields })]);
const named = (size: number): Json => Object.fromEntries(times(size, (index) => [`k${index}`, 1]));

/** Up to about the limit of values, or with texts whose length is not bounded otherwise. */
const inputs: Readonly<Record<string, (size: number) => string>> = {
  "actions that are empty": (size) => documentOf(times(size, () => ({}))),
  "actions that are numbers": (size) => JSON.stringify({ actions: times(size, () => 1) }),
  "thoughts that are empty": (size) => documentOf([], { thoughts: times(size, () => ({})) }),
  "empty actions in thoughts": (size) =>
    documentOf([], { thoughts: [{ type: "PLAN", content: "", actions: times(size, () => ({})) }] }),
  "empty actions in a group": (size) =>
    documentOf([
      group(
        "g",
        times(size, () => ({})),
      ),
    ]),
  "groups of empty actions": (size) =>
    documentOf(
      times(30, (nth) =>
        group(
          `g${nth}`,
          times(size / 40, () => ({})),
        ),
      ),
    ),
  "an empty card in each action": (size) =>
    documentOf(times(size / 4, () => internal("trap_card", { action: {} }))),
  "actions with few fields": (size) => documentOf(times(size / 4, () => action("any"))),
  "unknown fields": (size) => documentOf([], named(size)),
  "unknown relics": (size) =>
    documentOf([], { context: { knowledge_relics: times(size, (index) => `r${index % 50}`) } }),
  "unknown dependencies": (size) =>
    documentOf([action("any", { depends_on: times(size, (index) => `a${index}`) })]),
  "wrong variables": (size) =>
    documentOf([], { context: { variables: { ...named(size), "a-b": 1 } } }),
  "unknown params": (size) => params(named(size), "none"),
  "wrong items": (size) => params({ items: times(size, () => ({})) }, "items"),
  "wrong items among references": (size) =>
    params({ items: times(size, (nth) => (nth % 2 ? {} : `\${{variables.x${nth}}}`)) }, "items"),
  "references to nothing": (size) =>
    params({ list: times(size, (index) => `\${{variables.x${index}}}`) }),
  "references to nothing in a text": (size) => params({ text: "${{variables.x}} ".repeat(size) }),
  openings: (size) => params({ text: "${{".repeat(size) }),
  "openings and ends": (size) => params({ text: `${"${{".repeat(size)}${"}}".repeat(size)}` }),
  fences: (size) => "```\n".repeat(size),
  brackets: (size) => "[".repeat(size * 10),
  "duplicate keys": (size) => `{${`"a":1,`.repeat(size)}"a":1}`,
  "trailing commas": (size) => `[${",".repeat(size * 10)}]`,
  "spaces around a document": (size) => `${" \n".repeat(size * 10)}{}${"\t \n".repeat(size * 10)}`,
  "a beginning of a fence": (size) => `\`\`\`${" ".repeat(size * 10)}!\n{}\n\`\`\``,
  "a long fence": (size) => `${"`".repeat(size * 10)}!\n{}\n${"`".repeat(size * 10)}`,
  "spaces before the end of a fence": (size) => `\`\`\`json\n{}${" ".repeat(size * 10)}x\n\`\`\``,
};

for (const [name, make] of Object.entries(inputs)) {
  test(`${name} are refused in linear time, with a short answer`, () => {
    const longest = refuse(make(nightly ? 9_000 : 1_500));
    assert.ok(longest.kind === "rejected");
    assert.ok(longest.problems.length <= 21, `${longest.problems.length} problems`);
    assert.ok(problemsText(longest.problems).length < 20_000);
    linearInTime({ name, make, run: refuse, sizes: [500, 8_000] });
  });
}

test("a document of 10 MB is refused without being read", () => {
  linearInTime({
    name: "a long answer",
    make: (size) => documentOf([], { response: "x".repeat(size * 100) }),
    run: refuse,
    sizes: [12_500, 100_000],
  });
});
