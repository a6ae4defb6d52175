/** Whole steps of entries that declare programs: which of them are started where another commit is checked out. */
import assert from "node:assert/strict";
import { chmod, readFile, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import { declaredPrograms, mayRunCommands } from "../../src/action/job-bounds.ts";
import { mayChangeFiles } from "../../src/run/callers.ts";
import { loadEntry } from "../../src/run/entry-files.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { fixture, readsItself } from "../tools/mcp/rig.ts";
import { workflowText } from "../workflow/rig.ts";
import { assertNothingRan, named, type Test, type Tried, tryEvent } from "./rig.ts";

const node = process.execPath;
const parameters = { type: "object" };

interface Declared {
  readonly tools?: Readonly<Record<string, object>>;
  readonly mcpServers?: object;
  readonly allowed?: readonly string[];
  readonly permissions?: object | string;
  /** Instead of the entry, a workflow of the job declares them. */
  readonly inWorkflow?: boolean;
}

function filesOf({ tools = {}, mcpServers = {}, allowed, permissions, inWorkflow }: Declared) {
  const names = allowed ?? [...Object.keys(tools), ...Object.keys(mcpServers).map((n) => `${n}/*`)];
  const [first = ""] = names;
  const tool = first.replace("/*", "/call");
  const described = Object.entries(tools).map(([name, declaration]) => [
    name,
    { description: "d", parameters, ...declaration },
  ]);
  const declared = { tools: Object.fromEntries(described), mcpServers };
  const settings = { ...declared, agentTools: names, permissions: { tools: names, write: ["**"] } };
  const entry = {
    models: { driving: "gpt-5-mini" },
    ...(inWorkflow === true ? {} : declared),
    tasks: {
      a: {
        model: { category: "driving" },
        prompt: "Go",
        permissions: permissions ?? { tools: names, write: ["**"] },
      },
    },
    jobs: {
      job: {
        work:
          inWorkflow === true ? { kind: "Flow", file: "a.wf.md" } : { kind: "Ref", taskId: "a" },
      },
    },
  };
  const calls = tool === "" ? [] : [{ name: tool.replace("/", "-"), arguments: {} }];
  const files = {
    "e.json": JSON.stringify(entry),
    "a.wf.md": `---\n${JSON.stringify(settings)}\n---\n${workflowText("START --> PROMPT_1['Go']")}`,
    "scripts/x.mjs": 'import fs from "node:fs"; fs.writeFileSync("ran", "base");\n',
    "package.json": '{ "scripts": { "test": "echo base > ran" } }\n',
  };
  return { files, calls };
}

/** Each program of it leaves `ran`. */
const theirs = {
  "scripts/x.mjs": 'import fs from "node:fs"; fs.writeFileSync("ran", "evil");\n',
  "package.json": '{ "scripts": { "test": "echo evil > ran" } }\n',
  "server/index.js": 'require("node:fs").writeFileSync(`${__dirname}/../ran`, "evil");\n',
  "run-me": "#!/bin/sh\necho evil > ran\n",
};

/** The base as `main`, and a fork's commit as `fork`, which is checked out. */
async function forked(t: Test, declared: Declared) {
  const { files, calls } = filesOf(declared);
  const workspace = await makeRepository(t, files);
  const sha = (await workspace.git("rev-parse", "HEAD")).trim();
  await workspace.git("checkout", "--quiet", "-b", "fork");
  for (const [name, text] of Object.entries(theirs)) await workspace.write(name, text);
  await chmod(join(workspace.path, "run-me"), 0o755);
  await workspace.git("add", ".");
  await workspace.git("commit", "--quiet", "--message=Theirs");
  const named = Object.entries(files).map(([name, text]) => [`${sha}:${name}`, text] as const);
  const github = {
    permissions: { maintainer: "write", stranger: "write" },
    files: Object.fromEntries(named),
  };
  const step = (event = "workflow-dispatch") =>
    tryEvent(t, event, {
      workspace,
      github,
      env: { GITHUB_SHA: sha },
      given: { entry: "e.json", "user-input": "", "output-dir": "out" },
      calls,
    });
  return { workspace, sha, step };
}

function ran(workspace: Workspace): Promise<string> {
  return readFile(join(workspace.path, "ran"), "utf8").catch(() => "nothing");
}

function assertRefused(tried: Tried, pattern: RegExp): void {
  assertNothingRan(tried, "failure");
  assert.match(tried.result.outputs["reason"] ?? "", pattern);
}

describe("where another commit is checked out", () => {
  it("no tool of the entry is started, whatever its command is", async (t) => {
    const tools = { x: { command: ["npm", "test"] } };
    const { workspace, sha, step } = await forked(t, { tools });
    assertRefused(await step(), new RegExp(`not at ${sha}.*\`tools.x\`.*Check out ${sha}`));
    assert.equal(await ran(workspace), "nothing");
  });

  it("no tool or server of a workflow is started, where its front matter declares it", async (t) => {
    const tools = { x: { command: ["node", "scripts/x.mjs"] } };
    const { workspace, sha, step } = await forked(t, { tools, inWorkflow: true });
    assertRefused(await step(), new RegExp(`not at ${sha}.*\`tools.x\`.*Check out ${sha}`));
    assert.equal(await ran(workspace), "nothing");
    await workspace.git("checkout", "--quiet", "--force", "main");
    const { result } = await step();
    assert.equal(result.code, 0, result.raw);
    assert.equal(await ran(workspace), "base");
    const mcpServers = { s: { command: node, args: ["scripts/x.mjs"] } };
    const served = await forked(t, { mcpServers, inWorkflow: true });
    assertRefused(await served.step(), /`mcpServers.s` names scripts\/x.mjs/);
    assert.equal(await ran(served.workspace), "nothing");
  });

  it("a server that is, or loads, a file of the checkout is not started, by its name or through a link", async (t) => {
    const { path } = await makeWorkspace(t);
    const link = join(path, "checkout");
    for (const [found, command, ...args] of [
      ["run-me", "./run-me"],
      ["scripts/x.mjs", node, "-r", "./scripts/../scripts/x.mjs"],
      ["server/index", node, `${link}/server/index`],
      ["scripts/x.mjs", node, `--import=${link}/scripts/x.mjs`, fixture, "where"],
    ]) {
      const { workspace, step } = await forked(t, { mcpServers: { s: { command, args } } });
      await rm(link, { force: true });
      await symlink(workspace.path, link);
      assertRefused(
        await step(),
        new RegExp(`mcpServers.s. names \\S*${found}, which is in the checkout`),
      );
      assert.equal(await ran(workspace), "nothing");
    }
  });

  it("any other server starts in an empty folder, where nothing of the checkout is", async (t) => {
    const mcpServers = { s: { command: node, args: [fixture, "where"], permissions: readsItself } };
    const { workspace, step } = await forked(t, { mcpServers });
    const { result } = await step();
    assert.equal(result.code, 0, result.raw);
    const journal = await workspace.read("out/journal.jsonl");
    assert.match(journal, /entries: (?!.*e\.json)/);
  });

  it("the step warns that commands may run its files", async (t) => {
    for (const [permissions, expected] of [
      [{ shell: ["npm test"] }, 1],
      ["read-only", 0],
    ] as const) {
      const { result } = await (await forked(t, { permissions })).step();
      assert.equal(result.code, 0, result.raw);
      const warnings = named(result, "warning").filter(({ message }) => /npm test/.test(message));
      assert.equal(warnings.length, expected, result.raw);
    }
  });
});

describe("at the commit of the event", () => {
  it("tools are started, also for an event about a fork", async (t) => {
    const tools = { x: { command: ["node", "scripts/x.mjs"] } };
    const { workspace, step } = await forked(t, { tools });
    await workspace.git("checkout", "--quiet", "--force", "main");
    const { result } = await step("pull-request-target");
    assert.equal(result.code, 0, result.raw);
    assert.equal(await ran(workspace), "base");
  });
});

test("a job may do what the tasks may do that its own may delegate to", () => {
  const tool = { description: "d", parameters: { type: "object" }, command: ["node", "x.mjs"] };
  const task = { model: { category: "driving" }, prompt: "Go" };
  const jobNames = ["delegates", "alone"];
  const loaded = loadEntry(
    JSON.stringify({
      models: { driving: "m" },
      tools: { x: tool },
      mcpServers: { s: { command: "npx", args: ["s"] }, web: { url: "https://example.com/mcp" } },
      tasks: {
        boss: { ...task, protocol: "actions" },
        reader: task,
        worker: { ...task, permissions: { preset: "workspace", tools: ["x", "s/*", "web/*"] } },
      },
      jobs: {
        delegates: { work: { kind: "Ref", taskId: "boss" } },
        alone: { work: { kind: "Ref", taskId: "reader" } },
        worker: { work: { kind: "Ref", taskId: "worker" } },
      },
    }),
    "e.json",
  );
  if (loaded.kind === "rejected") assert.fail(JSON.stringify(loaded.diagnostics));
  const seen = jobNames.map((jobName) => {
    const job = {
      entry: loaded.entry,
      jobName,
      permissions: undefined,
      loaded: { ...loaded, file: "e.json", flows: {} },
    };
    return [
      declaredPrograms(job),
      mayRunCommands(job),
      mayChangeFiles(loaded.entry, jobName, undefined),
    ];
  });
  assert.deepEqual(seen, [
    [
      [
        { kind: "tool", field: "tools.x" },
        { kind: "server", field: "mcpServers.s", command: ["npx", "s"] },
      ],
      true,
      true,
    ],
    [[], false, false],
  ]);
});
