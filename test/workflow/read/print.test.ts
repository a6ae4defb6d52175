import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeWorkflow } from "../../../src/workflow/describe.ts";
import { filesOf, loaded, workflowText } from "../rig.ts";

const chart = `    START@{ shape: f-circ, label:"start"} --> CHECK_A
    PARAMS@{ shape: comment, label: "REPO_URL, \\nUSER_NAME='a, b'"}
    CHECK_A{RESULT == "x"} --> |TRUE| EXECUTE_A
    CHECK_A --> |FALSE| ASK_A[/Ask: who?/]
    EXECUTE_A["Execute: echo #quot;a#quot; | cat<br/>ls"] --> SUCCESS
    EXECUTE_A --> |error| FAILED
    ON_FAILED --> CALL_A[[b.wf.md]]`;

describe("the description of a workflow", () => {
  it("says what a run needs", () => {
    const files = filesOf({ "b.wf.md": workflowText("START --> ASK_B") });
    const text = `---\nmodel: small\nmodels: { small: gpt-5-mini }\npermissions: workspace\n---\n# A title\n${workflowText(chart)}`;
    assert.deepEqual(describeWorkflow(loaded(text, { files })), {
      title: "A title",
      parameters: [{ name: "REPO_URL" }, { name: "USER_NAME", default: "a, b" }],
      activities: 10,
      asks: ["ASK_A", "ASK_B"],
      models: ["gpt-5-mini"],
      files: ["b.wf.md"],
    });
  });
});
