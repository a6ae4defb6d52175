import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runCli } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";

const good = `# Hello\n\n${workflowText('PARAMS["NAME, GREETING=Hi"]\nSTART --> PROMPT_A[Prompt: User Ask] --> CALL_B[[b.wf.md]]', "## User Ask\n\n{{GREETING}} {{NAME}}")}`;
const files = {
  "good.wf.md": good,
  "b.wf.md": workflowText("START --> CHECK_A{RESULT == yes}"),
  "bad.wf.md": workflowText("START --> PROMPT_A[Prompt: User Ask]", "## User Aks\n\nHi"),
};

describe("the command line with workflows", () => {
  it("validates them, and what they call", async (t) => {
    const { path: cwd } = await makeWorkspace(t, files);
    const { code, stdout } = await runCli(["validate", "good.wf.md", "bad.wf.md"], { cwd });
    assert.equal(code, 2);
    assert.deepEqual(stdout.trimEnd().split("\n"), [
      "good.wf.md: valid",
      "b.wf.md:5:11: warning: This CHECK has no edge for the case that it doesn't hold. The workflow then fails. (add an edge --> |FALSE| …)",
      'bad.wf.md:5:11: There is no prompt "User Ask". (did you mean "User Aks"?)',
    ]);
    assert.equal((await runCli(["validate", "good.wf.md"], { cwd })).code, 0);
    assert.equal((await runCli(["validate", "--strict", "good.wf.md"], { cwd })).code, 2);
  });

  it("draws them", async (t) => {
    const { path: cwd } = await makeWorkspace(t, files);
    const { code, stdout } = await runCli(["chart", "good.wf.md"], { cwd });
    assert.equal(code, 0);
    assert.match(stdout, /^flowchart TD\n.*PROMPT_A#58; User Ask/s);
    const job = await runCli(["chart", "good.wf.md", "job"], { cwd });
    assert.deepEqual(
      [job.code, job.stderr],
      [2, "agent-jobs: A workflow has no jobs. Name only the file.\n"],
    );
  });

  it("lists what a run of them needs", async (t) => {
    const { path: cwd } = await makeWorkspace(t, files);
    const { code, stdout } = await runCli(["list", "good.wf.md"], { cwd });
    assert.equal(code, 0);
    assert.match(stdout, /^WORKFLOW +Hello\nPARAMETERS +NAME, GREETING="Hi"\n/);
    assert.match(stdout, /\nRUN +agent-jobs run good\.wf\.md --model driving=… --param NAME=…\n$/);
    const json = await runCli(["list", "--json", "good.wf.md"], { cwd });
    assert.deepEqual(JSON.parse(json.stdout), {
      entry: "good.wf.md",
      workflow: {
        title: "Hello",
        parameters: [{ name: "NAME" }, { name: "GREETING", default: "Hi" }],
        activities: 5,
        asks: [],
        models: [],
        files: ["b.wf.md"],
      },
    });
    assert.equal((await runCli(["list", "bad.wf.md"], { cwd })).code, 2);
  });

  it("shows the path of a run in its log, chart and history", async (t) => {
    const flow = `---\nmodel: { id: m }\npermissions: { shell: ["seq *"] }\nlimits: { outputCharacters: 50000 }\n---\n${workflowText(
      'START --> PROMPT_A[Prompt: User Ask] --> EXECUTE_B["Execute: seq 1 100"] --> CALL_C[[c.wf.md]]',
      "## User Ask\n\nHi",
    )}`;
    const workspace = await makeWorkspace(t, {
      "flow.wf.md": flow,
      "c.wf.md": workflowText("START --> SET_X[Set: X=1]"),
      "r.yml":
        "entry: flow.wf.md\nsessions:\n  - activity: PROMPT_A\n    turns:\n      - text: Hello.\n",
    });
    const { path: cwd } = workspace;
    const { code, stdout, stderr } = await runCli(
      "run flow.wf.md --rehearse r.yml --history history --journal run.jsonl".split(" "),
      { cwd },
    );
    assert.equal(code, 0, stderr);
    for (const line of ["2 PROMPT_A: said: Hello.", "3 EXECUTE_B: seq 1 100, exit code 0"])
      assert.ok(stdout.includes(line), stdout);
    assert.match(await workspace.read("history/002-PROMPT_A.md"), /## Prompt\n\n```text\nHi\n```/);
    assert.match(await workspace.read("history/006-SET_X.md"), /## Variables\n\n```text\nX=1\n```/);
    const chart = await runCli(["chart", "--journal", "run.jsonl"], { cwd });
    assert.match(chart.stdout, /subgraph f1\["c.wf.md"\]/);
    assert.match(chart.stdout, /"SET_X#58; X#61;1<br\/>✓ 6 · last"/);
    const again = await runCli("run flow.wf.md --rehearse r.yml --history history".split(" "), {
      cwd,
    });
    assert.equal(again.code, 2);
    assert.match(again.stderr, /the folder is not empty/);
  });
});
