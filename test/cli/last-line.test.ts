/** The last line of a run that failed says the cause, where it was, and what to do. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { runCli, startCli, type CliResult } from "../rig/cli.ts";
import { startModelServer, type Reply, type Script } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entry = (limits: object = {}): string =>
  JSON.stringify({
    models: { driving: "some-model" },
    limits,
    tasks: { look: { prompt: "go", model: { category: "driving" } } },
    jobs: { j: { work: { kind: "Ref", taskId: "look" } } },
  });

interface Failed extends CliResult {
  readonly last: string;
  readonly baseUrl: string;
}

async function fail(
  t: TestContext,
  script: Script,
  { limits, args = [] }: { limits?: object; args?: readonly string[] } = {},
): Promise<Failed> {
  const { path } = await makeWorkspace(t, { "e.json": entry(limits) });
  const server = await startModelServer(script);
  t.after(() => server.close());
  const { baseUrl } = server;
  const result = await runCli(["run", "e.json", `--provider-base-url=${baseUrl}`, ...args], {
    cwd: path,
  });
  assert.equal(result.code, 1, result.stdout + result.stderr);
  return { ...result, baseUrl, last: result.stdout.trimEnd().split("\n").at(-1) ?? "" };
}

const refusal = (status: number, message: string): Reply => ({
  status,
  raw: JSON.stringify({ error: { message, type: "invalid_request_error" } }),
});

describe("the last line", () => {
  it("of a 404 names task, model, address and the server's own words", async (t) => {
    const words = "The model `some-model` does not exist.";
    const { last, baseUrl, stdout } = await fail(t, () => refusal(404, words));
    assert.equal(
      last,
      `job j failed: task "look" crashed: The model server ${baseUrl} answered 404 for model "some-model": "The model \`some-model\` does not exist." Check the model id and the base URL: the server doesn't know one of them.`,
    );
    assert.match(stdout, /\[SESSION CRASHED\] Prompt: The model server/);
    assert.match(stdout, /\[DECISION\] .*Not retried: Check the model id/);
    assert.doesNotMatch(stdout, /attempt 1 of/);
  });

  for (const words of [
    "registry.ollama.ai/library/gemma:2b does not support tools",
    "Tool use is not supported by this model: tools are not supported",
    "This model doesn't support function calling",
  ]) {
    it(`says that the model doesn't support tools: ${words}`, async (t) => {
      const { last, stdout } = await fail(t, () => refusal(400, words));
      assert.match(last, /task "look".*model "some-model": this model does not support tools/);
      assert.match(last, /Choose a model that supports tools/);
      assert.match(stdout, /Not retried: /);
    });
  }

  it("of an overloaded server does not promise more attempts than there are", async (t) => {
    const { last, stdout } = await fail(t, () => ({
      ...refusal(503, "too busy"),
      headers: { "x-should-retry": "false" },
    }));
    const attempts = [...stdout.matchAll(/\[SESSION CRASHED\] Prompt, attempt (\d of \d)/g)];
    assert.deepEqual(
      attempts.map(([, of]) => of),
      ["1 of 3", "2 of 3", "3 of 3"],
    );
    assert.match(
      last,
      /answered 503 for model "some-model": "too busy"\. Gave up after 3 attempts\. Check the log/,
    );
  });

  it("of an empty answer names model, address, attempts and what to do", async (t) => {
    const { last, baseUrl, stdout } = await fail(t, () => ({ text: "" }));
    assert.equal(
      last,
      `job j failed: task "look" crashed: The model answered with nothing: neither text nor a tool call (model "some-model" of the model server ${baseUrl}). Gave up after 5 attempts. Check the log and the context length of the model server, or choose another model.`,
    );
    assert.match(stdout, /crashed 5 times in a row\. Check the log/);
  });

  it("of a silent model names model, address, and the field to raise", async (t) => {
    const { last, baseUrl } = await fail(t, () => ({ hang: "before" }), {
      limits: { idleMinutes: 0.02 },
    });
    assert.equal(
      last,
      `job j failed: task "look" crashed: The model "some-model" of the model server ${baseUrl} was silent for 1.2 s (limits.idleMinutes). Gave up after 5 attempts. Raise limits.idleMinutes (set by limits.idleMinutes of the entry) if the model needs longer to answer.`,
    );
  });

  it("of a limit says how much was used, and which field set it", async (t) => {
    const { last } = await fail(
      t,
      () => ({ toolCalls: [{ name: "job_prepare_document", arguments: { argument: "a" } }] }),
      { limits: { modelCalls: 3 } },
    );
    assert.match(
      last,
      /exceeded limits\.modelCalls \(3 model calls\), set by limits\.modelCalls of the entry$/,
    );
  });

  it("of a limit says which option set it", async (t) => {
    const { last } = await fail(t, () => ({ hang: "before" }), {
      limits: { jobMinutes: 5 },
      args: ["--timeout-minutes", "0.05"],
    });
    assert.match(last, /limits\.jobMinutes \(0\.05 minutes\), set by --timeout-minutes$/);
  });

  it("says what was waited for, when a limit ends the wait for a server that is down", async (t) => {
    const { path } = await makeWorkspace(t, { "e.json": entry() });
    const server = await startModelServer(() => ({ text: "hi" }));
    await server.close();
    const run = startCli(
      ["run", "e.json", `--provider-base-url=${server.baseUrl}`, "--timeout-minutes=0.3"],
      { cwd: path },
    );
    await run.printed("Can't connect to the model server");
    assert.doesNotMatch(run.output.stdout, /waiting for the model server/, "said before the end");
    const { code, stdout } = await run.ended;
    assert.equal(code, 1);
    const last = stdout.trimEnd().split("\n").at(-1) ?? "";
    assert.ok(
      last.endsWith(`waiting for the model server ${server.baseUrl}, attempt 1 of 5`),
      last,
    );
    assert.match(stdout, /Can't connect to the model server \S+: .*ECONNREFUSED/);
  });

  it("names the last error of the model server, when a limit ends the wait for a rate limit", async (t) => {
    const { path } = await makeWorkspace(t, { "e.json": entry() });
    const server = await startModelServer(() => ({
      status: 429,
      headers: { "retry-after": "300" },
    }));
    t.after(() => server.close());
    const { code, stdout } = await runCli(
      ["run", "e.json", `--provider-base-url=${server.baseUrl}`, "--timeout-minutes=0.1"],
      { cwd: path },
    );
    assert.equal(code, 1);
    assert.match(
      stdout.trimEnd().split("\n").at(-1) ?? "",
      /limits\.jobMinutes .*The last error was: The model server \S+ answered 429 for model "some-model": "scripted 429"\. Wait until the rate limit/,
    );
  });

  it("says what was waited for on a port that fetch blocks", async (t) => {
    const { path } = await makeWorkspace(t, { "e.json": entry() });
    const args = ["run", "e.json", "--provider-base-url=http://127.0.0.1:9/v1"];
    const { stdout } = await runCli([...args, "--timeout-minutes=0.3"], { cwd: path });
    assert.match(stdout, /Can't connect to the model server \S+:9\/v1: .*ECONNREFUSED/);
    assert.match(stdout, /waiting for the model server \S+:9\/v1, attempt 1 of 5$/m);
  });
});

describe("a tool call that did not work is visible without --verbose", () => {
  it("failed and denied", async (t) => {
    const { path } = await makeWorkspace(t, { "e.json": entry() });
    const server = await startModelServer(({ toolResults }) =>
      toolResults.length > 0
        ? { text: "Done." }
        : {
            toolCalls: [
              { name: "view", arguments: { path: `${path}/nothing-here.txt` } },
              { name: "no_such_tool", arguments: {} },
              { name: "view", arguments: { path: "/etc/passwd" } },
            ],
          },
    );
    t.after(() => server.close());
    const args = ["run", "e.json", `--provider-base-url=${server.baseUrl}`];
    const { stdout } = await runCli(args, { cwd: path });
    assert.match(stdout, /\[OPERATION\] Tool call view failed: Path does not exist/);
    assert.match(stdout, /\[OPERATION\] Tool call no_such_tool failed: /);
    assert.match(stdout, /\[OPERATION\] Denied read \/etc\/passwd/);
    assert.equal([...stdout.matchAll(/etc\/passwd/g)].length, 1, stdout);
  });
});
