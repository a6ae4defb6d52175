/**
 * The document of the format, snippet by snippet: each flowchart as it stands there, in a file with a frame of ours
 * around it (a second flowchart that leads to it), and what the document says about it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { activityLine } from "./read/outline.ts";
import { playWorkflow, type Answer, type Played, type PlayOptions } from "./run/machine-rig.ts";
import { filesOf, load, loaded, workflowText } from "./rig.ts";

const prompts =
  "## System\n\nYou help.\n\n## User Task-Desc\n\nDo it.\n\n## Assistant Example\n\nDone before.\n";
const files = filesOf({
  "paperless-sprint1-testing.wf.md": workflowText("START --> ASSIGN_A[Assign: 'tested']"),
});

/** The frame, then the snippet: two flowcharts are one graph. */
function whole(snippet: string, frame: string): string {
  const fence = "```";
  return `# Title\n\n# Workflow\n\n${fence}mermaid\nflowchart TD\n${frame}\n${fence}\n\n${fence}mermaid\n${snippet}\n${fence}\n\n# Prompts\n\n${prompts}`;
}

const run = (
  snippet: string,
  frame: string,
  answers: readonly Answer[] = [],
  options: PlayOptions = {},
): Played =>
  playWorkflow(loaded(whole(snippet, frame), { files, ...options.load }), answers, options);

/** The frame, answers, and the path, the status and the beginning of the RESULT that they lead to. */
type Play = readonly [string, readonly string[], string];

const fences = "First\n```bash\ncd ~\nls\n```\nthen\n```sh\npwd\n```\n```\nls -l\n```\n";
const styled = (id: string): string => `style ${id} stroke:#A0A0A0,stroke-width:1px,fill:#ffffff`;
const report = "[Prompt: User Task-Desc]";

/** The activity of each snippet as it is read, and runs of it. */
const snippets: Readonly<Record<string, readonly [string, line: string, ...Play[]]>> = {
  "START is the starting point of every workflow": [
    'START@{ shape: f-circ, label:"start"}',
    "START > SET_A",
    ["START --> SET_A[RESULT=STATUS]", [], "START SET_A: SUCCESS DOING"],
  ],
  "SET sets a variable to a variable": [
    "SET_TESTING_RESULT[TESTING_RESULT=RESULT]",
    "SET_TESTING_RESULT TESTING_RESULT=RESULT > SET_P",
    [
      "START --> ASSIGN_A[Assign: 'ten'] --> SET_TESTING_RESULT --> SET_P[P=User Task-Desc] --> SET_C[C='RESULT'] --> SET_R[RESULT={{TESTING_RESULT}} {{P}} {{C}}]",
      [],
      "START ASSIGN_A SET_TESTING_RESULT SET_P SET_C SET_R: SUCCESS ten Do it. RESULT",
    ],
  ],
  "ASSIGN assigns a prompt, a variable or a constant to RESULT": [
    "ASSIGN_RESULT[Assign: User Task-Desc]",
    "ASSIGN_RESULT User Task-Desc > ASSIGN_B",
    [
      "START --> SET_IT[IT='it'] --> ASSIGN_RESULT --> ASSIGN_B[Assign: IT]",
      [],
      "START SET_IT ASSIGN_RESULT ASSIGN_B: SUCCESS it",
    ],
    [
      "START --> ASSIGN_RESULT --> ASSIGN_B[Assign: 'WHAT']",
      [],
      "START ASSIGN_RESULT ASSIGN_B: SUCCESS WHAT",
    ],
  ],
  "CHECK goes on where its expression says": [
    `CHECK_RESULT_SUCCESS{RESULT == 'SUCCESS'}

        CHECK_RESULT_SUCCESS --> |TRUE| SUCCESS@{ shape: stadium  }
        CHECK_RESULT_SUCCESS --> |FALSE| FAILED@{ shape: stadium  }

        ${styled("SUCCESS")}
        ${styled("FAILED")}`,
    "CHECK_RESULT_SUCCESS RESULT eq 'SUCCESS' > SUCCESS / FAILED",
    [
      "START --> ASK_A --> CHECK_RESULT_SUCCESS",
      ["SUCCESS"],
      "START ASK_A CHECK_RESULT_SUCCESS SUCCESS: SUCCESS",
    ],
    [
      "START --> ASK_A --> CHECK_RESULT_SUCCESS",
      ["no"],
      "START ASK_A CHECK_RESULT_SUCCESS FAILED: FAILED",
    ],
  ],
  "EXECUTE runs the commands in the code blocks of RESULT": [
    "EXECUTE_OUTPUT[Execute: ]",
    "EXECUTE_OUTPUT",
    [
      "START --> ASK_A --> EXECUTE_OUTPUT",
      [fences, "out"],
      "START ASK_A EXECUTE_OUTPUT: SUCCESS $ cd ~\nls\nout\n$ pwd\nout\n$ ls -l\nout",
    ],
  ],
  "EXECUTE runs a command of its own instead": [
    "EXECUTE_OUTPUT[Execute: cd ~]",
    "EXECUTE_OUTPUT cd ~",
    [
      "START --> ASK_A --> EXECUTE_OUTPUT",
      [fences, "out"],
      "START ASK_A EXECUTE_OUTPUT: SUCCESS $ cd ~\nout",
    ],
  ],
  "CALL runs a sub-workflow by its file": [
    "CALL_TESTING[[paperless-sprint1-testing.wf.md]]",
    "CALL_TESTING paperless-sprint1-testing.wf.md > SUCCESS",
    [
      "START --> CALL_TESTING --> SUCCESS",
      [],
      "START CALL_TESTING START ASSIGN_A SUCCESS: SUCCESS tested",
    ],
  ],
  "SUCCESS is an end": [
    "SUCCESS@{ shape: stadium  }",
    "SUCCESS",
    ["START --> SUCCESS", [], "START SUCCESS: SUCCESS"],
  ],
  "FAILED is an end": [
    "FAILED@{ shape: stadium  }",
    "FAILED",
    ["START --> FAILED", [], "START FAILED: FAILED"],
  ],
  "ON_SUCCESS, which the document spells ON_SUCCES, follows a success": [
    `ON_SUCCES@{ shape: stadium } --> PROMPT_SUCCESS_REPORT
            ${styled("PROMPT_SUCCESS_REPORT")}`,
    "ON_SUCCES when success > PROMPT_SUCCESS_REPORT",
    [
      `START --> SUCCESS\nPROMPT_SUCCESS_REPORT${report}`,
      ["report"],
      "START SUCCESS ON_SUCCES PROMPT_SUCCESS_REPORT: SUCCESS report",
    ],
    [
      `START\nPROMPT_SUCCESS_REPORT${report}`,
      ["report"],
      "START ON_SUCCES PROMPT_SUCCESS_REPORT: SUCCESS report",
    ],
  ],
  "ON_FAILED follows a failure": [
    `ON_FAILED@{ shape: stadium } --> PROMPT_FAILED_REPORT
            ${styled("PROMPT_FAILED_REPORT")}`,
    "ON_FAILED when failed > PROMPT_FAILED_REPORT",
    [
      `START --> FAILED\nPROMPT_FAILED_REPORT${report}`,
      ["report"],
      "START FAILED ON_FAILED PROMPT_FAILED_REPORT: FAILED report",
    ],
  ],
};

describe("a snippet of the document", () => {
  for (const [title, [snippet, line, ...plays]] of Object.entries(snippets)) {
    it(title, () => {
      const chart = `    flowchart TD\n        ${snippet}`;
      for (const [frame, answers, expected] of plays) {
        const read = load(whole(chart, frame), { files, permissions: "workspace" });
        assert.ok(read.kind === "loaded");
        const { files: all, main } = read.workflow;
        const lines = [...(all[main]?.activities.values() ?? [])].map(activityLine);
        if (frame === plays[0]?.[0]) assert.ok(lines.includes(line), lines.join("\n"));
        const warnings = read.warnings.map(({ reason }) => reason);
        assert.deepEqual(
          // The prompts of the frame are for those snippets that send them.
          warnings.filter((reason) => !/is never sent/.test(reason)),
          title.includes("ON_SUCCES,") ? ["ON_SUCCES is read as ON_SUCCESS."] : [],
        );
        const { path, done } = run(chart, frame, answers);
        const came = `${path}: ${done.status} ${done.result}`;
        assert.ok(came.startsWith(expected), `${came} is not ${expected}`);
      }
    });
  }

  it("PROMPT sends a system, user or assistant prompt, and RESULT is the answer", () => {
    const frame =
      "START --> PROMPT_S[Prompt: System] --> PROMPT_E[Prompt: Assistant Example] --> PROMPT_ASK";
    const { asked, done, state } = run(`flowchart TD\nPROMPT_ASK${report}`, frame, ["the answer"]);
    assert.deepEqual([asked, done.result], [["0: Do it."], "the answer"]);
    assert.deepEqual(state.agents["0"], {
      system: "You help.",
      messages: [
        { role: "assistant", text: "Done before." },
        { role: "user", text: "Do it." },
        { role: "assistant", text: "the answer" },
      ],
    });
  });
});

describe("the sample “Check toolchain”", () => {
  const sample = `flowchart TD
    START@{ shape: f-circ, label:"start"} --> PROMPT_SYSTEM
    PARAMS@{ shape: comment, label: "REPO_URL, \\nUSER_NAME"}

    PROMPT_SYSTEM[Prompt: System] --> CALL_CHECK_TOOLS
    CALL_CHECK_TOOLS[[check-tools.md]] --> PROMPT_TESTGIT
    PROMPT_TESTGIT[Prompt: User GetSubmission] --> EXECUTE_OUTPUT
    EXECUTE_OUTPUT[Execute: ] --> PROMPT_CMDRESULTS

    PROMPT_CMDRESULTS[Prompt: User CommandResults] --> CHECK_RESULT_SUCCESS{RESULT == SUCCESS}
    CHECK_RESULT_SUCCESS --> |TRUE| SUCCESS
    CHECK_RESULT_SUCCESS --> |FALSE| CHECK_RESULT_FAILED{RESULT == FAILED} 

    CHECK_RESULT_FAILED --> |TRUE| FAILED
    CHECK_RESULT_FAILED --> |FALSE| PROMPT_IMPROVE

    PROMPT_IMPROVE[Prompt: User Improve] --> EXECUTE_OUTPUT
    
    SUCCESS@{ shape: stadium  }
    FAILED@{ shape: stadium }

    style PROMPT_SYSTEM stroke:#000,stroke-width:4px,fill:#80a0ff`;
  const text = `# Workflow\n\n\`\`\`mermaid\n${sample}\n\`\`\`\n\n# Prompts\n
## System\n\nShell only.\n
## User GetSubmission\n\nClone {{REPO_URL}} for {{USER_NAME}}.\n
## User CommandResults\n\nSeen: {{RESULT}}\n
## User Improve\n\nAgain.\n`;
  const params = { REPO_URL: "x.git", USER_NAME: "me" };
  const play = (answers: readonly Answer[], tools = "START --> SUCCESS"): Played =>
    playWorkflow(
      loaded(text, { files: filesOf({ "check-tools.md": workflowText(tools) }) }),
      answers,
      { params },
    );
  const command = "```sh\ngit clone\n```";
  const begin = "START PROMPT_SYSTEM CALL_CHECK_TOOLS START SUCCESS PROMPT_TESTGIT";
  const round = "EXECUTE_OUTPUT PROMPT_CMDRESULTS CHECK_RESULT_SUCCESS";

  it("is read without a word", () => {
    const tools = filesOf({ "check-tools.md": workflowText("START --> SUCCESS") });
    const result = load(text, { files: tools, permissions: "workspace" });
    assert.ok(result.kind === "loaded");
    assert.deepEqual(result.warnings, []);
    const main = result.workflow.files[result.workflow.main];
    assert.deepEqual(
      main?.parameters.map(({ name }) => name),
      ["REPO_URL", "USER_NAME"],
    );
    assert.deepEqual([...(main?.activities.values() ?? [])].map(activityLine), [
      "START > PROMPT_SYSTEM",
      "PROMPT_SYSTEM System > CALL_CHECK_TOOLS",
      "CALL_CHECK_TOOLS check-tools.md > PROMPT_TESTGIT",
      "PROMPT_TESTGIT User GetSubmission > EXECUTE_OUTPUT",
      "EXECUTE_OUTPUT > PROMPT_CMDRESULTS",
      "PROMPT_CMDRESULTS User CommandResults > CHECK_RESULT_SUCCESS",
      "CHECK_RESULT_SUCCESS RESULT eq SUCCESS > SUCCESS / CHECK_RESULT_FAILED",
      "SUCCESS",
      "CHECK_RESULT_FAILED RESULT eq FAILED > FAILED / PROMPT_IMPROVE",
      "FAILED",
      "PROMPT_IMPROVE User Improve > EXECUTE_OUTPUT",
    ]);
  });

  it("succeeds if the model says so in its first line", () => {
    const { done, asked, path } = play([command, "cloned", "SUCCESS\nit is there"]);
    assert.equal(path, `${begin} ${round} SUCCESS`);
    assert.deepEqual([done.status, done.result], ["SUCCESS", "SUCCESS\nit is there"]);
    assert.deepEqual(asked, [
      "0: Clone x.git for me.",
      "sh: git clone",
      "0: Seen: $ git clone\ncloned",
    ]);
  });

  it("improves the commands otherwise", () => {
    const { done, path } = play([command, "?", "CONTINUE", command, "cloned", "SUCCESS"]);
    assert.equal(path, `${begin} ${round} CHECK_RESULT_FAILED PROMPT_IMPROVE ${round} SUCCESS`);
    assert.equal(done.status, "SUCCESS");
  });
});

describe("variables", () => {
  const value = (name: string, frame: string, options: PlayOptions = {}): string | undefined =>
    run("flowchart TD", `${frame} --> SET_V[V={{${name}}}]`, [], options).done.variables["V"];

  it("are first those of the run, then parameters, prompts and the environment", () => {
    const names = ["STATUS", "RESULT", "CONTENT", "WHO", "System", "HOME"];
    const environment = Object.fromEntries(names.map((name) => [name, "env"]));
    const options = { environment, params: { WHO: "param", RESULT: "param" } };
    const frame = "START --> ASSIGN_R[Assign: 'r']";
    // Unlike there, only names that the caller allows: there is no PATH.
    assert.deepEqual(
      [...names, "PATH"].map((name) => value(name, frame, options)),
      ["DOING", "r", "r", "param", "You help.", "env", "{{PATH}}"],
    );
  });
});
