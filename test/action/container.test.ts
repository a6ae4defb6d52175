/** A container job: git runs as another user than the one who checked out, and refuses what it is not told to trust. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmod } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { it } from "node:test";
import { parseJournal } from "../../src/journal/read.ts";
import { findProgram } from "../../src/platform/search-path.ts";
import { bash, modelServer } from "../rig/model-server.ts";
import { runStep } from "../rig/runner.ts";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";

const model = { category: "driving" };
const [any, listed] = ["any", "listed"].map((taskId) => ({ kind: "Ref", taskId }));
const workflow = `---
model: m1
permissions: { shell: [git log *] }
---
${workflowText('START --> EXECUTE_LOG["Execute: git log --format=%s"] --> SUCCESS')}
`;
const entry = {
  models: { driving: "m1" },
  tools: {
    log: {
      description: "d",
      parameters: { type: "object" },
      command: ["git", "log", "--format=%s"],
    },
  },
  tasks: {
    any: { model, prompt: "Go", permissions: "all" },
    listed: { model, prompt: "Go", permissions: { shell: ["git log *"], tools: ["log"] } },
  },
  jobs: {
    job: { work: { kind: "Seq", works: [any, listed, { kind: "Flow", file: "log.wf.md" }] } },
  },
};

it("agents, tools and EXECUTE can read the repository of another user", async (t) => {
  const results: string[] = [];
  const server = await modelServer(t, ({ toolResults }) => {
    if (toolResults.length > 0) {
      results.push(...toolResults);
      return { text: "Done." };
    }
    return { toolCalls: [bash("git log --format=%s"), { name: "log", arguments: {} }] };
  });
  const workspace = await makeRepository(t, {
    "e.json": JSON.stringify(entry),
    "log.wf.md": workflow,
  });
  const { path } = workspace;
  const sha = (await workspace.git("rev-parse", "HEAD")).trim();
  const bin = await makeWorkspace(t);
  await chmod(path, 0o755);
  if (process.getuid?.() === 0) execFileSync("chown", ["--recursive", "1000", path]);
  else {
    const real = findProgram("git", process.env) ?? "git";
    await bin.write("git", `#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec ${real} "$@"\n`);
    await chmod(join(bin.path, "git"), 0o755);
  }
  const result = await runStep(t, {
    workspace: path,
    checkedOut: false,
    inputs: { entry: "e.json", "output-dir": "out", "provider-base-url": server.baseUrl },
    env: { GITHUB_SHA: sha, PATH: [bin.path, process.env["PATH"]].join(delimiter) },
  });
  assert.equal(result.code, 0, result.raw);
  assert.equal(results.length, 4);
  // The results of a shell that may run anything, of one with patterns, and of the tool.
  for (const text of results) assert.match(text, /The first commit/);
  const { events } = parseJournal(await workspace.read("out/journal.jsonl"));
  const executed = events.flatMap((event) => (event.type === "step.ended" ? event.effects : []));
  assert.match(JSON.stringify(executed), /The first commit/);
});

it("commands of agents that fail are counted and named in the summary", async (t) => {
  const commands = ["git diff gone...HEAD", "git diff gone...HEAD", "false", "true"];
  const server = await modelServer(t, ({ toolResults }) =>
    toolResults.length > 0
      ? { text: "Looks good to me." }
      : { toolCalls: commands.map((one) => bash(one)) },
  );
  const { path } = await makeRepository(t, {
    "e.json": JSON.stringify({ ...entry, jobs: { job: { work: any } } }),
  });
  const result = await runStep(t, {
    workspace: path,
    inputs: { entry: "e.json", "provider-base-url": server.baseUrl },
  });
  assert.equal(result.code, 0, result.raw);
  assert.match(result.summary, /^<sub>.* · 3 failed commands<\/sub>$/m);
  const [, section = ""] = result.summary.split("### Failed commands\n");
  assert.match(section, /<code>git diff gone\.\.\.HEAD<\/code> ×2 \| 128 \| fatal: /);
  assert.match(section, /<code>false<\/code> \| 1 \| +\|/);
  assert.doesNotMatch(section.split("\n\n")[1] ?? "", /true|shellId/);
});
