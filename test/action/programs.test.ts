/** Whole steps of entries that declare programs: which of them are started where another commit is checked out. */
import assert from "node:assert/strict";
import { chmod, readFile, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fixture, readsItself } from "../tools/mcp/rig.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";
import { assertNothingRan, tryEvent, type Test, type Tried } from "./rig.ts";

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
  const replies = [...(tool === "" ? [] : [{ tools: [{ name: tool, arguments: {} }] }]), "Done."];
  return {
    "e.json": JSON.stringify(entry),
    "r.rehearsal.json": JSON.stringify({ entry: "e.json", sessions: [{ turns: [{ replies }] }] }),
    "a.wf.md": `---\n${JSON.stringify(settings)}\n---\n${workflowText("START --> PROMPT_1['Go']")}`,
    "scripts/x.mjs": 'import fs from "node:fs"; fs.writeFileSync("ran", "base");\n',
    "package.json": '{ "scripts": { "test": "echo base > ran" } }\n',
  };
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
  const files = filesOf(declared);
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
  const step = (
    more: {
      event?: string;
      given?: Readonly<Record<string, string>>;
      env?: Readonly<Record<string, string>>;
    } = {},
  ) =>
    tryEvent(t, more.event ?? "workflow-dispatch", {
      workspace,
      github,
      env: { GITHUB_SHA: sha, ...more.env },
      given: {
        entry: "e.json",
        rehearse: "r.rehearsal.json",
        "provider-base-url": "",
        "provider-api-key": "",
        "in-place": "true",
        journal: "journal.jsonl",
        ...more.given,
      },
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
    const { workspace, sha, step } = await forked(t, {
      tools: { x: { command: ["npm", "test"] } },
    });
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

  it("a server that is a file of the checkout is not started, by its name or through a link", async (t) => {
    for (const [command, ...args] of [["./run-me"], [node, "-r", "./scripts/../scripts/x.mjs"]]) {
      const { workspace, step } = await forked(t, { mcpServers: { s: { command, args } } });
      assertRefused(await step(), /`mcpServers.s` names (?:scripts\/x.mjs|run-me)/);
      assert.equal(await ran(workspace), "nothing");
    }
  });

  it("a server that is in a folder of the checkout, or is loaded by an option, is not started", async (t) => {
    const { path } = await makeWorkspace(t);
    const link = join(path, "checkout");
    for (const args of [
      [`${link}/server/index`],
      [`--import=${link}/scripts/x.mjs`, fixture, "where"],
    ]) {
      const { workspace, step } = await forked(t, { mcpServers: { s: { command: node, args } } });
      await rm(link, { force: true });
      await symlink(workspace.path, link);
      assertRefused(await step(), /`mcpServers.s` names /);
      assert.equal(await ran(workspace), "nothing");
    }
  });

  it("any other server starts in an empty folder, where nothing of the checkout is", async (t) => {
    const mcpServers = { s: { command: node, args: [fixture, "where"], permissions: readsItself } };
    const { workspace, step } = await forked(t, { mcpServers });
    const { result } = await step();
    assert.equal(result.code, 0, result.raw);
    const journal = await workspace.read("journal.jsonl");
    assert.match(journal, /entries: (?!.*e\.json)/);
  });

  it("the step warns that commands may run its files", async (t) => {
    for (const [permissions, expected] of [
      [{ shell: ["npm test"] }, 1],
      ["read-only", 0],
    ] as const) {
      const declared = { permissions };
      const { result } = await (await forked(t, declared)).step();
      assert.equal(result.code, 0, result.raw);
      const warnings = result.commands.filter(
        ({ name, message }) => name === "warning" && message.includes("npm test"),
      );
      assert.equal(warnings.length, expected, result.raw);
    }
  });
});

describe("at the commit of the event", () => {
  it("tools are started, also for an event about a fork", async (t) => {
    const { workspace, step } = await forked(t, {
      tools: { x: { command: ["node", "scripts/x.mjs"] } },
    });
    await workspace.git("checkout", "--quiet", "--force", "main");
    const { result } = await step({ event: "pull-request-target" });
    assert.equal(result.code, 0, result.raw);
    assert.equal(await ran(workspace), "base");
  });
});
