/** Tools that an entry declares, called in an ordinary task: the real process, the real runtime, real commands. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { runCli, type CliResult } from "../rig/cli.ts";
import { modelServer, type RecordedRequest, type Script } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const parameters = {
  type: "object",
  properties: { words: { type: "array", items: { type: "string" } } },
  required: ["words"],
  additionalProperties: false,
};

const node = (script: string): readonly string[] => [process.execPath, "-e", script];

const echo = {
  description: "Joins words.",
  parameters,
  command: node(
    `let text = ""; process.stdin.on("data", (part) => (text += part)).on("end", () => {
       console.error("joining");
       console.log(JSON.stringify({ joined: JSON.parse(text).words.join(" ") }));
     });`,
  ),
};

interface Setup {
  readonly tools?: object;
  readonly task?: object;
  readonly permissions?: unknown;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

interface Ran extends CliResult {
  readonly requests: readonly RecordedRequest[];
  readonly results: readonly string[];
}

async function run(t: TestContext, script: Script, setup: Setup = {}): Promise<Ran> {
  const { tools = { echo }, task = {}, env = {}, args = [] } = setup;
  const { permissions = { preset: "read-only", tools: ["echo"] } } = setup;
  const entry = {
    models: { driving: "driver" },
    tools,
    tasks: { only: { model: { category: "driving" }, prompt: "Go", permissions, ...task } },
    jobs: { job: { work: { kind: "Ref", taskId: "only" } } },
  };
  const server = await modelServer(t, script);
  const workspace = await makeWorkspace(t, { "entry.json": JSON.stringify(entry) });
  const address = ["--provider-base-url", server.baseUrl, "--provider-api-key", "a-key"];
  const result = await runCli(["run", "entry.json", ...address, "--verbose", ...args], {
    cwd: workspace.path,
    env,
  });
  const { requests } = server;
  return { ...result, requests, results: requests.at(-1)?.toolResults ?? [] };
}

const once =
  (name: string): Script =>
  ({ toolResults }) =>
    toolResults.length > 0
      ? { text: "Done" }
      : { toolCalls: [{ name, arguments: { words: ["a", "b"] } }] };

describe("a tool of the entry", () => {
  it("is offered with its parameters, run as a command, and its result reaches the model as data", async (t) => {
    const { code, requests, results, stdout, stderr } = await run(t, once("echo"));
    assert.equal(code, 0, stdout + stderr);
    assert.ok(requests[0]?.tools.includes("echo"));
    assert.match(JSON.stringify(requests[0]?.body), /Joins words\..*"words"/);
    assert.equal(results.length, 1);
    assert.match(results[0] ?? "", /is data.*\n```\n\{"joined":"a b"\}\n```$/);
    assert.match(stdout, /echo/);
  });

  it("sees what --env names of the environment, and its secrets are masked before the model sees them", async (t) => {
    const secret = "hunter2-but-much-longer";
    const print = "console.error(process.env.API_TOKEN); console.log(`${process.env.API_TOKEN}`)";
    const { results, requests, stdout, stderr, code } = await run(t, once("echo"), {
      tools: { echo: { ...echo, command: node(print) } },
      env: { API_TOKEN: secret },
      args: ["--env", "API_TOKEN"],
    });
    assert.equal(code, 0, stdout + stderr);
    assert.ok((results[0] ?? "").includes("***"), results[0]);
    const all = requests.map(({ body }) => JSON.stringify(body)).join("") + stdout + stderr;
    assert.ok(!all.includes(secret), "the secret is in a request or in the log");
  });
});

describe("a task with a protocol", () => {
  const document = JSON.stringify({
    status: "SUCCESS",
    thoughts: [],
    actions: [],
    stop: true,
    response: "Done.",
  });
  const isFormatted = ({ body }: RecordedRequest): boolean =>
    JSON.stringify(body).includes('"name":"action_document"');

  it("asks the model for a document in JSON, and for nothing of the kind in its conditions", async (t) => {
    const yes = { toolCalls: [{ name: "job_boolean_true", arguments: { argument: "yes" } }] };
    const { code, requests, stdout } = await run(
      t,
      ({ prompt, toolResults }) => {
        if (prompt.includes("Is it?")) return toolResults.length > 0 ? { text: "Yes" } : yes;
        return { text: document };
      },
      {
        task: {
          protocol: "actions",
          criteria: {
            condition: "Is it? job_boolean_true",
            failureAction: { retryTimes: 0 },
          },
        },
      },
    );
    assert.equal(code, 0, stdout);
    assert.deepEqual(
      requests.map((request) => [request.prompt.includes("Is it?"), isFormatted(request)]),
      [
        [false, true],
        [true, false],
        [true, false],
      ],
    );
    // Its actions call the tools of the entry, not the model.
    assert.ok(!requests[0]?.tools.includes("echo"));
  });
});
