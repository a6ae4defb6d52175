/**
 * The last line of a run that failed says the cause, where it was, and what to do. Most of these runs wait, for a further
 * attempt or a limit, so they are processes that wait beside each other.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { startCli, type CliChild, type CliResult } from "../rig/cli.ts";
import { modelServer, startModelServer, type Reply, type Script } from "../rig/model-server.ts";
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

async function start(t: TestContext, baseUrl: string, limits: object, args: readonly string[]) {
  const { path: cwd } = await makeWorkspace(t, { "e.json": entry(limits) });
  const child = startCli(["run", "e.json", `--provider-base-url=${baseUrl}`, ...args], { cwd });
  t.after(() => child.kill());
  return child;
}

async function lastOf({ ended }: CliChild, baseUrl: string): Promise<Failed> {
  const result = await ended;
  assert.equal(result.code, 1, result.stdout + result.stderr);
  return { ...result, baseUrl, last: result.stdout.trimEnd().split("\n").at(-1) ?? "" };
}

async function fail(
  t: TestContext,
  script: Script,
  { limits = {}, args = [] }: { limits?: object; args?: readonly string[] } = {},
): Promise<Failed> {
  const server = await modelServer(t, script);
  return lastOf(await start(t, server.baseUrl, limits, args), server.baseUrl);
}

const refusal = (status: number, message: string): Reply => ({
  status,
  raw: JSON.stringify({ error: { message, type: "invalid_request_error" } }),
});

describe("the last line", { concurrency: true }, () => {
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

  it("of a silent model names model, address, and the field to raise", async (t) => {
    const { last, baseUrl } = await fail(t, () => ({ hang: "before" }), {
      limits: { idleMinutes: 0.02 },
    });
    assert.equal(
      last,
      `job j failed: task "look" crashed: The model "some-model" of the model server ${baseUrl} was silent for 1.2 s (limits.idleMinutes). Gave up after 5 attempts. Raise limits.idleMinutes (set by limits.idleMinutes of the entry) if the model needs longer to answer.`,
    );
  });

  it("says what was waited for, when a limit ends the wait for a server that is down", async (t) => {
    const server = await startModelServer(() => ({ text: "hi" }));
    await server.close();
    const run = await start(t, server.baseUrl, {}, ["--timeout-minutes=0.3"]);
    await run.printed("Can't connect to the model server");
    const { last, stdout } = await lastOf(run, server.baseUrl);
    const error = `. The last error was: can't connect to the model server ${server.baseUrl}`;
    assert.ok(last.endsWith(error), last);
    assert.match(stdout, /Can't connect to the model server \S+: .*ECONNREFUSED/);
  });

  it("names the last error of the model server, when a limit ends the wait for a rate limit", async (t) => {
    const { last } = await fail(t, () => ({ status: 429, headers: { "retry-after": "300" } }), {
      args: ["--timeout-minutes=0.17"],
    });
    assert.match(
      last,
      /limits\.jobMinutes \(0\.17 minutes\), set by --timeout-minutes.*The last error was: The model server \S+ answered 429 for model "some-model": "scripted 429"\. Wait until the rate limit/,
    );
  });

  it("has the failed and the denied tool calls above it, without --verbose", async (t) => {
    const { stdout } = await fail(t, ({ toolResults }) =>
      toolResults.length > 0
        ? refusal(404, "Gone.")
        : {
            toolCalls: [
              { name: "view", arguments: { path: "nothing-here.txt" } },
              { name: "no_such_tool", arguments: {} },
              { name: "view", arguments: { path: "/etc/passwd" } },
            ],
          },
    );
    assert.match(stdout, /\[OPERATION\] Tool call no_such_tool failed: /);
    assert.match(stdout, /\[OPERATION\] Denied read \/etc\/passwd/);
    assert.equal([...stdout.matchAll(/etc\/passwd/g)].length, 1, stdout);
  });
});
