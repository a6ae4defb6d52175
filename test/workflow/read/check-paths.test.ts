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
      `START --> ${system} --> PROMPT_T[Prompt: System] --> PROMPT_A['Hi']`,
      `START --> ${system} --> SUCCESS\nON_FAILED --> PROMPT_A['Hi']`,
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

  it("are warnings if RESULT is used before anything can have set it", () => {
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
      [
        `START --> ${fix}`,
        `a.wf.md:5:11: warning: RESULT in PROMPT_F is not an answer yet: it is the user input of the run, or what a CALL passes. ${hint}`,
      ],
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
