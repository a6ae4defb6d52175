/** Warnings about a valid entry, in every command that takes one. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { runCli, type CliResult } from "../rig/cli.ts";
import { startModelServer } from "../rig/model-server.ts";
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
  it("recognizes a rehearsal under the name of an entry", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "odd.yml": odd, "r.yml": rehearsal });
    for (const command of [
      ["validate", "r.yml"],
      ["run", "r.yml"],
    ]) {
      const { code, stdout, stderr } = await runCli(command, { cwd });
      assert.equal(code, 2);
      assert.match(
        stdout + stderr,
        /^r\.yml: This is a rehearsal, not an entry\. \(.*--rehearse r\.yml\)$/m,
      );
    }
  });
});

describe("agent-jobs validate with a model server", () => {
  const named = `models: { driving: gpt-5-mini, other: gpt-5-mni }
tasks: { a: { prompt: Say hello, model: { id: gone } } }
jobs: { j: { work: { kind: Ref, taskId: a, modelOverride: { category: other } } } }
`;
  async function check(t: TestContext, listed: readonly string[]): Promise<CliResult> {
    const { path: cwd } = await makeWorkspace(t, { "e.yml": named });
    const server = await startModelServer(() => ({ text: "" }), { models: listed });
    t.after(() => server.close());
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
