/** Whole steps that run a workflow with the inputs that are for workflows. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeRepository } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";
import { tryEvent, type Test, type Tried } from "./rig.ts";

const files = {
  "w.wf.md": workflowText(`PARAMS["TITLE, TEXT=none"]
  START --> ASK_A[First?] --> SET_B["ONE={{RESULT}}"] --> ASK_C[Again?] --> ASSIGN_D["{{TITLE}}|{{TEXT}}|{{ONE}}|{{RESULT}}|{{SEEN}}|{{HIDDEN}}|{{USER_INPUT}}"]
  ASSIGN_D --> SUCCESS`),
};

async function step(
  t: Test,
  given: Readonly<Record<string, string>>,
): Promise<Tried & { journal: string }> {
  const workspace = await makeRepository(t, files);
  const GITHUB_SHA = (await workspace.git("rev-parse", "HEAD")).trim();
  const tried = await tryEvent(t, "workflow-dispatch", {
    workspace,
    env: { GITHUB_SHA, SEEN: "seen", HIDDEN: "hidden" },
    given: { entry: "w.wf.md", "output-dir": "out", ...given },
  });
  return { ...tried, journal: await workspace.read("out/journal.jsonl").catch(() => "") };
}

describe("a step with a workflow", () => {
  it("has parameters, answers and names of the environment, cleaned as user input is", async (t) => {
    const { result, journal } = await step(t, {
      inputs:
        "TITLE=a\u200b=b <!-- hidden -->\nTEXT<<--\none\u202e\n\u0007two\n--\nASK_C=later\nASK_A=now \u{E0041}",
      env: "SEEN",
    });
    assert.equal(result.outputs["result"], "success", result.raw);
    assert.ok(
      journal.includes(JSON.stringify("a=b |one\ntwo|now |later|seen|{{HIDDEN}}|you").slice(1, -1)),
      journal.slice(0, 5000),
    );
  });

  it("fails without an answer, and names the input for it", async (t) => {
    const { result } = await step(t, { inputs: "TITLE=1" });
    assert.equal(result.outputs["result"], "failure", result.raw);
    assert.match(result.outputs["reason"] ?? "", /ASK_A has no answer.*`inputs`/);
  });
});
