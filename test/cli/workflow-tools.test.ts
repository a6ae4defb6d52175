/** Tools and MCP servers of Markdown workflows, in whole runs of the command line on the real runtime. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { everything, fixture, readsItself } from "../tools/mcp/rig.ts";
import { runCli, cliExits } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";

const node = process.execPath;

/** A tool that says its name and what it is given. */
function tool(name: string): object {
  const program = `process.stdin.on("data", (d) => console.log("${name} got " + d))`;
  const parameters = { type: "object", properties: { target: { type: "string" } } };
  return { description: `The tool ${name}.`, parameters, command: [node, "-e", program] };
}

const all = { command: node, args: [everything, "stdio"], permissions: readsItself };
/** It can't be started, and the run says so wherever something tries. */
const broken = { command: node, args: [fixture, "exits"], permissions: readsItself };

function workflow(
  settings: object,
  flowchart = "START --> PROMPT_1['one'] --> PROMPT_2['two']",
): string {
  return `---\n${JSON.stringify(settings)}\n---\n${workflowText(flowchart)}`;
}

const call = (name: string, more: object = {}): object => ({ name, arguments: {}, ...more });

/** A turn of an activity that makes calls, and the texts that their results must contain. */
function calling(activity: string, calls: readonly object[], contains: readonly string[]): object {
  const replies = [{ tools: calls }, { toolResults: { contains }, text: "Done." }];
  return { activity, turns: [{ replies }] };
}

function answering(activity: string): object {
  return { activity, turns: ["Done."] };
}

function rehearsal(entry: string, ...sessions: readonly object[]): string {
  return JSON.stringify({ entry, sessions });
}

const secret = "s3cr3t-of-the-docs";
const docs = {
  command: node,
  args: [fixture, "secret"],
  env: { GIVEN: "env:DOCS_VALUE" },
  permissions: readsItself,
};

describe("a workflow of an entry", () => {
  const entryWith = (more: object): string =>
    JSON.stringify({
      models: { driving: "gpt-5-mini" },
      tools: { build: tool("build"), other: tool("other") },
      mcpServers: { all, broken },
      permissions: { tools: ["*", "!other"] },
      tasks: {},
      jobs: { job: { work: { kind: "Flow", file: "a.wf.md" } } },
      ...more,
    });

  it("calls the tools of the entry that agentTools names and the permissions allow, also from its recording", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "e.json": entryWith({}),
      "a.wf.md": workflow({ agentTools: ["build", "other", "all/*"] }),
      "r.json": rehearsal(
        "e.json",
        calling(
          "PROMPT_1",
          [
            call("build", { arguments: { target: "docs" } }),
            call("all/echo", { arguments: { message: "hello" } }),
            call("other", { unknown: true, fails: "does not exist" }),
          ],
          ['build got {"target":"docs"}', "Echo: hello"],
        ),
        answering("PROMPT_2"),
      ),
    });
    const run = ["run", "e.json", "--rehearse", "r.json", "--record", "again.json", "--verbose"];
    const { stdout } = await cliExits(0, run, { cwd });
    // Nothing has tried the server that agentTools doesn't name.
    assert.doesNotMatch(stdout, /broken|exit code 7/);
    await cliExits(0, "rehearse again.json", { cwd });
    assert.match(readFileSync(join(cwd, "again.json"), "utf8"), /"all\/echo"/);
  });

  it("has tools of its own, which no task has, and a server whose secret no program of the checkout gets", async (t) => {
    const print = "process.stdin.resume(); console.log('given ' + process.env.DOCS_VALUE)";
    const { path: cwd } = await makeWorkspace(t, {
      "e.json": entryWith({
        tools: { build: { description: "d", parameters: {}, command: [node, "-e", print] } },
        mcpServers: {},
        tasks: { a: { model: { category: "driving" }, prompt: "Build." } },
        jobs: {
          job: {
            work: {
              kind: "Seq",
              works: [
                { kind: "Ref", taskId: "a" },
                { kind: "Flow", file: "a.wf.md" },
              ],
            },
          },
        },
      }),
      "a.wf.md": workflow(
        {
          agentTools: ["build", "docs/call"],
          tools: { build: tool("own"), more: tool("more") },
          mcpServers: { docs },
          permissions: { tools: ["build", "docs/*"], shell: true },
        },
        "START --> PROMPT_1['one'] --> EXECUTE_1[Execute: echo \"has $DOCS_VALUE\"] --> PROMPT_2['{{RESULT}}']",
      ),
      "r.json": rehearsal(
        "e.json",
        calling("", [call("build")], ["given undefined"]),
        calling("PROMPT_1", [call("build"), call("docs/call")], ["own got", '"***"']),
        { activity: "PROMPT_2", turns: [{ prompt: { matches: "\nhas\\s*$" }, text: "Done." }] },
      ).replace('"activity":"",', '"task":"a",'),
    });
    const run = ["run", "e.json", "--rehearse", "r.json", "--journal", "j.jsonl"];
    const without = await cliExits(2, run, { cwd });
    assert.match(
      without.stderr,
      /The MCP server "docs" needs .* DOCS_VALUE\. Allow it with --env\./,
    );
    const env = { DOCS_VALUE: secret };
    const { stdout, stderr } = await cliExits(0, [...run, "--env", "DOCS_VALUE"], { cwd, env });
    const journal = readFileSync(join(cwd, "j.jsonl"), "utf8");
    for (const text of [stdout, stderr, journal]) assert.doesNotMatch(text, /s3cr3t|Workflows may/);
  });
});

describe("a workflow with tools in its front matter", () => {
  const settings = {
    model: "gpt-5-mini",
    tools: { build: tool("build") },
    mcpServers: { all },
    agentTools: ["build", "all/echo", "view"],
    permissions: { tools: ["build", "all/*"] },
  };

  it("goes on with them after an interruption, in the conversation so far", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "a.wf.md": workflow(
        settings,
        "START --> PROMPT_1['one'] --> ASK_A['go on?'] --> PROMPT_2['two']",
      ),
      "1.json": rehearsal("a.wf.md", calling("PROMPT_1", [call("build")], ["build got {}"])),
      "2.json": rehearsal(
        "a.wf.md",
        calling(
          "PROMPT_2",
          [call("build"), call("all/echo", { arguments: { message: "hello" } })],
          ["build got {}", "Echo: hello"],
        ),
      ),
    });
    const run = ["run", "a.wf.md", "--rehearse"];
    const first = await cliExits(1, [...run, "1.json", "--journal", "1.jsonl"], { cwd });
    assert.match(first.stderr + first.stdout, /ASK_A has no answer/);
    const resume = ["--resume", "1.jsonl", "--answer", "ASK_A=yes"];
    await cliExits(0, [...run, "2.json", ...resume], { cwd });
  });

  it("fails where a server can't be started", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "a.wf.md": workflow(
        {
          model: "gpt-5-mini",
          mcpServers: { broken },
          agentTools: ["broken/*"],
          permissions: { tools: ["broken/*"] },
        },
        "START --> PROMPT_1['one']",
      ),
      "r.json": rehearsal("a.wf.md", answering("PROMPT_1")),
    });
    const failed = await cliExits(1, "run a.wf.md --rehearse r.json", { cwd });
    assert.match(
      failed.stdout,
      /PROMPT_1 failed .*The MCP server broken can't be used.*exit code 7/,
    );
  });

  it("keeps its own tools under a ceiling where commands may run, without its servers", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "a.wf.md": workflow(settings, "START --> PROMPT_1['one']"),
      "r.json": rehearsal(
        "a.wf.md",
        calling(
          "PROMPT_1",
          [call("build"), call("all/echo", { unknown: true, fails: "does not exist" })],
          ["build got {}"],
        ),
      ),
    });
    const under = ["run", "a.wf.md", "--rehearse", "r.json", "--permissions", "workspace"];
    await cliExits(0, under, { cwd });
    const list = await runCli("list a.wf.md", { cwd });
    assert.match(list.stdout, /^TOOLS +build, all\/echo, view$/m);
  });

  it("is told where a name is wrong, or a tool is out of reach", async (t) => {
    const text = (frontMatter: string): string =>
      `---\n${frontMatter}---\n${workflowText("START --> PROMPT_1['one']")}`;
    const tools = (command: string): string =>
      `tools:\n  build: { description: Builds., parameters: { type: object }, command: ${command} }\n`;
    const { path: cwd } = await makeWorkspace(t, {
      "names.wf.md": text(
        `${tools("[make]")}mcpServers:\n  docs: { url: http://127.0.0.1:1/, tools: [search] }\n` +
          "agentTools: [veiw, dcos/search, docs/serach, docs/search, docs]\npermissions: { tools: [buidl] }\n",
      ),
      "fields.wf.md": text(
        "tools:\n  view: { description: d, parameters: { type: 3 }, module: ../x.ts }\nagentTools: [view]\n",
      ),
      "pattern.wf.md": text('agentTools: ["b*"]\nmcpServers: { docs: { command: npx docs } }\n'),
      // Whose tool it is makes no difference for a workflow of an entry.
      "e.yml":
        "models: { driving: m }\ntasks: { a: { prompt: Go, model: { category: driving } } }\n" +
        `${tools("[make]")}jobs:\n  j: { work: { kind: Seq, works: [{ kind: Ref, taskId: a }, { kind: Flow, file: a.wf.md }] } }\n`,
      "a.wf.md": text("agentTools: [build]\npermissions: { tools: [build] }\n"),
    });
    const lines = async (...files: string[]): Promise<readonly string[]> =>
      (await runCli(["validate", ...files], { cwd })).stdout.trim().split("\n");
    assert.deepEqual(
      await lines("e.yml", "names.wf.md", "fields.wf.md", "pattern.wf.md", "a.wf.md"),
      [
        "e.yml: valid",
        "names.wf.md: valid",
        "a.wf.md: valid",
        'names.wf.md:3:10: warning: tools["build"]: No agent is offered this tool. (name it in agentTools: [build])',
        'names.wf.md:6:14: warning: agentTools[0]: There is no tool "veiw". (did you mean "view"?)',
        'names.wf.md:6:20: warning: agentTools[1]: There is no MCP server "dcos". (did you mean "docs"?)',
        'names.wf.md:6:33: warning: agentTools[2]: The tools of the MCP server "docs" don\'t include "serach". (did you mean "search"?)',
        'names.wf.md:6:46: warning: agentTools[3]: The agents may not call "docs/search": permissions.tools doesn\'t allow it. (name it in permissions: { tools: ["docs/search"] })',
        'names.wf.md:6:59: warning: agentTools[4]: There is no tool "docs". (write "docs/*" for the tools of this server)',
        'names.wf.md:7:24: warning: permissions.tools[0]: There is no tool "buidl". (did you mean "build"?)',
        'fields.wf.md:3:9: tools["view"]: This name is reserved: it is a tool of the Copilot runtime.',
        'fields.wf.md:3:47: tools["view"].parameters.type: Must be text or a list, not 3.',
        'fields.wf.md:3:60: tools["view"].module: Must be a path within the working directory, relative to it.',
        "pattern.wf.md:2:14: agentTools[0]: Is not a valid pattern: a star must stand alone, or for all tools of a server (server/*).",
        'pattern.wf.md:3:32: warning: mcpServers["docs"].command: This is taken as the name of one program: no shell splits it into words. (list its arguments separately)',
        'a.wf.md:2:14: warning: agentTools[0]: There is no tool "build".',
        'a.wf.md:3:24: warning: permissions.tools[0]: There is no tool "build".',
      ],
    );
  });
});
