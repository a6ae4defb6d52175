/** Warnings about a valid entry, in every command that takes one. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type CliResult, runCli } from "../rig/cli.ts";
import { modelServer } from "../rig/model-server.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const odd = `models: { driving: m }
permissions: { shell: [ls, "npm test && npm run lint"] }
tasks:
  a: { prompt: Say hello, model: { category: driving } }
  lone: { prompt: Nobody asks, model: { category: driving } }
jobs:
  j: { work: { kind: Ref, taskId: a } }
`;
const rehearsal = "entry: odd.yml\nsessions:\n  - turns: [hello]\n";
const pattern =
  /odd\.yml:2:\d+: warning: entry\.permissions\.shell\[1\]: No command can match this pattern: it contains 2 commands/;
const lone = /odd\.yml:5:\d+: warning: entry\.tasks\["lone"\]: No job uses this task\./;
const userInput = /odd\.yml:7:\d+: warning: entry\.jobs\["j"\]: The user input is not used: /;

describe("agent-jobs validate", () => {
  it("prints warnings, and the file stays valid", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "odd.yml": odd });
    const { code, stdout } = await runCli(["validate", "odd.yml"], { cwd });
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^odd\.yml: valid$/m);
    assert.match(stdout, pattern);
    assert.match(stdout, lone);
  });
  it("lets them count as errors with --strict", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "odd.yml": odd });
    const { code, stdout } = await runCli(["validate", "--strict", "odd.yml"], { cwd });
    assert.equal(code, 2);
    assert.match(stdout, /^odd\.yml:5:\d+: entry\.tasks\["lone"\]: No job uses this task\.$/m);
    assert.doesNotMatch(stdout, /warning|: valid/);
  });
  it("has them in its other formats", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "odd.yml": odd });
    const json = await runCli(["validate", "--format", "json", "odd.yml"], { cwd });
    assert.match(json.stdout, /^\{\n {2}"valid": true,/);
    assert.equal(json.stdout.match(/"severity": "warning"/g)?.length, 2);
    const github = await runCli(["validate", "--format", "github", "odd.yml"], { cwd });
    assert.match(github.stdout, /^::warning file=odd\.yml,line=5,col=\d+::entry\.tasks/m);
    const strict = await runCli(["validate", "--strict", "--format", "github", "odd.yml"], { cwd });
    assert.match(strict.stdout, /^::error file=odd\.yml,line=5/m);
    const failed = await runCli(["validate", "--strict", "--format", "json", "odd.yml"], { cwd });
    assert.equal(failed.code, 2);
    const { valid, diagnostics } = JSON.parse(failed.stdout);
    assert.deepEqual([valid, diagnostics.length], [false, 2]);
  });
  it("says that the user input of a rehearsal is not used", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "odd.yml": odd,
      "a.rehearsal.yml": `${rehearsal}userInput: x\n`,
      "b.rehearsal.yml": rehearsal,
      "c.rehearsal.yml": rehearsal.replace("odd.yml", "no.yml"),
    });
    const files = ["a", "b", "c"].map((name) => `${name}.rehearsal.yml`);
    const { code, stdout } = await runCli(["validate", ...files], { cwd });
    assert.equal(code, 0, stdout);
    assert.match(stdout, userInput);
    assert.equal(stdout.trimEnd().split("\n").length, 4, stdout);
  });
});

describe("agent-jobs validate with a model server", () => {
  const named = `models: { driving: gpt-5-mini, other: gpt-5-mni }
tasks: { a: { prompt: Say hello, model: { id: gone } } }
jobs: { j: { work: { kind: Ref, taskId: a, modelOverride: { category: other } } } }
`;
  async function check(t: TestContext, listed: readonly string[]): Promise<CliResult> {
    const { path: cwd } = await makeWorkspace(t, { "e.yml": named });
    const server = await modelServer(t, () => ({ text: "" }), { models: listed });
    return runCli(["validate", "e.yml", "--provider-base-url", server.baseUrl], { cwd });
  }

  it("reports the models that it doesn't offer", async (t) => {
    const { code, stdout } = await check(t, ["gpt-5-mini", "gpt-5"]);
    assert.equal(code, 2, stdout);
    assert.match(
      stdout,
      /^e\.yml:1:\d+: entry\.models\["other"\]: The model "gpt-5-mni" is not offered\. \(did you mean "gpt-5-mini"\?\)$/m,
    );
    assert.match(stdout, /^e\.yml:2:\d+: entry\.tasks\["a"\]\.model\.id: The model "gone" is not/m);
    assert.equal(stdout.trimEnd().split("\n").length, 2, stdout);
  });

  it("says that nothing was checked if it lists none", async (t) => {
    const { code, stdout, stderr } = await check(t, []);
    assert.equal(code, 0, stdout);
    assert.match(stderr, /The models were not checked/);
  });
});

describe("a run", () => {
  it("says them before it begins, and that its user input is not used", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "odd.yml": odd, "r.yml": rehearsal });
    const args = ["run", "odd.yml", "--rehearse", "r.yml", "--user-input", "something"];
    const { code, stdout, stderr } = await runCli(args, { cwd });
    assert.equal(code, 0, stdout + stderr);
    for (const expected of [pattern, lone, userInput]) assert.match(stderr, expected);
    const quiet = await runCli([...args, "--quiet"], { cwd });
    assert.equal(quiet.stderr, "");
  });
  it("as a rehearsal says them once", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "odd.yml": odd,
      "a.rehearsal.yml": `${rehearsal}userInput: x\n`,
      "b.rehearsal.yml": rehearsal,
    });
    const { code, stdout, stderr } = await runCli(
      ["rehearse", "a.rehearsal.yml", "b.rehearsal.yml"],
      { cwd },
    );
    assert.equal(code, 0, stdout + stderr);
    for (const expected of [pattern, lone, userInput]) assert.match(stderr, expected);
    assert.equal(stderr.trimEnd().split("\n").length, 3);
  });
});

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
