/** The input `html-report`. For a canceled step see cancel.test.ts. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { readReport } from "../reports/rig.ts";
import { runStep, type StepResult } from "../rig/runner.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { files, inputs } from "./rig.ts";

async function run(
  t: TestContext,
  more: Readonly<Record<string, string>>,
): Promise<{ readonly result: StepResult; readonly workspace: Workspace }> {
  const workspace = await makeWorkspace(t, files);
  const given = { ...inputs, "html-report": "out/report.html", ...more };
  return {
    result: await runStep(t, { workspace: workspace.path, inputs: given }),
    workspace,
  };
}

describe("the input html-report", () => {
  it("writes a report of a run that succeeds, without a journal", async (t) => {
    const { result, workspace } = await run(t, {});
    assert.equal(result.code, 0, result.raw);
    const { boot, events, script } = readReport(await workspace.read("out/report.html"));
    assert.deepEqual(
      boot.runs.map(({ jobName, status, journals }) => [jobName, status, journals]),
      [["hello", "succeeded", []]],
    );
    assert.deepEqual([events[0]?.type, events.at(-1)?.type], ["run.started", "run.ended"]);
    assert.ok(script.length > 100_000, "The page is in the file.");
  });

  it("is refused where a path of another input is, and outside the workspace", async (t) => {
    for (const [more, reason] of [
      [{ "html-report": "../report.html" }, /leads out of the workspace/],
      [{ "html-report": "entries/hello.yml" }, /HTML report entries\/hello.yml would overwrite/],
      [{ journal: "out/report.html" }, /HTML report out\/report.html would overwrite/],
      [{ "html-report": "entries" }, /Can't write the HTML report entries/],
    ] as const) {
      const { result } = await run(t, more);
      assert.deepEqual([result.code, result.outputs["result"]], [1, "failure"], result.raw);
      assert.match(result.outputs["reason"] ?? "", reason);
    }
  });

  it("fails the step if the report is missing at the end", async (t) => {
    const command = "rm out/report.html && mkdir out/report.html";
    const script = `entry: hello.yml
userInput: a newcomer
permissions: all
sessions:
  - task: greet
    turns:
      - prompt: Greet
        replies:
          - tools:
              - name: bash
                arguments: { command: "${command}", description: d }
          - tools:
              - name: job_prepare_document
                arguments: { argument: "docs/greeting.md" }
          - text: "Welcome!"
`;
    const workspace = await makeWorkspace(t, { ...files, "entries/it.rehearsal.yml": script });
    const result = await runStep(t, {
      workspace: workspace.path,
      inputs: {
        ...inputs,
        rehearse: "entries/it.rehearsal.yml",
        "in-place": "true",
        permissions: "all",
        "html-report": "out/report.html",
      },
    });
    assert.equal(result.code, 1, result.raw);
    assert.equal(result.outputs["result"], "failure");
    assert.match(result.outputs["reason"] ?? "", /The HTML report is incomplete/);
  });
});
