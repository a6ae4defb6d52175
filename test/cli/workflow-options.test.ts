import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { runCli, type CliResult } from "../rig/cli.ts";
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
    [["w.wf.md", "--param", "A=1", "--param", "A=2"], /It names the parameter "A" twice/],
    [["w.wf.md", "--param", "STATUS=1"], /can't be a parameter/],
    [["w.wf.md", "--answer", "A=yes"], /An answer has the id of its ASK/],
    [["w.wf.md", "--env", "A=b"], /Its value is taken from the environment/],
    [["w.wf.md", "job"], /A workflow has no jobs\. Name only the file/],
    [["w.wf.md", "--rerun"], /--rerun requires --resume/],
    [["w.wf.md", "--resume", "no.jsonl"], /--resume: the journal no\.jsonl does not exist/],
    [["w.wf.md", "--resume", "."], /--resume: the journal \. is not a regular file/],
    [["e.yml", "--param", "A=1"], /Only a workflow .* has parameters, but --param is given/],
    [["e.yml", "--resume", "run.jsonl"], /Only a workflow .* can be resumed/],
    [
      ["e.yml", "--answer", "ASK_A=1"],
      /--answer is only for workflows, and the job "one" has none\./,
    ],
    [["e.yml", "--env", "SET"], /--env is only for workflows/],
    [["e.yml", "--history", "h"], /--history is only for workflows/],
  ] as const) {
    it(`refuses run ${args.join(" ")}`, async (t) => {
      const { code, stderr } = await run(t, ...args);
      assert.equal(code, 2);
      assert.match(stderr, why);
    });
  }
});
