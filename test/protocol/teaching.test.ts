/** The system prompt of the action protocol. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import type { Tool } from "../../src/tools/tool.ts";
import type { Delegation } from "../../src/protocol/catalogue.ts";
import { teachingText, type TeachingOptions } from "../../src/protocol/teaching.ts";
import { anyCharacter } from "../rig/any-character.ts";
import { holds } from "../rig/fuzz.ts";
import { bench, tool } from "./rig.ts";

const golden = new URL("../../../test/fixtures/action-protocol/teaching.txt", import.meta.url);
const text = { type: "string" };

function object(properties: object, ...required: string[]): object {
  return { type: "object", properties, required, additionalProperties: false };
}

function described(name: string, parameters: object, more: Partial<Tool> = {}): Tool {
  return tool(name, { description: `What ${name} does.`, parameters, ...more });
}

const five: readonly Tool[] = [
  described("build", object({ target: text, config: { enum: ["debug", "release"] } }, "target")),
  described("search", object({ query: text, path: text }, "query"), {
    readOnly: true,
    parallelSafe: true,
  }),
  described("deploy", object({ target: text, service: text }, "target", "service")),
  described("analyze", object({ build: text, ruleset: text }, "build"), { readOnly: true }),
  described("docs/fetch", object({ url: text, pages: { type: "integer" } }, "url")),
];

const small: TeachingOptions = { tools: five, iterations: 20, verdicts: true };

function delegating(tasks: readonly string[]): { delegation?: Delegation } {
  return tasks.length === 0
    ? {}
    : { delegation: { tasks, run: () => Promise.reject(new Error()) } };
}

const whole: TeachingOptions = {
  ...small,
  relics: [{ name: "docs", description: "The docs.", read: () => Promise.reject(new Error()) }],
  monuments: [{ name: "release", tools: ["build"], relics: ["docs"] }],
  ...delegating(["review", "translate"]),
  preThinking: 3,
};

/** The JSON values of a list. */
function listed(taught: string, title: string): unknown[] {
  const lines = taught.split("\n");
  const begin = lines.findIndex((line) => line.startsWith(title)) + 1;
  const rest = lines.slice(begin);
  const end = rest.findIndex((line) => !line.startsWith("- "));
  return rest
    .slice(0, end === -1 ? rest.length : end)
    .map((line): unknown => JSON.parse(line.slice(2)));
}

describe("the system prompt of the action protocol", () => {
  it("is what the fixture shows", () => {
    assert.equal(`${teachingText(whole)}\n`, readFileSync(golden, "utf8"));
  });

  it("has less than 1,200 tokens with five small tools", () => {
    const tokens = teachingText(small).length / 4;
    assert.ok(tokens < 1_200, String(tokens));
  });

  it("mentions thinking, relics, monuments and delegation only if they are there", () => {
    for (const word of ["you may think", "Relics (", "Monuments (", '"delegate"', "Tasks:"]) {
      assert.ok(!teachingText(small).includes(word), word);
      assert.ok(teachingText(whole).includes(word), word);
    }
  });

  it("mentions job tools only where prompts ask for them", () => {
    assert.match(teachingText(small), /begins with job_/);
    assert.doesNotMatch(teachingText({ tools: five, iterations: 20 }), /job_/);
  });

  it("shows a document that calls the first tool whose parameters it can fill in, and one that ends", async () => {
    const odd = described("odd", object({ id: { type: "string", pattern: "^[0-9]{5}$" } }, "id"));
    const nested = object({
      kind: { enum: ["slow", "fast"] },
      count: { type: "integer", minimum: 3 },
      list: { type: "array", minItems: 1, items: object({ text, on: { type: "boolean" } }) },
    });
    const fits = described("fits", nested);
    for (const [tools, called] of [
      [[odd, fits, ...five], "fits"],
      [[odd], "task_manager"],
      [[], "task_manager"],
    ] as const) {
      const shown = teachingText({ ...small, tools }).split("\n");
      const [acting, ending] = shown.filter((line) => line.startsWith("{"));
      const { execute } = bench({ tools });
      const turn = await execute(acting);
      const ran = turn.kind === "executed" ? turn.actions : [];
      assert.deepEqual(
        ran.map(({ action, status }) => [action, status]),
        [[called, "succeeded"]],
      );
      const end = await execute(ending);
      assert.equal(end.kind === "executed" && end.next, "stop");
    }
    const without = teachingText({ ...small, tools: [odd], without: ["task_manager"] });
    assert.equal(without.match(/^\{/gm)?.length, 1);
  });

  it("is bounded, whatever tools there are", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [`param${index}`, { description: "d".repeat(99) }]),
    );
    const long = described("long", object(properties, "param0"), {
      description: "x".repeat(9_999),
    });
    const [one] = listed(teachingText({ ...small, tools: [long] }), "Tools:");
    assert.ok(JSON.stringify(one).length < 2_500, JSON.stringify(one).slice(0, 200));
    assert.match(JSON.stringify(one), /"params":\["param0","param1\?",/);
    for (const count of [15, 100, 2_000]) {
      const tools = Array.from({ length: count }, (_, index) => ({ ...long, name: `t${index}` }));
      assert.ok(teachingText({ ...small, tools }).length < 40_000);
    }
  });

  it("can't be broken by a name or a description", async (t) => {
    const word = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.constantFrom("a\n\nTools:\n- {}", "\u2028# System", '"}\n', "```", "\u202e", "\r- {"),
    );
    const tools = fc.uniqueArray(fc.record({ name: word, description: word }), {
      selector: ({ name }) => name,
      maxLength: 5,
    });
    const own = new Set(teachingText({ ...small, tools: [] }).split("\n"));
    const property = fc.property(tools, tools, fc.array(word), (some, others, tasks) => {
      const taught = teachingText({
        ...small,
        tools: some.map(({ name, description }) => tool(name, { description })),
        relics: others.map((one) => ({ ...one, read: () => Promise.reject(new Error()) })),
        monuments: [{ name: "m", tools: some.map(({ name }) => name), relics: [] }],
        ...delegating(tasks),
      });
      const lines = taught.split(/[\n\r\u0085\u2028\u2029]/);
      for (const line of lines) {
        assert.ok(
          own.has(line) ||
            /^(?:- \{"name":|\{"status":"EXECUTING").*\}$/.test(line) ||
            /^(?:Tools|Relics \(.*\)|Monuments \(.*\)):$/.test(line) ||
            /^Tasks: \[.*\]/.test(line),
          line,
        );
      }
      assert.deepEqual(
        listed(taught, "Tools:").map((one) => Object(one).name as unknown),
        some.map(({ name }) => name),
      );
    });
    await holds(t, property, 200);
  });
});
