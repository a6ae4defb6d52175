/** The input `html-report`. For a canceled step see cancel.test.ts. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runStep } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { files, inputs, rehearsal } from "./rig.ts";

describe("the input html-report", () => {
  it("is refused where a path of another input is, or no file can be", async (t) => {
    for (const [more, reason] of [
      [{ "html-report": "entries/hello.yml" }, /HTML report entries\/hello.yml would overwrite/],
      [{ "html-report": "entries" }, /Can't write the HTML report entries/],
    ] as const) {
      const { path: workspace } = await makeWorkspace(t, files);
      const given = { ...inputs, ...more };
      const result = await runStep(t, { workspace, inputs: given });
      assert.deepEqual([result.code, result.outputs["result"]], [1, "failure"], result.raw);
      assert.match(result.outputs["reason"] ?? "", reason);
    }
  });

  it("fails the step if the report is missing at the end", async (t) => {
    const command = "rm out/report.html && mkdir out/report.html";
    const tool = `          - tools: [{ name: bash, arguments: { command: "${command}", description: d } }]\n`;
    const script = `permissions: all\n${rehearsal.replace("          - text:", `${tool}          - text:`)}`;
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
