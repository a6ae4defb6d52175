import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { filesOf, said, workflowText } from "../rig.ts";

const ask = "## User Ask\n\nHello";

describe("the paths of a workflow", () => {
  it("are warnings if prompts are never sent", () => {
    const system = "PROMPT_S[Prompt: System]";
    const unasked = /^5:11: warning: PROMPT_S starts an agent that is never asked/;
    const prompts = `## System\n\nYou.\n\n${ask}`;
    const of = (flowchart: string): string =>
      said(workflowText(flowchart, prompts), {
        permissions: "workspace",
        files: filesOf({ "b.wf.md": workflowText("START --> PROMPT_B['Hi']") }),
      })
        .map((one) => one.replace("a.wf.md:", ""))
        .join("\n");
    for (const flowchart of [
      `START --> ${system}`,
      `START --> ${system} --> EXECUTE_A[ls] --> SUCCESS`,
    ])
      assert.match(of(flowchart), unasked, flowchart);
    for (const flowchart of [
      `START --> ${system} --> EXECUTE_A[ls] --> PROMPT_A[Prompt: User Ask]`,
      `START --> ${system} --> EXECUTE_A[ls]\nON_FAILED --> PROMPT_A['Hi']`,
      `START --> ${system} --> SUCCESS\nON_SUCCESS --> PROMPT_A['Hi']`,
      `START --> ${system} --> CALL_B[[b.wf.md]]`,
      `START --> ASSIGN_A[Assign: User Ask] --> ASK_A --> SET_A[A=System]`,
    ])
      assert.equal(of(flowchart), "", flowchart);
    assert.equal(
      of("START --> SUCCESS"),
      '10:1: warning: The prompt "System" is never sent: the flowchart has no PROMPT. (such as PROMPT_1[Prompt: System])',
    );
  });
});
