/** An agent that rewrites what its run says about itself. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseJournal } from "../../src/journal/read.ts";
import { readReport } from "../reports/rig.ts";
import { runCli, cliExits } from "../rig/cli.ts";
import type { ScriptedCall } from "../rig/model-server.ts";
import { modelServer } from "../rig/model-server.ts";
import type { Permissions } from "../../src/entry/model.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import type { Workspace } from "../rig/workspace.ts";
import { bash, entryOf } from "./rig.ts";

const entry = (permissions: Permissions): string =>
  entryOf({ models: { driving: "gpt-test" }, permissions });

async function attack(
  t: Parameters<typeof makeWorkspace>[0],
  permissions: Permissions,
  calls: (workspace: Workspace) => readonly ScriptedCall[],
): Promise<{
  readonly workspace: Workspace;
  readonly said: string;
  readonly results: readonly string[];
}> {
  const workspace = await makeWorkspace(t, { "entry.json": entry(permissions) });
  await workspace.write("out/summary.md", "");
  const script = calls(workspace);
  const server = await modelServer(t, ({ toolResults }) => {
    const call = script[toolResults.length];
    return call === undefined ? { text: "The end." } : { toolCalls: [call] };
  });
  const { stdout, stderr } = await runCli(
    `run entry.json job --provider-base-url ${server.baseUrl} --output-dir out --journal out/run.jsonl --record out/run.rehearsal.yml`,
    { cwd: workspace.path, env: { GITHUB_STEP_SUMMARY: `${workspace.path}/out/summary.md` } },
  );
  return {
    workspace,
    said: stdout + stderr,
    results: server.requests.at(-1)?.toolResults ?? [],
  };
}

test("file tools write to no record of their run", async (t) => {
  const { workspace, said, results } = await attack(t, "all", ({ path }) => [
    patch(`*** Update File: out/run.jsonl\n@@\n-x\n+y`),
    patch(`*** Delete File: ${path}/out/run.jsonl`),
    patch(`*** Delete File: ./out/../out/run.rehearsal.yml`),
    patch(`*** Add File: out/summary.md\n+# All passed`),
    patch(`*** Add File: out/report.html\n+<h1>All passed</h1>`),
    patch(`*** Add File: notes.md\n+fine`),
  ]);
  for (const result of results.slice(0, 5)) assert.match(result, /Denied: write|ailed|rror/);
  assert.doesNotMatch(results[5] ?? "", /Denied/);
  assert.equal(await workspace.read("notes.md"), "fine\n");
  assert.equal(await workspace.read("out/summary.md"), "");
  const journal = parseJournal(await workspace.read("out/run.jsonl"));
  assert.deepEqual(journal.problems, []);
  const denied = journal.events.filter(
    (event) => event.type === "activity" && event.activity.kind === "permission.denied",
  );
  assert.ok(denied.length >= 2, said);
  assert.match(await workspace.read("out/run.rehearsal.yml"), /summary\.md/);
  const report = readReport(await workspace.read("out/report.html"));
  assert.deepEqual(report.events, journal.events);
  assert.doesNotMatch(said, /don't rely/);
});

test("a shell that adds to the journal is told of", async (t) => {
  const command = "echo '{}' >> out/run.jsonl";
  const { said } = await attack(t, "workspace", () => [bash(command)]);
  assert.match(said, /The journal \S+run\.jsonl was changed during the run/);
});

test("no record is made through a link that took the place of its folder", async (t) => {
  const command = "mkdir -p hooks && mv out moved && ln -s hooks out";
  const script = [bash(command)];
  // In a sandbox, the folder can't be moved.
  const permissions = { preset: "workspace", sandbox: "off" } as const;
  const { said, workspace } = await attack(t, permissions, () => script);
  assert.deepEqual(readdirSync(join(workspace.path, "hooks")), []);
  for (const what of ["journal", "recording", "HTML report"])
    assert.match(said, new RegExp(`The ${what} \\S+ was deleted during the run`));
});

test("a recording never goes through a link that was put in its place", async (t) => {
  const command = "echo precious > out/victim; ln -sf victim out/run.rehearsal.yml";
  const attacked = await attack(t, "workspace", () => [bash(command)]);
  assert.match(attacked.said, /The recording \S+run\.rehearsal\.yml was replaced/);
  assert.equal(await attacked.workspace.read("out/victim"), "precious\n");
});

function patch(body: string): ScriptedCall {
  return { name: "apply_patch", arguments: `*** Begin Patch\n${body}\n*** End Patch` };
}

test("a run that is refused leaves the files of an earlier run as they were", async (t) => {
  const workspace = await makeWorkspace(t, {
    "entry.json": entry("read-only"),
    "old.jsonl": "old journal\n",
    "old.rehearsal.yml": "old recording\n",
    "folder/file": "",
  });
  const access = ["run", "entry.json", "--provider-base-url", "http://127.0.0.1:9"];
  for (const [args, why] of [
    [["--journal", "old.jsonl", "--record", "folder"], /Can't write the recording folder/],
    [
      ["--journal", "old.jsonl", "--output-dir", "folder/file"],
      /Can't write the HTML report folder\/file/,
    ],
    [["--journal", "folder", "--record", "old.rehearsal.yml"], /Can't write the journal folder/],
  ] as const) {
    const { stderr } = await cliExits(2, [...access, ...args], { cwd: workspace.path });
    assert.match(stderr, why);
    assert.equal(await workspace.read("old.jsonl"), "old journal\n");
    assert.equal(await workspace.read("old.rehearsal.yml"), "old recording\n");
  }
});
