/** Credits and prices from the model to what people and programs read. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { makeAccount } from "../rig/account.ts";
import { cliExits, runCli } from "../rig/cli.ts";
import { modelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entry = (more: string): string => `models: { driving: gpt-5 }
${more}
tasks: { a: { prompt: Say hello, model: { category: driving } } }
jobs: { j: { work: { kind: Seq, works: [{ kind: Ref, taskId: a }, { kind: Ref, taskId: a }] } } }
`;
const usage = { input: 1_000_000, output: 100_000, cached: 400_000 };

async function withCopilot(t: TestContext, more: string) {
  const { runtimePath } = await makeAccount(t, { "gpt-5": [125, 1000] }, () => ({
    text: "Hello!",
    nanoAiu: 12_400_000_000,
  }));
  const workspace = await makeWorkspace(t, {
    "e.yml": entry(`permissions: { preset: read-only, sandbox: off }\n${more}`),
  });
  const { path: cwd } = workspace;
  const env = { COPILOT_GITHUB_TOKEN: "gho_token" };
  const args = ["run", "e.yml", "--runtime-path", runtimePath, "--journal", "run.jsonl"];
  return { run: () => runCli(args, { cwd, env }), journal: () => workspace.read("run.jsonl") };
}

async function withServer(t: TestContext, more: string, prices?: string) {
  const server = await modelServer(t, () => ({ text: "Hello!", usage }));
  const { path: cwd } = await makeWorkspace(t, { "e.yml": entry(more) });
  const env: Record<string, string> = prices === undefined ? {} : { AGENT_JOBS_PRICES: prices };
  const args = ["run", "e.yml", "--provider-base-url", server.baseUrl];
  return { run: (...rest: string[]) => runCli([...args, ...rest], { cwd, env }), cwd, server };
}

function costOf(json: string): unknown {
  const run: { readonly cost: unknown } = JSON.parse(json);
  return run.cost;
}

describe("a job on GitHub Copilot", () => {
  it("is stopped at its limit in credits, and says its default limits where it has none", async (t) => {
    const free = await withCopilot(t, "");
    const { stdout, stderr, code } = await free.run();
    assert.equal(code, 0, stdout + stderr);
    assert.match(
      stdout,
      /job j started: 2 steps in .*; at most 20\.0M tokens and 1,000 credits \(10 USD\), by default/,
    );
    assert.match(await free.journal(), /"cost":12\.4,"nanoAiu":12400000000/);

    const limited = await withCopilot(t, "limits: { cost: 12.5, tokens: 1000000 }");
    const failed = await limited.run();
    assert.equal(failed.code, 1, failed.stdout);
    assert.ok(!failed.stdout.includes("by default"), failed.stdout);
    assert.match(
      failed.stdout,
      /exceeded limits\.cost \(12\.5 credits, 24\.8 used\), set by limits\.cost of the entry/,
    );
  });
});

const prices = (input: number): string => `{ input: ${input}, cached: 0.1, output: 2 }`;

describe("a job on a server with prices", () => {
  for (const [name, more, variable, credits] of [
    // 0.6 M × 1 USD + 0.4 M × 0.1 USD + 0.1 M × 2 USD = 0.84 USD for each of two calls.
    ["of the entry", `prices: { gpt-5: ${prices(1)} }`, undefined, 168],
    ["for all others", `prices: { default: ${prices(1)}, qwen: ${prices(9)} }`, undefined, 168],
    ["of the environment", "", '{"gpt-5":{"input":1,"output":2}}', 240],
    [
      "of both, of which the environment counts",
      `prices: { gpt-5: ${prices(9)} }`,
      '{"gpt-5":{"input":1,"output":2}}',
      240,
    ],
  ] as const) {
    it(`${name} costs tokens × price, in credits`, async (t) => {
      const { run } = await withServer(t, more, variable);
      const { stdout, stderr, code } = await run("--format", "json");
      assert.equal(code, 0, stderr);
      assert.equal(costOf(stdout), credits);
    });
  }

  it("has a limit of its cost like one on Copilot", async (t) => {
    const { run } = await withServer(t, `prices: { gpt-5: ${prices(1)} }\nlimits: { cost: 80 }`);
    const { stdout } = await run();
    assert.match(stdout, /exceeded limits\.cost \(80 credits, 84 used\)/);
  });

  it("does not start if the prices of the environment can't be read", async (t) => {
    const { run, server } = await withServer(t, "", '{"gpt-5":{"in":1}}');
    const { code, stderr } = await run();
    assert.equal(code, 2);
    assert.match(stderr, /AGENT_JOBS_PRICES must be JSON like `prices` of an entry\. .*gpt-5/);
    assert.equal(server.requests.length, 0);
  });

  it("costs nothing in a rehearsal", async (t) => {
    const { cwd } = await withServer(t, `prices: { default: ${prices(1)} }\nlimits: { cost: 1 }`);
    const script = `entry: e.yml
sessions: [{ repeat: 2, turns: [{ text: Hello!, usage: { input: 9000000, output: 1 } }] }]`;
    await writeFile(join(cwd, "r.rehearsal.yml"), script);
    const args = ["run", "e.yml", "--rehearse", "r.rehearsal.yml", "--format", "json"];
    const { stdout } = await cliExits(0, args, { cwd });
    assert.equal(costOf(stdout), 0);
  });
});

describe("a job on a server without prices", () => {
  it("has an unknown cost, and says so once if a limit was set for it", async (t) => {
    const { run } = await withServer(t, "limits: { cost: 1 }");
    const { stdout, stderr } = await run("--format", "json");
    assert.equal(costOf(stdout), null);
    const notes = stderr.match(/limits\.cost doesn't count the calls of gpt-5: it has no price/g);
    assert.equal(notes?.length, 1, stderr);
  });

  it("says nothing of a limit that nobody has set", async (t) => {
    const { run } = await withServer(t, "");
    const { stdout, code } = await run();
    assert.equal(code, 0);
    assert.ok(!stdout.includes("has no price"), stdout);
  });
});
