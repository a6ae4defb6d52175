import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { printFlow } from "../../../src/reports/flow-chart.ts";
import { describeWorkflow } from "../../../src/workflow/describe.ts";
import { flowFileOf } from "../../../src/workflow/describe.ts";
import { filesOf, loaded, readFlow, workflowText } from "../rig.ts";

const chart = `    START@{ shape: f-circ, label:"start"} --> CHECK_A
    PARAMS@{ shape: comment, label: "REPO_URL, \\nUSER_NAME='a, b'"}
    CHECK_A{RESULT == "x"} --> |TRUE| EXECUTE_A
    CHECK_A --> |FALSE| ASK_A[/Ask: who?/]
    EXECUTE_A["Execute: echo #quot;a#quot; | cat<br/>ls"] --> SUCCESS
    EXECUTE_A --> |error| FAILED
    ON_FAILED --> CALL_A[[b.wf.md]]`;

describe("a workflow as a chart", () => {
  it("is Mermaid text that reads as the same workflow", () => {
    const { file, activities, parameters } = readFlow(`flowchart LR\n${chart}`);
    const text = printFlow(flowFileOf(file));
    assert.equal(
      text,
      `flowchart TD
  PARAMS@{ shape: comment, label: "REPO_URL, USER_NAME='a, b'" }
  START(("start"))
  CHECK_A{"Check: RESULT == #34;x#34;"}
  EXECUTE_A["Execute: echo #34;a#34; | cat<br/>ls"]
  ASK_A[/"Ask: who?"/]
  SUCCESS(["SUCCESS"])
  FAILED(["FAILED"])
  ON_FAILED(["ON_FAILED"])
  CALL_A[["Call: b.wf.md"]]
  START --> CHECK_A
  CHECK_A -->|TRUE| EXECUTE_A
  CHECK_A -->|FALSE| ASK_A
  EXECUTE_A --> SUCCESS
  EXECUTE_A -->|FAILED| FAILED
  ON_FAILED --> CALL_A
`,
    );
    const again = readFlow(text);
    assert.deepEqual(
      [again.activities, again.parameters, again.said],
      [activities, parameters, []],
    );
  });
});

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
