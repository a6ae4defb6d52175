/** What a run goes on without is shown without being looked for. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runCli } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const model = "model: { category: driving }";
const handOver = `models: { driving: m }
tasks:
  review: { prompt: "Review. Call job_prepare_document.", ${model} }
  fix: { prompt: "Fix these issues: $reported-document", ${model} }
jobs:
  j: { work: { kind: Seq, works: [{ kind: Ref, taskId: review }, { kind: Ref, taskId: fix }] } }
`;
const played = `entry: e.yml
sessions:
  - { task: review, turns: ["the document is lost"] }
  - { task: fix, turns: [{ prompt: "Fix these issues: <MISSING>", text: "What issues?" }] }
`;
const missing = "$reported-document has no value: the prompt has <MISSING> in its place";

describe("a variable that has no value", () => {
  it("is a warning of validate, at the prompt that uses it", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "e.yml": handOver });
    const { code, stdout } = await runCli(["validate", "e.yml"], { cwd });
    assert.equal(code, 0, stdout);
    assert.match(
      stdout,
      /^e\.yml:4:\d+: warning: entry\.tasks\["fix"\]\.prompt: \$reported-document has no value when this prompt is first sent: no earlier prompt of the task mentions job_prepare_document\. \(\$previous-result is /m,
    );
  });

  it("is a warning in the log, also with --quiet, and below the line of a rehearsal", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "e.yml": handOver, "r.yml": played });
    const quiet = await runCli(["run", "e.yml", "--rehearse", "r.yml", "--quiet"], { cwd });
    assert.ok(quiet.stdout.includes(`#1 fix    [OPERATION] ${missing}\n`), quiet.stdout);
    const rehearsed = await runCli(["rehearse", "r.yml"], { cwd });
    assert.equal(rehearsed.code, 0, rehearsed.stdout);
    assert.match(
      rehearsed.stdout,
      /^ok {4}r\.yml .*\n {6}warning: #1 fix: \$reported-document has no/,
    );
  });
});

describe("what a run goes on without", () => {
  it("is listed by rehearse: a server that doesn't start", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "e.yml": `models: { driving: m }
permissions: { preset: workspace, tools: ["*"] }
mcpServers: { tracker: { command: no-such-program, required: false } }
tasks: { a: { prompt: Close it., ${model} } }
jobs: { j: { work: { kind: Ref, taskId: a } } }
`,
      "r.yml": `entry: e.yml
sessions: [{ task: a, turns: [Closed.] }]
`,
    });
    const { stdout } = await runCli(["rehearse", "r.yml"], { cwd });
    assert.match(stdout, /^ok [^]*\n {6}warning: #0 a: MCP server tracker: /);
  });
});
