/** MCP servers of an entry in whole runs of the command line, on the real runtime. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, test, type TestContext } from "node:test";
import { isRunning, sendSignal, waitUntilGone } from "../../src/platform/processes.ts";
import { everything, fixture, readsItself, until } from "../tools/mcp/rig.ts";
import { runCli, startCli, cliExits } from "../rig/cli.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { entryOf, scriptOf } from "./rig.ts";

const node = process.execPath;

interface Parts {
  readonly mcpServers: object;
  readonly tools: readonly string[];
  readonly calls?: readonly object[];
  readonly criteria?: object;
  readonly protocol?: string;
  /** The text of the last answer. */
  readonly answer?: object | string;
}

async function workspaceWith(
  t: TestContext,
  { mcpServers, tools, calls = [], answer = "Done.", ...task }: Parts,
): Promise<Workspace> {
  const replies = [...(calls.length === 0 ? [] : [{ tools: calls }]), answer];
  const ask = { prompt: "Ask the docs.", permissions: { tools }, ...task };
  const model = { category: "driving" };
  return makeWorkspace(t, {
    "e.json": entryOf({
      mcpServers,
      tasks: { a: { model, ...ask }, b: { model, prompt: "Say B." } },
      jobs: {
        job: { work: { kind: "Ref", taskId: "a" } },
        other: { work: { kind: "Ref", taskId: "b" } },
      },
    }),
    "r.json": scriptOf(replies, { job: "job" }),
    "other.json": scriptOf(["B"], { job: "other" }),
  });
}

const run = ["run", "e.json", "job", "--rehearse", "r.json", "--verbose", "--journal", "j.jsonl"];

test("an ordinary task calls a tool of a published server by its function", async (t) => {
  const workspace = await workspaceWith(t, {
    mcpServers: { all: { command: node, args: [everything, "stdio"], permissions: readsItself } },
    tools: ["all/echo", "all/trigger-long-running-operation"],
    calls: [
      { name: "all/trigger-long-running-operation", arguments: { duration: 1.5, steps: 2 } },
      { name: "all/echo", arguments: { message: "hello from the run" } },
      // The name that the model knows.
      { name: "all-echo", arguments: { message: "once more" } },
    ],
    criteria: { toolExecuted: ["all/echo"], failureAction: { retryTimes: 0 } },
  });
  const { stdout } = await cliExits(0, run, { cwd: workspace.path });
  assert.match(stdout, /#0 a tool all\/trigger-long-running-operation continues: 50 %/);
  const journal = readFileSync(join(workspace.path, "j.jsonl"), "utf8");
  assert.match(journal, /Echo: hello from the run/);
  assert.match(journal, /Echo: once more/);
  assert.match(journal, /"toolName":"all\/echo"/);
  assert.doesNotMatch(journal, /"toolName":"all-echo"/);
});

test("a call may take as long as its server's timeoutSeconds", async (t) => {
  const long = {
    name: "all/trigger-long-running-operation",
    arguments: { duration: 60, steps: 2 },
    fails: "longer than 2 s",
  };
  const all = {
    command: node,
    args: [everything, "stdio"],
    timeoutSeconds: 2,
    permissions: readsItself,
  };
  const { path: cwd } = await workspaceWith(t, {
    mcpServers: { all },
    tools: ["all/*"],
    calls: [long],
  });
  const { stdout } = await cliExits(0, run, { cwd });
  assert.match(stdout, /took longer than 2 s/);
});

describe("a server that can't be used", () => {
  it("says what its sandbox hides from it", { skip: withoutSandbox }, async (t) => {
    const workspace = await workspaceWith(t, { mcpServers: {}, tools: ["docs/*"] });
    const elsewhere = await makeWorkspace(t, {
      "server.mjs": "",
      "asks.sh": "echo 'getaddrinfo ENOTFOUND example.com' >&2; exit 3",
    });
    const entry = (docs: object): string =>
      entryOf({
        mcpServers: { docs },
        tasks: {
          a: { model: { category: "driving" }, prompt: "Ask.", permissions: { tools: ["docs/*"] } },
        },
        jobs: { job: { work: { kind: "Ref", taskId: "a" } } },
      });
    const ask = async (docs: object): Promise<string> => {
      writeFileSync(join(workspace.path, "e.json"), entry(docs));
      return (await cliExits(1, run, { cwd: workspace.path })).stdout;
    };
    const script = join(elsewhere.path, "server.mjs");
    assert.match(
      await ask({ command: node, args: [script] }),
      /The file \S+server\.mjs exists, but the sandbox hides it\. Allow its folder with `read`/,
    );
    const read = [`${elsewhere.path}/**`];
    assert.match(
      await ask({ command: "sh", args: [join(elsewhere.path, "asks.sh")], permissions: { read } }),
      /Name those that it needs in `hosts`/,
    );
    assert.match(
      await ask({ command: node, args: ["--no-warnings", "here.mjs"], permissions: readsItself }),
      /The server started in an empty folder, .* for example `\.\/here\.mjs`/,
    );
  });

  const why =
    /The MCP server docs can't be used\. The server ended: exit code 7\..*Can't open the/s;
  const docs = { command: node, args: [fixture, "exits"], permissions: readsItself };

  for (const protocol of [{}, { protocol: "actions" }]) {
    it(`fails the run before its model is asked: ${JSON.stringify(protocol)}`, async (t) => {
      const { path: cwd } = await workspaceWith(t, {
        mcpServers: { docs },
        tools: ["docs/*"],
        ...protocol,
      });
      const { stdout } = await cliExits(1, run, { cwd });
      assert.match(lastLine(stdout), why);
      assert.doesNotMatch(stdout, /said:/);
      const journal = readFileSync(join(cwd, "j.jsonl"), "utf8");
      assert.match(lastLine(journal), /"type":"run\.ended".*The MCP server docs can't be used/);
    });
  }
});

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}

describe("a variable of an MCP server", () => {
  const secret = "s3cr3t-of-the-docs";
  const docs = {
    command: node,
    args: [fixture, "secret"],
    env: { GIVEN: "env:DOCS_VALUE" },
    permissions: readsItself,
  };
  const parts: Parts = {
    mcpServers: { docs },
    tools: ["docs/call"],
    calls: [{ name: "docs-call", arguments: {} }],
  };

  it("must be allowed and set, or there is no run", async (t) => {
    const { path: cwd } = await workspaceWith(t, parts);
    for (const [value, args, why] of [
      [secret, [], /The MCP server "docs" needs .* DOCS_VALUE\. Allow it with --env\./],
      ["", ["--env", "DOCS_VALUE"], /"docs" needs .* DOCS_VALUE, which --env allows, but it is/],
    ] as const) {
      const { stderr } = await cliExits(2, [...run, ...args], { cwd, env: { DOCS_VALUE: value } });
      assert.match(stderr, why);
      assert.equal(existsSync(join(cwd, "j.jsonl")), false);
    }
  });

  it("is not asked for by a job that can't call the server, nor under a ceiling without servers", async (t) => {
    const { path: cwd } = await workspaceWith(t, parts);
    await cliExits(0, "run e.json other --rehearse other.json", { cwd });
    const under = await runCli([...run, "--permissions", "workspace"], { cwd });
    assert.doesNotMatch(under.stderr, /DOCS_VALUE/);
  });

  it("reaches the server, and is masked in everything that leaves the run", async (t) => {
    const { path: cwd } = await workspaceWith(t, parts);
    const env = { DOCS_VALUE: secret };
    const { stdout, stderr } = await cliExits(0, [...run, "--env", "DOCS_VALUE"], { cwd, env });
    const journal = readFileSync(join(cwd, "j.jsonl"), "utf8");
    assert.match(journal, /docs-call|docs\/call/);
    assert.doesNotMatch(journal, /none/);
    for (const text of [stdout, stderr, journal]) assert.doesNotMatch(text, /s3cr3t/);
    // An entry may be given variables for its servers without a warning about prompts.
    assert.doesNotMatch(stdout + stderr, /Workflows may read/);
  });
});

test("a server that ignores SIGTERM outlives SIGKILL of the run, and is ended by the next run", async (t) => {
  // The run works in a copy of its folder. Nobody else looks for leftovers in its temporary folder.
  const { path: TMPDIR } = await makeWorkspace(t);
  const file = join(TMPDIR, "log");
  // In a sandbox, the system ends it with the run.
  const permissions = { sandbox: "off" };
  const docs = { command: node, args: [fixture, "stubborn", file], permissions };
  const parts = { mcpServers: { docs }, tools: ["docs/*"], answer: { hang: true } };
  const { path: cwd } = await workspaceWith(t, parts);
  const options = { cwd, env: { TMPDIR } };
  const child = startCli(run, options);
  t.after(() => child.kill());
  await until(() => existsSync(file) && readFileSync(file, "utf8").includes("child"));
  const pids = pidsIn(file);
  t.after(() => {
    for (const pid of pids) sendSignal(pid, "SIGKILL");
  });
  assert.equal(pids.length, 2);
  child.signal("SIGKILL");
  await child.ended;
  assert.ok(pids.every(isRunning));
  await runCli("run e.json other --rehearse other.json", options);
  assert.ok(await waitUntilGone(pids, 30_000));
});

function pidsIn(file: string): readonly number[] {
  const lines = readFileSync(file, "utf8").matchAll(/^(?:start|child) (\d+)$/gm);
  return [...lines].map(([, pid]) => Number(pid));
}

test("a program that never closes its host ends, and so does its server", async (t) => {
  const { path: cwd } = await makeWorkspace(t);
  const servers = new URL("../../src/tools/mcp/servers.js", import.meta.url).href;
  const log = join(cwd, "log");
  const program = `
    import { McpServers } from ${JSON.stringify(servers)};
    const options = { environment: process.env, redactor: { text: (text) => text }, version: "1" };
    const run = new McpServers(options).forRun({ workingDirectory: ".", variables: {} });
    const declaration = ${JSON.stringify({ command: node, args: [fixture, "stubborn", log] })};
    const found = await run.toolsOf("docs", declaration, new AbortController().signal);
    console.log(found.kind);`;
  // Where nobody else looks for leftovers.
  const env = { PATH: process.env["PATH"], TMPDIR: cwd };
  const child = spawn(node, ["--input-type=module", "-e", program], { cwd, env });
  t.after(() => child.kill("SIGKILL"));
  await once(child, "exit");
  const pids = pidsIn(log);
  t.after(() => {
    for (const pid of pids) sendSignal(pid, "SIGKILL");
  });
  assert.equal(pids.length, 2);
  assert.ok(await waitUntilGone(pids, 30_000));
});

test("tools of a server that are not offered are only reported, as a server that is not required, and one that is can be tried alone", async (t) => {
  const docs = {
    command: node,
    args: [fixture, "none"],
    tools: ["call", "coll"],
    permissions: readsItself,
  };
  const unset = { ...docs, env: { GIVEN: "env:DOCS_VALUE" }, required: false };
  const { path: cwd } = await workspaceWith(t, {
    mcpServers: { docs, unset },
    tools: ["docs/*", "unset/*"],
  });
  const { stdout } = await cliExits(0, run, { cwd });
  assert.match(stdout, /\[OPERATION\] MCP server unset: .*variable DOCS_VALUE/);
  assert.match(stdout, /MCP server docs: Not offered: "coll": the server has no such tool\./);
  const tried = await cliExits(0, "tool call docs/call {} --entry e.json", {
    cwd,
  });
  assert.match(tried.stdout, /done/);
});

/** A call of `open` changes what it requires itself, and replaces the tool `early` by `late`. */
const docs = { command: process.execPath, args: [fixture, "replaces"], permissions: readsItself };

/** Returns the journal of a run that succeeds. */
async function succeeds(
  t: TestContext,
  task: object,
  replies: readonly unknown[],
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const isFlow = "agentTools" in task;
  const work = isFlow ? { kind: "Flow", file: "a.wf.md" } : { kind: "Ref", taskId: "a" };
  const session = { ...(isFlow ? { activity: "PROMPT_1" } : {}), turns: replies };
  const { path: cwd } = await makeWorkspace(t, {
    "e.json": entryOf({ mcpServers: { docs }, jobs: { job: { work } } }, isFlow ? {} : task),
    "r.json": scriptOf([], { job: "job", sessions: [session] }),
    ...more,
  });
  const args = ["run", "e.json", "job", "--rehearse", "r.json", "--journal", "j.jsonl"];
  await cliExits(0, args, { cwd });
  return readFileSync(join(cwd, "j.jsonl"), "utf8");
}

const call = (name: string, more: object = {}): object => ({ name, arguments: {}, ...more });

const replies = [
  { tools: [call("docs/open")] },
  {
    tools: [
      call("docs/late"),
      call("docs-late"),
      call("docs/open"),
      call("docs-early", { unknown: true, fails: "does not exist" }),
    ],
  },
  { toolResults: { contains: ["late was called"] }, text: "Done." },
];

test("the next answer of a task can call what a server has by now, and no longer what it had", async (t) => {
  const permissions = { tools: ["docs/*"] };
  const criteria = { toolExecuted: ["docs/late"], failureAction: { retryTimes: 0 } };
  const journal = await succeeds(t, { permissions, criteria }, [{ replies }]);
  assert.match(journal, /"toolName":"docs\/late"/);
});

test("so can the agent of a workflow", async (t) => {
  const settings = {
    agentTools: ["docs/*"],
    permissions: { tools: ["docs/*"] },
    mcpServers: { docs },
  };
  const chart = "```mermaid\nflowchart TD\nSTART --> PROMPT_1['one']\n```";
  const file = `---\n${JSON.stringify(settings)}\n---\n# Workflow\n\n${chart}\n\n# Prompts\n`;
  await succeeds(t, settings, [{ replies }], { "a.wf.md": file });
});

test("the permissions decide about a tool that a server has by now", async (t) => {
  const denied = [
    { tools: [call("docs/open")] },
    { tools: [call("docs-late", { unknown: true, fails: "does not exist" })] },
    "Done.",
  ];
  await succeeds(t, { permissions: { tools: ["docs/open"] } }, [{ replies: denied }]);
});

test("the next prompt of a task with the action protocol names what has come, changed and gone", async (t) => {
  const act = (...actions: readonly string[]): string =>
    JSON.stringify({
      status: "EXECUTING",
      thoughts: [],
      actions: actions.map((action) => ({ action, type: "tool", params: {} })),
      stop: false,
      response: null,
    });
  const done = { status: "SUCCESS", thoughts: [], actions: null, stop: true, response: "Done." };
  const changed =
    'Tools that are new, or have changed:\\n- .*"docs/open".*"door".*\\n- .*"docs/late".*\\n\\nTools that are gone: \\["docs/early"\\]';
  await succeeds(t, { protocol: "actions", permissions: { tools: ["docs/*"] } }, [
    act("docs/open"),
    { prompt: { matches: changed }, text: act("docs/late", "docs/early") },
    { prompt: { matches: 'Unknown tool \\\\"docs/early' }, text: act("docs/late", "docs/late") },
    { prompt: { matches: "late was called" }, text: JSON.stringify(done) },
  ]);
});
