/** Which models there are, and that a run does not start with one that there isn't. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { describe, it, type TestContext } from "node:test";
import { makeAccount } from "../rig/account.ts";
import { runCli, cliExits, type CliResult } from "../rig/cli.ts";
import { modelServer, type ModelServer } from "../rig/model-server.ts";
import { createServer } from "node:http";
import { listen } from "../rig/listen.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entry = `models: { driving: gpt-5-mini, other: gpt-5-mni }
tasks: { a: { prompt: Say hello, model: { category: driving } } }
jobs: { j: { work: { kind: Ref, taskId: a } } }
`;

interface Tried extends CliResult {
  readonly server: ModelServer;
  readonly files: readonly string[];
}

async function run(
  t: TestContext,
  listed: readonly string[],
  ...args: readonly string[]
): Promise<Tried> {
  const { path: cwd } = await makeWorkspace(t, { "e.yml": entry, "flow.wf.md": flow });
  const server = await modelServer(t, () => ({ text: "Hello!" }), { models: listed });
  const [file = "e.yml", ...more] = args;
  const given = ["run", file, "--check-models", "--provider-base-url", server.baseUrl, ...more];
  const result = await runCli(given, { cwd });
  return { ...result, server, files: await readdir(cwd) };
}

const flow = `---
model: gpt-5-min
---

# Workflow

\`\`\`mermaid
flowchart TD
    START --> PROMPT_GREET[Prompt: "Say hello"] --> SUCCESS
\`\`\`
`;

describe("agent-jobs models", () => {
  it("lists the models of the account with their names and prices", async (t) => {
    const { runtimePath } = await makeAccount(t, { "dear-model": [125, 1000], worker: [25, 200] });
    const { path: cwd } = await makeWorkspace(t);
    const env = { COPILOT_GITHUB_TOKEN: "gho_token" };
    const args = ["models", "--runtime-path", runtimePath];
    const { stdout } = await cliExits(0, args, { cwd, env });
    assert.match(stdout, /^MODEL +NAME +PRICE OF A MILLION TOKENS$/m);
    assert.match(stdout, /^dear-model +DEAR-MODEL +1\.25 USD in, 0\.13 cached, 10 out$/m);
    assert.match(stdout, /^auto +Auto +unknown$/m);
    const json = await runCli([...args, "--json"], { cwd, env });
    const listed: unknown = JSON.parse(json.stdout);
    assert.ok(
      JSON.stringify(listed).includes(
        '{"name":"WORKER","id":"worker","price":{"input":0.25,"cached":0.03,"output":2}}',
      ),
    );
  });

  it("lists those of a model server one a line, and says where there are none", async (t) => {
    const { path: cwd } = await makeWorkspace(t);
    const list = async (models: readonly string[]): Promise<CliResult> => {
      const server = await modelServer(t, () => ({ text: "" }), { models });
      return runCli(`models --provider-base-url ${server.baseUrl}`, { cwd });
    };
    const { code, stdout } = await list(["qwen3", "bad\u001b[31m"]);
    assert.deepEqual([code, stdout.split("\n")[0]], [0, "qwen3"]);
    assert.ok(!stdout.includes("\u001b"), stdout);
    const none = await list([]);
    assert.equal(none.code, 1);
    assert.match(
      none.stderr,
      /No models are listed\. The model server \S+ has no models\. Pull one/,
    );
    const nobody = await cliExits(2, "models", { cwd });
    assert.match(nobody.stderr, /--provider-base-url/);
  });
});

/** Answers `GET` by path, with 401 if a key is asked for and another one is given. */
async function listing(t: TestContext, lists: Readonly<Record<string, readonly string[]>>) {
  const asked: string[] = [];
  const server = createServer(({ method = "", url = "", headers }, response) => {
    asked.push(`${method} ${url}`);
    const models = lists[url];
    const isAllowed = headers["x-api-key"] !== "wrong" && headers.authorization !== "Bearer wrong";
    response.writeHead(models === undefined ? 404 : isAllowed ? 200 : 401);
    const data = (models ?? []).map((id) => ({ id }));
    response.end(JSON.stringify(isAllowed ? { data } : { error: { message: "no such key" } }));
  });
  return { address: await listen(t, server), asked };
}

describe("a server that lists no models", () => {
  for (const [name, path, args, says] of [
    [
      "for a wrong key",
      "/v1",
      ["--provider-api-key", "wrong"],
      /answered 401 to GET \/v1\/models: "no such key"\. Check the key/,
    ],
    [
      "without /v1 in its address",
      "",
      [],
      /lists its models below \/v1\. Add \/v1 to the base URL/,
    ],
    ["at another path", "/v2", [], /answered 404 to GET \/v2\/models.*Check the base URL/],
  ] as const) {
    it(`${name} is told why by all that ask`, async (t) => {
      const { address } = await listing(t, { "/v1/models": ["a"] });
      const { path: cwd } = await makeWorkspace(t, { "e.yml": entry });
      const server = ["--provider-base-url", `${address}${path}`, ...args];
      for (const command of [
        ["models"],
        ["doctor"],
        ["run", "e.yml", "--check-models"],
        ["validate", "e.yml", "--check-models"],
      ]) {
        const { code, stdout, stderr } = await runCli([...command, ...server], { cwd });
        assert.notEqual(code, 0);
        assert.match(stdout + stderr, says, command.join(" "));
      }
    });
  }

  it("without /v1 in its address is told of it even if no model was pulled", async (t) => {
    const { address } = await listing(t, { "/v1/models": [] });
    const { path: cwd } = await makeWorkspace(t);
    const { stderr } = await cliExits(1, ["models", "--provider-base-url", address], { cwd });
    assert.match(stderr, /below \/v1\. Add \/v1 to the base URL/);
  });

  it("is asked below /v1 of Anthropic's API, with or without it in the address", async (t) => {
    const { address, asked } = await listing(t, { "/v1/models": ["claude"] });
    const { path: cwd } = await makeWorkspace(t);
    for (const path of ["", "/v1", "/v1/"]) {
      const args = ["--provider-base-url", `${address}${path}`, "--provider-type", "anthropic"];
      const { stdout } = await cliExits(0, ["models", ...args], { cwd });
      assert.equal(stdout, "claude\n");
    }
    assert.deepEqual([...new Set(asked)], ["GET /v1/models"]);
  });
});

describe("a run with --check-models", () => {
  it("takes Ollama's name for the latest version", async (t) => {
    const { server, code, stderr } = await run(t, ["gpt-5-mini:latest", "gpt-5-mni"]);
    assert.equal(code, 0, stderr);
    assert.equal(server.requests.length, 1);
  });

  it("of Anthropic's API sends to /v1/messages, and errors name method and path", async (t) => {
    for (const cutOff of [/\/v1$/, /$/]) {
      const server = await modelServer(t, () => ({ status: 404 }), {
        models: ["gpt-5-mini", "gpt-5-mni"],
      });
      const { path: cwd } = await makeWorkspace(t, { "e.yml": entry });
      const given = [
        "--provider-base-url",
        server.baseUrl.replace(cutOff, ""),
        "--provider-type",
        "anthropic",
      ];
      const { stdout } = await runCli(["run", "e.yml", "--check-models", ...given], { cwd });
      assert.match(stdout, /answered 404 to POST \/v1\/messages for model "gpt-5-mini"/);
      assert.deepEqual(
        server.requests.map(({ path }) => path),
        ["/v1/messages"],
      );
    }
  });

  it("doesn't start if the entry names one that is not offered", async (t) => {
    const journal = ["e.yml", "--journal", "run.jsonl"];
    const { code, stderr, server, files } = await run(t, ["gpt-5-mini"], ...journal);
    assert.equal(code, 2, stderr);
    assert.match(
      stderr,
      /^e\.yml:1:\d+: entry\.models\["other"\]: The model "gpt-5-mni" is not offered\. \(did you mean "gpt-5-mini"\?\)$/m,
    );
    assert.deepEqual([server.requests.length, files.includes("run.jsonl")], [0, false]);
    const workflow = await run(t, ["gpt-5-mini"], "flow.wf.md");
    assert.equal(workflow.code, 2);
    assert.match(workflow.stderr, /^flow\.wf\.md.*"gpt-5-min" is not offered.*"gpt-5-mini"/m);
  });

  it("checks those of --model instead of those that they replace", async (t) => {
    const wrong = await run(t, ["gpt-5-mini"], "e.yml", "--model", "other=gpt-5-mii");
    assert.equal(wrong.code, 2);
    assert.match(
      wrong.stderr,
      /--model other=gpt-5-mii: The model "gpt-5-mii" is not offered\. \(did you mean "gpt-5-mini"\?\)/,
    );
    const right = await run(t, ["gpt-5-mini"], "e.yml", "--model", "other=gpt-5-mini");
    assert.equal(right.code, 0, right.stderr);
    assert.equal(right.server.requests.length, 1);
  });

  it("doesn't start if there is nothing to check against, or nothing to check", async (t) => {
    const none = await run(t, []);
    assert.equal(none.code, 2);
    assert.match(
      none.stderr,
      /none are listed.*Omit --check-models if the model server has no list/,
    );
    assert.equal(none.server.requests.length, 0);
    const rehearsed = await run(t, [], "e.yml", "--rehearse", "r.yml");
    assert.equal(rehearsed.code, 2);
    assert.match(rehearsed.stderr, /'--check-models' cannot be used with option '--rehearse/);
  });
});

describe("--model", () => {
  const models = `models: { driving: a, other: b }
tasks:
  one: { prompt: Say one, model: { id: c } }
  two: { prompt: Say two, model: { category: other } }
  three: { prompt: Say three, model: { id: d } }
jobs:
  j:
    work:
      kind: Seq
      works:
        - { kind: Ref, taskId: one }
        - { kind: Ref, taskId: two }
        - { kind: Ref, taskId: three, modelOverride: { id: e } }
        - { kind: Flow, file: flow.wf.md }
`;

  async function asked(t: TestContext, file: string, ...ids: readonly string[]): Promise<unknown> {
    const server = await modelServer(t, () => ({ text: "Hello!" }));
    const { path: cwd } = await makeWorkspace(t, { "e.yml": models, "flow.wf.md": flow });
    const given = ["run", file, "--provider-base-url", server.baseUrl];
    await cliExits(0, [...given, ...ids.flatMap((id) => ["--model", id])], { cwd });
    return server.requests.map(({ model }) => model);
  }

  it("with an id alone is the model of everything", async (t) => {
    assert.deepEqual(await asked(t, "e.yml", "big"), ["big", "big", "big", "big"]);
    assert.deepEqual(await asked(t, "flow.wf.md", "big"), ["big"]);
  });

  it("with an id and a category is the model of everything but the category", async (t) => {
    const ids = ["big", "other=small"];
    assert.deepEqual(await asked(t, "e.yml", ...ids), ["big", "small", "big", "big"]);
  });

  it("with the driving category replaces the model that a workflow names", async (t) => {
    assert.deepEqual(await asked(t, "flow.wf.md", "driving=big"), ["big"]);
    // A workflow that is a part of a job keeps its own.
    const own = await asked(t, "e.yml", "driving=big");
    assert.deepEqual(own, ["c", "b", "e", "gpt-5-min"]);
  });
});
