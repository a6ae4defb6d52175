import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { entryCheck } from "../../src/entry/problems.ts";
import { entrySchema } from "../../src/entry/entry-schema.ts";
import { defaultLimits } from "../../src/entry/model.ts";
import { entryWith, entryWithTask, problemsOf } from "./rig.ts";

describe("the published schema", () => {
  it("is the one that entries are checked with", () => {
    const file = new URL("../../../schema/entry.schema.json", import.meta.url);
    assert.deepEqual(
      JSON.parse(readFileSync(file, "utf8")),
      JSON.parse(JSON.stringify(entrySchema)),
    );
  });

  it("is a JSON Schema, which the check takes for granted", () => {
    const ajv = new Ajv2020();
    assert.equal(ajv.validateSchema(entrySchema), true, ajv.errorsText());
  });

  it("closes every object, so that a misspelled field is found", () => {
    const open: string[] = [];
    const visit = (schema: unknown, path: string): void => {
      if (typeof schema !== "object" || schema === null) return;
      if ("properties" in schema && !("additionalProperties" in schema)) open.push(path);
      for (const [key, value] of Object.entries(schema)) {
        if (key !== "examples") visit(value, `${path}/${key}`);
      }
    };
    visit(entrySchema, "");
    assert.deepEqual(open, []);
  });
});

describe("an entry", () => {
  it("may use every field there is", () => {
    const condition = "job_boolean_true";
    const entry = entryWith({
      $schema: "./entry.schema.json",
      promptVariables: { v: ["x"] },
      tasks: {
        a: {
          model: { category: "fast" },
          prompt: ["x"],
          requireUserInput: false,
          availability: { previousTasks: [], condition },
          criteria: {
            toolExecuted: [],
            condition,
            runConditionInSameSession: true,
            failureAction: { retryTimes: 3, additionalPrompt: "x" },
          },
          permissions: {
            preset: "workspace",
            read: ["**"],
            write: ["!secrets/**"],
            shell: ["git *"],
            url: ["https://example.org/*"],
            tools: ["x", "docs/*", "!docs/write"],
          },
          protocol: "actions",
          iterations: 30,
          preThinking: { iterations: 2 },
          relics: ["manual"],
          monuments: ["release"],
        },
      },
      tools: {
        x: {
          description: "x",
          parameters: { type: "object" },
          command: ["x", "y"],
          timeoutSeconds: 0.5,
          readOnly: true,
          parallelSafe: true,
          build: { command: ["make"], inputs: ["src/**"], minutes: 0.5 },
        },
        y: { description: "y", parameters: {}, module: "tools/y.ts", export: "run" },
      },
      mcpServers: {
        docs: { command: "x", args: [""], env: { TOKEN: "env:DOCS_TOKEN" }, tools: ["search"] },
        web: { url: "http://127.0.0.1:1/mcp", headers: { "X-Key": "env:KEY" }, tools: ["search"] },
      },
      relics: { manual: { description: "x", files: ["docs/**"], maxTokens: 10 } },
      monuments: { release: { description: "x", tools: ["x", "docs/search"], relics: ["manual"] } },
      grid: [{ keyword: "", jobs: [null, { name: "", jobName: "j" }] }],
      drivingSessionRetries: [{ modelId: "small", retries: 3 }],
      permissions: { shell: true },
      limits: Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, 1])),
    });
    assert.deepEqual(problemsOf(entry), []);
    assert.ok(entryCheck.accepts(entry));
  });

  it("needs models, tasks and jobs, and nothing else", () => {
    assert.deepEqual(problemsOf({}).sort(), [
      "entry.jobs: This field is required.",
      "entry.models: This field is required.",
      "entry.tasks: This field is required.",
    ]);
    assert.deepEqual(problemsOf({ models: { driving: "d" }, tasks: {}, jobs: {} }), []);
  });

  it("has limits that are positive, and whole where they count", () => {
    const of = (limits: object): string[] => problemsOf(entryWith({ limits }));
    const fractions = Object.keys(defaultLimits).filter((name) => /Minutes$|^cost$/.test(name));
    for (const name of fractions) {
      assert.deepEqual(of({ [name]: 1.5 }), []);
      assert.deepEqual(of({ [name]: 0 }), [`entry.limits.${name}: Must be more than 0, not 0.`]);
    }
    for (const name of Object.keys(defaultLimits).filter((one) => !fractions.includes(one))) {
      assert.deepEqual(of({ [name]: 1.5 }), [
        `entry.limits.${name}: Must be a whole number, not 1.5.`,
      ]);
      assert.deepEqual(of({ [name]: 0 }), [`entry.limits.${name}: Must be at least 1, not 0.`]);
    }
    assert.deepEqual(of({ jobMinutes: Number.POSITIVE_INFINITY }), [
      "entry.limits.jobMinutes: Must be a number, not Infinity.",
    ]);
    assert.deepEqual(of({ minutes: 1 }).length, 1);
  });

  it("has permissions that are a preset or rules, for itself and for a task", () => {
    for (const permissions of [
      "read-only",
      "workspace",
      "all",
      {},
      { preset: "all", shell: true },
    ]) {
      assert.deepEqual(problemsOf(entryWithTask({ permissions }, { permissions })), []);
    }
    const of = (permissions: unknown): string[] => problemsOf(entryWithTask({ permissions }));
    const at = 'entry.tasks["a"].permissions';
    assert.deepEqual(of("readonly"), [
      `${at}: Must be "read-only", "workspace" or "all", not the text "readonly".`,
    ]);
    assert.deepEqual(of(true), [`${at}: Must be text or an object, not true.`]);
    assert.deepEqual(of({ shell: "ls" }), [
      `${at}.shell: Must be true or a list, not the text "ls".`,
    ]);
    assert.deepEqual(of({ shell: [1] }), [`${at}.shell[0]: Must be text, not 1.`]);
    assert.deepEqual(of({ read: [""] }), [`${at}.read[0]: Must not be empty.`]);
    assert.deepEqual(of({ exec: true }), [`${at}.exec: Unknown field "exec".`]);
  });
});
