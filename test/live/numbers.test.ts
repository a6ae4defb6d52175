/** Numbers that no one expects are refused, or mean what they say. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { DiagnosticsError } from "../../src/document/diagnostic.ts";
import { isRecord } from "../../src/document/guards.ts";
import { evalSchema } from "../../src/evals/eval-schema.ts";
import { parseNumber, parsePort, UsageError } from "../../src/run/options.ts";
import { prepareRun, type RunOptions } from "../../src/run/prepare.ts";
import { executeRun } from "../../src/run/execute.ts";
import { entrySchema } from "../../src/entry/entry-schema.ts";
import { rehearsalSchema } from "../../src/rehearsal/format/rehearsal-schema.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const numbers = [
  "-1",
  "0",
  "0.5",
  "-0.0",
  ".nan",
  ".inf",
  "-.inf",
  "1e-320",
  "1e9",
  "3e9",
  "2147483648",
  "9007199254740992",
  "1e308",
  '"5"',
  "null",
  "true",
  "[1]",
];
/** Large, and whole. */
const huge = ["3e9", "1e308"];

const limits = {
  jobMinutes: 1,
  taskMinutes: 1,
  turnMinutes: 1,
  idleMinutes: 1,
  tokens: 99_999,
  cost: 9,
  modelCalls: 99,
  loopIterations: 9,
  parallel: 2,
  activityHits: 9,
  activities: 99,
  callDepth: 9,
  promptCharacters: 9999,
  outputCharacters: 9999,
  commandMinutes: 1,
  commandIdleMinutes: 1,
};
const ref = { kind: "Ref", taskId: "t" };
const flow =
  "# Workflow\n\n```mermaid\nflowchart TD\nSTART --> SET_A[A=1] --> SUCCESS\n```\n\n# Prompts\n";
const entry = {
  models: { driving: "m" },
  drivingSessionRetries: [{ modelId: "m", retries: 1 }],
  limits,
  outputs: { findings: { max: 9 } },
  mcpServers: { docs: { command: "true", startSeconds: 9 } },
  relics: { notes: { description: "Notes", files: ["*.md"], maxTokens: 9 } },
  tools: {
    hello: {
      description: "Says hello.",
      parameters: { type: "object", properties: {} },
      command: ["echo", "hi"],
      timeoutSeconds: 9,
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
      iterations: 2,
      preThinking: { iterations: 2 },
      relics: ["notes"],
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

describe("a number of the command line or the action", () => {
  it("is decimal, finite and greater than 0", () => {
    const texts = [...numbers, "NaN", "Infinity", "1e3", "0x10", "", " ", "9".repeat(400), "5 6"];
    for (const text of texts.filter((one) => !/^\d*[1-9]$|^0\.5$|^2147483648$/.test(one))) {
      assert.equal(parseNumber(text, "a whole number").kind, "wrong", text);
      assert.equal(parsePort(text).kind === "value" && text !== "0", false, text);
    }
    assert.equal(parseNumber("9".repeat(400), "a number").kind, "wrong");
    assert.deepEqual(parseNumber("0.5", "a number"), { kind: "value", value: 0.5 });
  });
});

describe("a limit, count or time that is huge", () => {
  const text = (document: unknown, number: string): string =>
    JSON.stringify(document, (name, value: unknown) =>
      typeof value === "number" && name !== "workIdInJob" && name !== "atMost"
        ? "the-number"
        : value,
    ).replaceAll('"the-number"', number);

  it("ends nothing early and allocates nothing", async (t) => {
    for (const number of huge) {
      const { jobs, tasks, models, drivingSessionRetries } = entry;
      const { hello: tool } = entry.tools;
      const some = {
        models,
        jobs,
        limits,
        drivingSessionRetries,
        // These have a maximum.
        tasks: {
          ...tasks,
          p: { ...tasks.p, iterations: "1000", preThinking: undefined, relics: undefined },
        },
        tools: { hello: { ...tool, timeoutSeconds: undefined } },
      };
      const options = await optionsOf(
        t,
        text(some, number).replace('"1000"', "1000"),
        text(rehearsal, number),
      );
      const { outcome } = await executeRun(await prepared(options), options);
      assert.deepEqual(outcome, { kind: "succeeded" }, number);
    }
  });

  it("of the delay of a reply is ended by the limits", async (t) => {
    const delayed = { task: "t", turns: [{ text: "ok", delay: 1 }] };
    const options = await optionsOf(
      t,
      JSON.stringify({ ...entry, limits: { turnMinutes: 0.02 }, drivingSessionRetries: undefined }),
      text(
        { entry: "e.yml", job: "j", sessions: [delayed, { ...delayed, repeat: "any" }] },
        "1e308",
      ),
    );
    const { outcome } = await executeRun(await prepared(options), options);
    assert.match(JSON.stringify(outcome), /failed.*turnMinutes/);
  });

  async function optionsOf(t: TestContext, e: string, r: string): Promise<RunOptions> {
    const { path } = await makeWorkspace(t, { "flow.wf.md": flow, "e.yml": e, "r.yml": r });
    const { PATH = "", HOME = "" } = process.env;
    return {
      entryFile: `${path}/e.yml`,
      jobName: "j",
      rehearse: `${path}/r.yml`,
      inPlace: true,
      workingDirectory: path,
      environment: { PATH, HOME },
    };
  }

  async function prepared(options: RunOptions): ReturnType<typeof prepareRun> {
    try {
      return await prepareRun(options);
    } catch (error) {
      if (error instanceof DiagnosticsError) assert.fail(JSON.stringify(error.diagnostics));
      if (error instanceof UsageError) assert.fail(error.message);
      throw error;
    }
  }
});
