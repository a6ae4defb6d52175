import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { commandLine } from "../rig/dist.ts";
import { runCli, type CliResult } from "../rig/cli.ts";
import { noTerminal, startOnTerminal, type TerminalChild } from "../rig/terminal.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";

const entry = `models: { driving: gpt-5 }
tasks: { a: { model: { category: driving }, prompt: A } }
jobs:
  one: { work: { kind: Ref, taskId: a } }
`;
const files = {
  "e.yml": entry,
  "w.wf.md": workflowText("START --> ASK_A[Who?] --> SUCCESS"),
  "run.jsonl": "",
};

/** No model is given: what isn't refused before ends for the lack of one. */
async function run(t: TestContext, ...args: string[]): Promise<CliResult> {
  const { path: cwd } = await makeWorkspace(t, files);
  return runCli(["run", ...args], { cwd, env: { SET: "1" } });
}

describe("the options of workflows at the command line", () => {
  for (const [args, why] of [
    [["w.wf.md", "--param", "A"], /--param <name=value>' argument 'A' is invalid\. It must have/],
    [["w.wf.md", "--answer", "A=yes"], /An answer has the id of its ASK/],
    [["w.wf.md", "--env", "A=b"], /Its value is taken from the environment/],
    [["w.wf.md", "job"], /A workflow has no jobs\. Name only the file/],
    [["w.wf.md", "--rerun"], /--rerun requires --resume/],
    [["w.wf.md", "--resume", "no.jsonl"], /can't resume no\.jsonl: the file or its folder doesn't/],
    [["e.yml", "--param", "A=1"], /Only a workflow .* has parameters, but --param is given/],
    [["e.yml", "--resume", "run.jsonl"], /can't resume run\.jsonl: .*The journal is empty/],
    [["e.yml", "--rerun"], /--rerun is only for workflows/],
    [
      ["e.yml", "--answer", "ASK_A=1"],
      /--answer is only for workflows, and the job "one" has none\./,
    ],
    [["e.yml", "--history", "h"], /--history is only for workflows/],
  ] as const) {
    it(`refuses run ${args.join(" ")}`, async (t) => {
      const { code, stderr } = await run(t, ...args);
      assert.equal(code, 2);
      assert.match(stderr, why);
    });
  }
});

const answering = {
  "flow.wf.md": workflowText(`PARAMS["TITLE, TEXT=none"]
  START --> ASK_A["{{TITLE}}?"] --> SET_B["ONE={{RESULT}}"] --> ASK_C[Again?]
  ASK_C --> ASSIGN_D["{{TITLE}}|{{TEXT}}|{{ONE}}|{{RESULT}}|{{SEEN}}|{{HIDDEN}}"] --> CHECK_E{RESULT == 'x'} --> SUCCESS
  CHECK_E --> |FALSE| SET_F["A_TOKEN={{A_TOKEN}}"] --> SUCCESS`),
};
const offline = ["--provider-base-url", "http://127.0.0.1:9/v1"];

describe("agent-jobs run with a workflow", () => {
  const env = { SEEN: "seen", HIDDEN: "hidden", A_TOKEN: "hunter2hunter2" };

  it("has parameters, answers and names of the environment", async (t) => {
    const workspace = await makeWorkspace(t, answering);
    const { path: cwd } = workspace;
    const args =
      "--param TITLE=a=b --answer ASK_C=later --answer ASK_A=now --env SEEN --env SEEM --env A_TOKEN --journal j.jsonl";
    const { code, stderr } = await runCli(["run", "flow.wf.md", ...args.split(" "), ...offline], {
      cwd,
      env,
    });
    assert.equal(code, 0, stderr);
    const journal = await workspace.read("j.jsonl");
    assert.ok(journal.includes("a=b|none|now|later|seen|{{HIDDEN}}"), journal.slice(0, 5000));
    assert.doesNotMatch(journal, /hunter2/);
    assert.match(stderr, /warning: The environment has no variable "SEEM"\. .*did you mean "SEEN"/);
    assert.match(stderr, /warning: Workflows may read A_TOKEN, which has the name of a secret/);
    assert.doesNotMatch(stderr, /read SEEN/);
  });
});

describe("agent-jobs run on a terminal", { skip: noTerminal }, () => {
  const start = async (t: TestContext, ...more: string[]): Promise<TerminalChild> => {
    const { path: cwd } = await makeWorkspace(t, answering);
    const args = ["run", "flow.wf.md", "--param", "TITLE=Sure", ...offline, ...more];
    const child = startOnTerminal(commandLine, args, { cwd });
    t.after(() => child.type("\u0003\u0003"));
    return child;
  };

  it("asks what no option answers", async (t) => {
    const child = await start(t, "--answer", "ASK_C=later");
    await child.printed("\u001B[0J> ", "ASK_A of flow.wf.md asks:\r\nSure?\r\n");
    child.type("yes\r");
    const { code, stdout } = await child.ended;
    assert.equal(code, 0, stdout);
    assert.doesNotMatch(stdout, /ASK_C of/);
    assert.match(stdout, /job flow\.wf\.md succeeded/);
  });

  it("ends with 130 at Ctrl-C", async (t) => {
    const child = await start(t);
    await child.printed("\u001B[0J> ", "Sure?\r\n");
    child.type("\u0003");
    const { code, stdout } = await child.ended;
    assert.equal(code, 130, stdout);
    assert.match(stdout, /job flow\.wf\.md canceled/);
  });

  it("asks nobody in CI", async (t) => {
    const { path: cwd } = await makeWorkspace(t, answering);
    const args = ["run", "flow.wf.md", "--param", "TITLE=Sure", ...offline];
    const { code, stdout } = await startOnTerminal(commandLine, args, { cwd, env: { CI: "true" } })
      .ended;
    assert.equal(code, 1, stdout);
    assert.match(stdout, /ASK_A has no answer/);
  });
});
