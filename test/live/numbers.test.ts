/**
 * Every numeric field of every document, with numbers that no one expects: it is refused at its place, or means what
 * it says. The fields are taken from the JSON schemas, so a new one fails here until a document below has it.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { DiagnosticsError } from "../../src/document/diagnostic.ts";
import { isRecord } from "../../src/document/guards.ts";
import { readDocument } from "../../src/document/read-document.ts";
import { schemaCheck } from "../../src/document/schema-check.ts";
import { evalSchema } from "../../src/evals/eval-schema.ts";
import { parseNumber, parsePort, UsageError } from "../../src/run/options.ts";
import { prepareRun, type RunOptions } from "../../src/run/prepare.ts";
import { executeRun } from "../../src/run/execute.ts";
import { entrySchema } from "../../src/entry/entry-schema.ts";
import { loadEntry } from "../../src/entry/load-entry.ts";
import { loadScript } from "../../src/rehearsal/format/load-script.ts";
import { rehearsalSchema } from "../../src/rehearsal/format/rehearsal-schema.ts";
import { makeWorkspace } from "../rig/workspace.ts";

/** As YAML has them. */
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
/** Valid in no field. */
const nowhere = new Set(["-1", ".nan", ".inf", "-.inf", '"5"', "null", "true", "[1]"]);
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
/** With everything that is a number; nothing of it fits together. */
const anyRehearsal = {
  ...rehearsal,
  job: "k",
  sessions: [
    {
      task: "p",
      workId: 0,
      iteration: 1,
      retry: 0,
      attempt: 1,
      hit: 1,
      repeat: 1,
      turns: [
        {
          replies: [
            { text: "a", delay: 1, usage: { input: 1, output: 1 } },
            { error: 500, times: 1 },
            { error: { status: 500 } },
          ],
        },
        { text: "a", delay: 1, usage: { input: 1, output: 1 } },
        { error: 500, times: 1 },
        { error: { status: 500 } },
      ],
    },
  ],
  change: {
    base: "a",
    head: "b",
    files: [{ path: "a.ts", status: "modified", additions: 1, deletions: 1 }],
    diff: "",
  },
  expect: {
    findings: [{ line: 1, endLine: 1 }],
    works: [{ task: "p", workId: 0, runs: 1, attempts: 1, retries: 0, crashes: 0, rejected: 0 }],
    decisions: [
      {
        kind: "criteria-retry",
        workId: 0,
        iteration: 1,
        retry: 1,
        of: 1,
        retries: 1,
        attempt: 1,
        attempts: 1,
        milliseconds: 1,
        status: 500,
        runs: 1,
        value: 1,
        used: 1,
        statusCode: 500,
      },
    ],
    actions: [{ document: 1, workId: 0, iteration: 1 }],
  },
};

const evalFile = {
  entry: "e.yml",
  runs: 1,
  parallel: 1,
  budget: { tokens: 9, cost: 9, minutes: 9 },
  limits,
  cases: [{ name: "a" }],
};
const anyEval = {
  entry: "e.yml",
  cases: [
    {
      name: "a",
      change: anyRehearsal.change,
      expect: anyRehearsal.expect,
      rehearsals: [{ sessions: anyRehearsal.sessions }],
    },
  ],
};

type Path = readonly (string | number)[];

/** The places of numbers in a document. */
function numbersIn(value: unknown, path: Path = []): Path[] {
  if (typeof value === "number") return [path];
  if (Array.isArray(value)) return value.flatMap((item, at) => numbersIn(item, [...path, at]));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => numbersIn(item, [...path, name]));
}

/** The document in YAML, with a number in the notation of YAML at a place. */
function withNumber(document: object, at: Path, number: string): string {
  const mark = "the-number";
  const replaced = (value: unknown, [key, ...rest]: Path): unknown => {
    if (key === undefined) return mark;
    if (Array.isArray(value))
      return value.map((item, i) => (i === key ? replaced(item, rest) : item));
    if (!isRecord(value)) throw new Error(`nothing at ${at.join(".")}`);
    return { ...value, [key]: replaced(value[key], rest) };
  };
  return JSON.stringify(replaced(document, at)).replace(`"${mark}"`, number);
}

/** The fields of a schema that may be numbers, by their names on the way to them. */
function numericFields(root: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  const seen = new Set<unknown>();
  const walk = (schema: unknown, name: string): void => {
    if (Array.isArray(schema)) for (const one of schema) walk(one, name);
    if (!isRecord(schema) || seen.has(schema)) return;
    seen.add(schema);
    const types = [schema["type"]].flat();
    if (types.includes("number") || types.includes("integer")) found.add(name);
    for (const [key, value] of Object.entries(schema)) {
      if (key === "properties" && isRecord(value))
        for (const [field, inside] of Object.entries(value)) walk(inside, field);
      else walk(value, name);
    }
  };
  walk(root, "");
  return found;
}

/** As `readEval` checks it first. */
const evalCheck = schemaCheck(evalSchema, "eval");
function loadEval(text: string) {
  const read = readDocument(text, { file: "a.eval.yml", format: "yaml" });
  if (read.kind === "rejected") return read;
  const { value, locate } = read;
  if (evalCheck.accepts(value)) return { kind: "loaded" } as const;
  const diagnostics = evalCheck.diagnose(value, { file: "a.eval.yml", locate });
  return { kind: "rejected", diagnostics } as const;
}

describe("a number in a document", () => {
  const documents = [
    ["entry", entrySchema, [entry], (text: string) => loadEntry(text, "e.yml")],
    [
      "rehearsal",
      rehearsalSchema,
      [rehearsal, anyRehearsal],
      (text: string) => loadScript(text, "r.yml"),
    ],
    ["eval", evalSchema, [evalFile, anyEval], loadEval],
  ] as const;
  for (const [kind, schema, samples, load] of documents) {
    it(`is in every field of the ${kind} that may be one`, () => {
      const covered = new Set(samples.flatMap((one) => numbersIn(one)).map((path) => path.at(-1)));
      assert.deepEqual(
        [...numericFields(schema)].filter((field) => !covered.has(field)),
        [],
      );
    });

    it(`is taken, or refused at its place, in a ${kind}`, () => {
      const [first] = samples;
      assert.notEqual(load(JSON.stringify(first)).kind, "rejected", "the first sample is valid");
      for (const sample of samples) {
        for (const path of numbersIn(sample)) {
          for (const number of numbers) {
            const what = `${path.join(".")}: ${number}`;
            const loaded = load(withNumber(sample, path, number));
            if (loaded.kind !== "rejected") {
              assert.ok(sample !== first || !nowhere.has(number), what);
              continue;
            }
            if (sample !== first) continue;
            const field = path.findLast((part) => typeof part === "string") ?? "";
            const texts = loaded.diagnostics.map((one) => `${one.codePath}: ${one.reason}`);
            assert.ok(
              texts.some((text) => text.includes(field)),
              `${what}\n${texts.join("\n")}`,
            );
          }
        }
      }
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
