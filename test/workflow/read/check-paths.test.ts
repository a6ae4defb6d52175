import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { said, workflowText } from "../rig.ts";

describe("the paths of a workflow", () => {
  it("are warnings if RESULT is used after a System prompt has emptied it", () => {
    const prompts = "## System\n\nYou.\n\n## User Fix\n\nFix {{RESULT}}.";
    const of = (flowchart: string): readonly string[] =>
      said(workflowText(flowchart, prompts), { permissions: "workspace" });
    const [hint, system, fix] = [
      "(write {{USER_INPUT}} for the user input of the run)",
      "PROMPT_S[Prompt: System]",
      "PROMPT_F[Prompt: User Fix]",
    ];
    const emptied = (id: string): string =>
      `RESULT is empty in ${id}: a System prompt has emptied it, and nothing has set it since.`;
    const cases: readonly (readonly [flowchart: string, ...expected: readonly string[]])[] = [
      [`START --> ${fix}`],
      [`START --> ${system} --> ${fix}`, `a.wf.md:5:40: warning: ${emptied("PROMPT_F")} ${hint}`],
      [
        `START --> ${system} --> EXECUTE_A\nEXECUTE_A --> ${fix}`,
        `a.wf.md:5:40: warning: ${emptied("EXECUTE_A")}`,
      ],
      [`START --> EXECUTE_A --> ${fix}`],
      [`START --> ${system} --> SET_R[RESULT=x] --> ${fix}`],
      [`START --> ${system} --> ASK_A['Who?'] --> ${fix} --> ASK_A`],
      [`START --> SUCCESS\nON_FAILED --> ${fix}`],
    ];
    for (const [flowchart, ...expected] of cases)
      assert.deepEqual(of(flowchart), expected, flowchart);
  });
});
