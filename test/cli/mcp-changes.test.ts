/** A server that changes its tools while a task calls them, in whole runs of the command line. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { fixture, readsItself } from "../tools/mcp/rig.ts";
import { runCli } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

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
  const entry = {
    models: { driving: "gpt-5-mini" },
    mcpServers: { docs },
    tasks: { a: { model: { category: "driving" }, prompt: "Open.", ...(isFlow ? {} : task) } },
    jobs: {
      job: { work: isFlow ? { kind: "Flow", file: "a.wf.md" } : { kind: "Ref", taskId: "a" } },
    },
  };
  const session = { ...(isFlow ? { activity: "PROMPT_1" } : {}), turns: replies };
  const { path: cwd } = await makeWorkspace(t, {
    "e.json": JSON.stringify(entry),
    "r.json": JSON.stringify({ entry: "e.json", job: "job", sessions: [session] }),
    ...more,
  });
  const args = ["run", "e.json", "job", "--rehearse", "r.json", "--journal", "j.jsonl"];
  const { code, stdout, stderr } = await runCli(args, { cwd });
  assert.equal(code, 0, stdout + stderr);
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
