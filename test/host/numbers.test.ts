/** Numbers that no one expects are refused, or mean what they say. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isRecord } from "../../src/text/guards.ts";
import { evalSchema } from "../../src/evals/eval-schema.ts";
import { amount, port } from "../../src/run/option-kinds.ts";
import { prepareRun, type RunOptions } from "../../src/run/prepare.ts";
import { executeRun } from "../../src/run/execute.ts";
import { entrySchema } from "../../src/entry/entry-schema.ts";
import { overridingLimits } from "../../src/entry/limits.ts";
import { rehearsalSchema } from "../../src/rehearsal/format/rehearsal-schema.ts";
import { makeWorkspace } from "../rig/workspace.ts";

/** A number is written where each one stands. */
const limits = Object.fromEntries(Object.keys(overridingLimits).map((name) => [name, 1]));
const ref = { kind: "Ref", taskId: "t" };
const flow =
  "# Workflow\n\n```mermaid\nflowchart TD\nSTART --> SET_A[A=1] --> SUCCESS\n```\n\n# Prompts\n";
const entry = {
  models: { driving: "m" },
  drivingSessionRetries: [{ modelId: "m", retries: 1 }],
  limits,
  tools: {
    hello: {
      description: "Says hello.",
      parameters: { type: "object", properties: {} },
      command: ["echo", "hi"],
      build: { command: ["true"], inputs: ["*.md"], minutes: 1 },
    },
  },
  tasks: {
    t: {
      prompt: "go",
      model: { category: "driving" },
      permissions: { tools: ["hello"] },
      criteria: { toolExecuted: ["hello"], failureAction: { retryTimes: 1 } },
    },
    p: {
      prompt: "plan",
      model: { category: "driving" },
      protocol: "actions",
      iterations: 1000,
    },
  },
  jobs: {
    j: {
      work: {
        kind: "Seq",
        works: [
          { ...ref, workIdInJob: 7 },
          { kind: "Flow", file: "flow.wf.md", workIdInJob: 8 },
          { kind: "Loop", body: ref, atMost: 2, atMostReached: "succeed" },
        ],
      },
    },
    k: { work: { kind: "Ref", taskId: "p" } },
  },
};
const hello = [{ tools: [{ name: "hello", arguments: {} }] }, { text: "ok" }];
const rehearsal = {
  entry: "e.yml",
  job: "j",
  limits,
  sessions: [{ task: "t", repeat: "any", turns: [{ replies: hello }] }],
};
describe("a number in a document", () => {
  const schemas = { entry: entrySchema, rehearsal: rehearsalSchema, eval: evalSchema };
  for (const [kind, schema] of Object.entries(schemas)) {
    it(`is never negative, in any field of the ${kind}`, () => {
      const unbounded: string[] = [];
      const walk = (value: unknown, path: string): void => {
        if (Array.isArray(value)) value.forEach((one, at) => walk(one, `${path}/${at}`));
        if (!isRecord(value)) return;
        const types = [value["type"]].flat();
        const isNumber = types.includes("number") || types.includes("integer");
        const lowest = Number(value["minimum"] ?? value["exclusiveMinimum"]);
        // The fields of an expected decision are only compared.
        if (isNumber && !(lowest >= 0) && !path.startsWith("/$defs/decision/"))
          unbounded.push(path);
        for (const [key, inside] of Object.entries(value)) walk(inside, `${path}/${key}`);
      };
      walk(schema, "");
      assert.deepEqual(unbounded, []);
    });
  }
});

it("a number or port of the command line is finite, and a port is one", () => {
  assert.equal(amount.parse("9".repeat(400)).kind, "wrong");
  for (const text of ["-1", "0.5", "1e3", "65536", ""])
    assert.equal(port.parse(text).kind, "wrong", text);
});

it("a limit, count or time that is huge ends nothing early and allocates nothing", async (t) => {
  // These have a maximum, or are ids.
  const kept = ["workIdInJob", "atMost", "iterations"];
  const text = (document: unknown, number: string): string =>
    JSON.stringify(document, (name, value: unknown) =>
      typeof value === "number" && !kept.includes(name) ? "the-number" : value,
    ).replaceAll('"the-number"', number);
  const { PATH = "", HOME = "" } = process.env;
  for (const number of ["3e9", "1e308"]) {
    const { path } = await makeWorkspace(t, {
      "flow.wf.md": flow,
      "e.yml": text(entry, number),
      "r.yml": text(rehearsal, number),
    });
    const options: RunOptions = {
      entryFile: `${path}/e.yml`,
      jobName: "j",
      rehearse: `${path}/r.yml`,
      inPlace: true,
      workingDirectory: path,
      environment: { PATH, HOME },
    };
    const { outcome } = await executeRun(await prepareRun(options), options);
    assert.deepEqual(outcome, { kind: "succeeded" }, number);
  }
});
