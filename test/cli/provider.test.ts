/** How the model server is reached: headers, and a server that starts late. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { cliExits, type CliResult, runCli } from "../rig/cli.ts";
import { modelServer, type ModelServer, type Script } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { entryOf, scriptOf } from "./rig.ts";

const entry = (provider: object): string =>
  entryOf({ provider }, { prompt: "Say which key you have." });

const secret = "portkey-73a19c";
const headers = { "x-portkey-api-key": "env:PORTKEY", "x-plain": "Bearer env:PORTKEY" };

describe("the headers of a provider", () => {
  async function run(
    t: TestContext,
    provider: object,
    env: Readonly<Record<string, string>>,
    ...args: readonly string[]
  ): Promise<CliResult & { readonly server: ModelServer }> {
    const server = await modelServer(t, () => ({ text: `I have ${secret}.` }));
    const { path: cwd } = await makeWorkspace(t, { "e.json": entry(provider) });
    const given = ["run", "e.json", "--verbose", "--provider-base-url", server.baseUrl, ...args];
    return { ...(await runCli(given, { cwd, env })), server };
  }

  it("are sent with the values of variables that are allowed, and masked", async (t) => {
    const { code, stdout, server } = await run(
      t,
      { headers },
      { PORTKEY: secret },
      "--env",
      "PORTKEY",
    );
    assert.equal(code, 0, stdout);
    assert.equal(server.requests[0]?.headers["x-portkey-api-key"], secret);
    assert.equal(server.requests[0]?.headers["x-plain"], `Bearer ${secret}`);
    assert.match(stdout, /I have \*\*\*\./);
  });

  it("are refused before anything starts without a variable", async (t) => {
    for (const [env, args, problem] of [
      [
        { PORTKEY: secret },
        [],
        /`provider`\) needs the environment variable PORTKEY. Allow it with/,
      ],
      [{}, ["--env", "PORTKEY"], /PORTKEY, which --env allows, but it is not set/],
    ] as const) {
      const { code, stderr, server } = await run(t, { headers }, env, ...args);
      assert.equal(code, 2);
      assert.match(stderr, problem);
      assert.equal(server.requests.length, 0);
    }
  });

  it("may come from the environment, for lists of models, too", async (t) => {
    const env = { AGENT_JOBS_PROVIDER_HEADERS: `x-portkey-api-key=${secret}, x-b=a%20b` };
    const { stdout, server } = await run(t, {}, env);
    assert.equal(server.requests[0]?.headers["x-portkey-api-key"], secret);
    assert.equal(server.requests[0]?.headers["x-b"], "a b");
    assert.match(stdout, /I have \*\*\*\./);
  });

  it("are not needed by a rehearsal", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "e.json": entry({ headers }),
      "r.json": scriptOf([{ text: "Done." }]),
    });
    await cliExits(0, "rehearse r.json", { cwd });
  });
});

describe("a model server that starts after the job", () => {
  it("is waited for if the author says for how long", async (t) => {
    const server = await modelServer(t, () => ({ text: "Hi." }));
    server.refuse();
    const { path: cwd } = await makeWorkspace(t, {
      "late.json": entry({ startSeconds: 60 }),
      "soon.json": entry({ startSeconds: 1 }),
      "e.json": entry({}),
    });
    const run = (file: string): Promise<CliResult> =>
      runCli(["run", file, "--provider-base-url", server.baseUrl], { cwd });
    for (const file of ["e.json", "soon.json"]) {
      const { code, stdout } = await run(file);
      assert.equal(code, 1);
      assert.match(stdout, /Is it running\?/);
    }
    setTimeout(() => server.accept(), 7_000);
    const { code, stdout } = await run("late.json");
    assert.equal(code, 0, stdout);
    assert.match(stdout, /Can't connect to the model server .*Still trying/);
    assert.equal(server.requests.length, 1);
  });
});

describe("doctor --model", () => {
  const seasons = { markdown: "Spring, summer" };

  async function ask(t: TestContext, script: Script): Promise<CliResult & { server: ModelServer }> {
    const models = [{ id: "m", meta: { n_ctx: 16_384 } }];
    const server = await modelServer(t, script, { models });
    const { path: cwd } = await makeWorkspace(t);
    const args = ["doctor", "--model", "m", "--provider-base-url", server.baseUrl];
    return { ...(await runCli(args, { cwd })), server };
  }

  it("asks one question with one tool, and tells the speed and the context", async (t) => {
    const { stdout, server } = await ask(t, ({ toolResults }) =>
      toolResults.length > 0
        ? { text: "Done." }
        : { toolCalls: [{ name: "job_report", arguments: seasons }] },
    );
    assert.match(
      stdout,
      /^ok {4}Model: m calls tools \(first token after \d+\.\d s, [\d.]+ tokens per second, context of 16,384 tokens\)$/m,
    );
    assert.match(stdout, /^ok {4}Models: 127\.0\.0\.1:\d+ lists 1 model$/m);
    assert.deepEqual(server.requests[0]?.tools, ["job_report"]);
    assert.equal(server.requests.length, 2);
  });

  const written = JSON.stringify({ name: "job_report", arguments: seasons });
  for (const [name, text, says] of [
    ["writes its call as text", `<tool_call>${written}</tool_call>`, "writes its calls as text. "],
    ["answers in prose", "Spring, of course.", '"Spring, of course." '],
  ] as const) {
    it(`fails if the model ${name}, with its answer and what to try`, async (t) => {
      const { code, stdout, server } = await ask(t, () => ({ text }));
      assert.equal(code, 1);
      const [line = ""] = /^FAIL {2}Model: .*$/m.exec(stdout) ?? [];
      assert.ok(line.includes(says) && line.includes(JSON.stringify(text)), stdout);
      assert.match(line, /chat template.*`protocol: actions`.*or choose another model/);
      assert.equal(line.split("chat template").length, 2, line);
      assert.match(line, /\(first token after .*context of 16,384 tokens\)/);
      assert.equal(server.requests.length, 1);
    });
  }

  it("fails with the words of a run if the server refuses the request", async (t) => {
    const { code, stdout } = await ask(t, () => ({ status: 404 }));
    assert.equal(code, 1);
    assert.match(stdout, /^FAIL {2}Model: m: .*answered 404 to POST .*Check the model id/m);
  });
});
