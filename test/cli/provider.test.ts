/** How the model server is reached: headers, and a server that starts late. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { cliExits, type CliResult, runCli } from "../rig/cli.ts";
import { modelServer, type ModelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entry = (provider: object): string =>
  JSON.stringify({
    models: { driving: "m" },
    provider,
    tasks: { t: { prompt: "Say which key you have.", model: { category: "driving" } } },
    jobs: { job: { work: { kind: "Ref", taskId: "t" } } },
  });

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
      "e.rehearsal.yml":
        "entry: e.json\njob: job\nsessions: [{ task: t, turns: [{ text: Done. }] }]\n",
    });
    await cliExits(0, ["rehearse", "e.rehearsal.yml"], { cwd });
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
